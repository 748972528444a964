"""A regular expression of JavaScript in, the same one in the syntax of RE2 out."""

from __future__ import annotations

import re
from typing import Final, NoReturn

from rag_eval.errors import InputError, glance
from rag_eval.scorers.javascript_classes import (
    ANY_LINE_END,
    Item,
    character_of,
    class_of,
    escape_item,
    property_item,
    range_item,
)

_CONTROLS: Final = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_LOOKS: Final = ("(?=", "(?!", "(?<=", "(?<!")
_PROPERTY_NAMES: Final = ("Script=", "sc=", "General_Category=", "gc=")
_CATEGORIES: Final = {
    "Letter": "L",
    "Lowercase_Letter": "Ll",
    "Uppercase_Letter": "Lu",
    "Mark": "M",
    "Number": "N",
    "Decimal_Number": "Nd",
    "Punctuation": "P",
    "Symbol": "S",
    "Separator": "Z",
    "Other": "C",
}
# Groups that can be referred back to, and what only looks like one: escapes and classes.
_OPENINGS: Final = re.compile(r"\\.|\[(?:\\.|[^\]\\])*|\((?!\?(?!<[^=!]))", re.DOTALL)
_OCTAL: Final = re.compile("[0-3]?[0-7]{1,2}")
_DECIMAL: Final = re.compile("[1-9][0-9]*")
_LAST: Final = 0x10FFFF
_MOST_REPEATS: Final = 1000


class UnsupportedPatternError(InputError):
    """A pattern of JavaScript that cannot be run in linear time, or not here."""


def re2_source(
    source: str, *, unicode: bool = False, dot_all: bool = False, by_lines: bool = False
) -> str:
    """The pattern as RE2 reads it, so that it finds what JavaScript finds.

    ``\\s`` and ``.`` follow JavaScript's spaces and line ends; ``\\d``, ``\\w`` and ``\\b`` are
    ASCII in both. Characters are code points, with or without the flag u.

    Parameters
    ----------
    source : str
    unicode, dot_all : bool, default False
        The flags u and s.
    by_lines : bool, default False
        Whether it is for texts that are translated by `LINE_MARKS`. ``^`` and ``$`` with the flag m
        then match at all of JavaScript's line ends; without, at newlines alone.

    Raises
    ------
    UnsupportedPatternError
        Look-around, back-references, a repeat of more than 1000.
    InputError
        JavaScript would refuse it too.
    """
    return _Reader(source, unicode, dot_all, by_lines).read()


class _Reader:
    """One pass over a pattern; what is read is at ``place``."""

    def __init__(self, source: str, unicode: bool, dot_all: bool, by_lines: bool) -> None:
        self.source = source
        self.unicode = unicode
        self.by_lines = by_lines
        self.has_names = "(?<" in source
        self.n_groups = sum(found == "(" for found in _OPENINGS.findall(source))
        self.place = 0
        # Of each open group whether a dot takes line ends; modifiers switch it.
        self.dot_all = [dot_all]
        # Whether a quantifier may follow.
        self.repeatable = False

    def read(self) -> str:
        parts: list[str] = []
        while self.place < len(self.source):
            parts.append(self._term())
        if len(self.dot_all) > 1:
            self._refuse("a group is not closed")
        return "".join(parts)

    def _refuse(self, reason: str) -> NoReturn:
        raise InputError(f"pattern {glance(self.source)}: {reason}")

    def _unsupported(self, reason: str) -> NoReturn:
        raise UnsupportedPatternError(f"pattern {glance(self.source)}: {reason}")

    def _take(self, size: int = 1) -> str:
        taken = self.source[self.place : self.place + size]
        self.place += size
        return taken

    def _term(self) -> str:
        sign = self.source[self.place]
        if sign in "*+?":
            self.place += 1
            return self._quantifier(sign)
        if sign == "{":
            return self._brace()
        if sign == "(":
            return self._group()
        if sign == ")":
            return self._group_end()
        self.place += 1
        self.repeatable = sign not in "|^$"
        if sign == "\\":
            return self._escape()
        if sign == "[":
            return self._set()
        if sign == ".":
            return self._class([] if self.dot_all[-1] else [ANY_LINE_END], negated=True)
        if sign in "|^$":
            return sign
        if sign in "]}" and self.unicode:
            self._refuse(f"{sign} stands alone")
        return self._literal(ord(sign))

    # ------------------------------------------------------------------------------- repeats

    def _quantifier(self, written: str) -> str:
        if not self.repeatable:
            self._refuse(f"there is nothing to repeat before {written}")
        self.repeatable = False
        if self.source.startswith("?", self.place):
            self.place += 1
            return written + "?"
        return written

    def _brace(self) -> str:
        """A count of repeats, or a brace as it stands."""
        end = self.source.find("}", self.place, self.place + 40)
        low, comma, high = self.source[self.place + 1 : max(end, self.place)].partition(",")
        if end < 0 or not _is_number(low) or (high and not _is_number(high)):
            if self.unicode:
                self._refuse("{ stands alone")
            self.place += 1
            self.repeatable = True
            return r"\{"
        if high and int(high) < int(low):
            self._refuse(f"the repeat {{{low},{high}}} is out of order")
        if int(high or low) > _MOST_REPEATS:
            self._unsupported(f"at most {_MOST_REPEATS} repeats can be counted")
        self.place = end + 1
        return self._quantifier(f"{{{low}{comma}{high}}}")

    # -------------------------------------------------------------------------------- groups

    def _group(self) -> str:
        if self.source.startswith(_LOOKS, self.place):
            self._unsupported("look-around cannot be searched for in linear time")
        self.repeatable = False
        self.place += 1
        dot_all = self.dot_all[-1]
        if not self.source.startswith("?", self.place):
            self.dot_all.append(dot_all)
            return "("
        if self.source.startswith("?<", self.place):
            self._group_name()
            self.dot_all.append(dot_all)
            return "("
        end = self.source.find(":", self.place, self.place + 10)
        flags = self.source[self.place + 1 : max(end, self.place + 1)]
        on, minus, off = flags.partition("-")
        known = set(on + off) <= set("ims") and len(set(on + off)) == len(on + off)
        if end < 0 or not known or (minus and not on + off):
            self._refuse("there is no group of this kind in JavaScript")
        self.place = end + 1
        self.dot_all.append((dot_all or "s" in on) and "s" not in off)
        return f"(?{flags}:"

    def _group_name(self) -> None:
        end = self.source.find(">", self.place)
        name = self.source[self.place + 2 : max(end, self.place)]
        if end < 0 or not name.replace("$", "_").isidentifier():
            self._refuse("the name of a group is not a name")
        self.place = end + 1

    def _group_end(self) -> str:
        self.place += 1
        if len(self.dot_all) == 1:
            self._refuse("a closing parenthesis without a group")
        self.dot_all.pop()
        self.repeatable = True
        return ")"

    # ------------------------------------------------------------------------------- escapes

    def _escape(self) -> str:
        sign = self._take()
        if sign in ("b", "B"):
            self.repeatable = False
            return "\\" + sign
        inner = escape_item(sign)
        if inner is not None:
            return self._class([inner])
        if sign in ("p", "P") and self.unicode:
            return self._class([self._property(sign)])
        if (sign == "k" and (self.unicode or self.has_names)) or self._refers_back():
            self._unsupported("back-references cannot be searched for in linear time")
        return self._literal(self._character(sign))

    def _refers_back(self) -> bool:
        """Whether the escape that was begun has the number of a group."""
        number = _DECIMAL.match(self.source, self.place - 1)
        # No pattern has as many groups as a number of many digits says.
        return number is not None and int(number[0][:9]) <= self.n_groups

    def _property(self, sign: str) -> Item:
        end = self.source.find("}", self.place)
        if not self.source.startswith("{", self.place) or end < 0:
            self._refuse(f"\\{sign} is not a known property")
        name = self.source[self.place + 1 : end]
        self.place = end + 1
        for prefix in _PROPERTY_NAMES:
            name = name.removeprefix(prefix)
        if not name.replace("_", "").isalnum():
            self._refuse(f"\\{sign} is not a known property")
        return property_item(sign, _CATEGORIES.get(name, name))

    def _character(self, sign: str) -> int:
        """The character that an escape stands for; what follows its first sign is read."""
        if not sign:
            self._refuse("it ends in a backslash")
        if sign in _CONTROLS:
            return _CONTROLS[sign]
        if _is_number(sign):
            return self._number(sign)
        if sign in "xu":
            found = self._hexadecimal(sign)
            if found is not None:
                return found
        if sign == "c" and self.source[self.place : self.place + 1].isascii():
            letter = self.source[self.place : self.place + 1]
            if letter.isalpha():
                self.place += 1
                return ord(letter) % 32
            self.place -= 1
            return ord("\\")
        if self.unicode and (sign.isalnum() or sign == "_"):
            self._refuse(f"\\{sign} is not a valid escape")
        return ord(sign)

    def _number(self, sign: str) -> int:
        """The character behind ``\\0`` to ``\\377``; ``\\8`` and ``\\9`` are themselves."""
        octal = _OCTAL.match(self.source, self.place - 1)
        if self.unicode and (sign != "0" or _is_number(self.source[self.place : self.place + 1])):
            self._refuse(f"\\{sign} is not a valid escape")
        if octal is None:
            return ord(sign)
        self.place = octal.end()
        return int(octal[0], 8)

    def _hexadecimal(self, sign: str) -> int | None:
        """The value behind ``\\x`` or ``\\u``; None if none is, and the letter is meant."""
        if sign == "u" and self.unicode and self.source.startswith("{", self.place):
            end = self.source.find("}", self.place)
            digits = self.source[self.place + 1 : max(end, self.place)]
            if not digits or len(digits) > 8 or not _HEX.issuperset(digits):
                self._refuse("\\u{...} is not a valid character")
            if int(digits, 16) > _LAST:
                self._refuse("\\u{...} is not a valid character")
            self.place = end + 1
            return int(digits, 16)
        first = self._digits(2 if sign == "x" else 4)
        if first is None or not 0xD800 <= first <= 0xDBFF:
            return first
        # Half a character: its other half must follow.
        if self.source.startswith("\\u", self.place):
            self.place += 2
            second = self._digits(4)
            if second is not None and 0xDC00 <= second <= 0xDFFF:
                return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
            self.place -= 2 if second is None else 6
        return first

    def _digits(self, size: int) -> int | None:
        digits = self.source[self.place : self.place + size]
        if len(digits) < size or not _HEX.issuperset(digits):
            return None
        self.place += size
        return int(digits, 16)

    # ---------------------------------------------------------------------------------- sets

    def _set(self) -> str:
        """A class of characters; its opening bracket is read."""
        negated = self.source.startswith("^", self.place)
        self.place += negated
        items: list[Item] = []
        while not self.source.startswith("]", self.place):
            first = self._member()
            if not self.source.startswith("-", self.place) or self._ends_after_dash():
                items.append(_item(first))
                continue
            self.place += 1
            items += self._range(first, self._member())
        self.place += 1
        return self._class(items, negated=negated)

    def _class(self, items: list[Item], *, negated: bool = False) -> str:
        return class_of(items, negated=negated, by_lines=self.by_lines)

    def _literal(self, character: int) -> str:
        return character_of(character, by_lines=self.by_lines)

    def _ends_after_dash(self) -> bool:
        return self.source.startswith("-]", self.place)

    def _range(self, first: int | Item, last: int | Item) -> list[Item]:
        if isinstance(first, int) and isinstance(last, int):
            if first > last:
                self._refuse("a range of a class is out of order")
            return [range_item(first, last)]
        if self.unicode:
            self._refuse("a range of a class ends in a class")
        return [_item(first), _item(ord("-")), _item(last)]

    def _member(self) -> int | Item:
        """A character of a class, or a class within it."""
        sign = self._take()
        if not sign:
            self._refuse("a class is not closed")
        if sign != "\\":
            return ord(sign)
        escaped = self._take()
        if escaped == "b":
            return 8
        inner = escape_item(escaped)
        if inner is not None:
            return inner
        if escaped in ("p", "P") and self.unicode:
            return self._property(escaped)
        if escaped == "-":
            return ord("-")
        return self._character(escaped)


def _item(member: int | Item) -> Item:
    return range_item(member, member) if isinstance(member, int) else member


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
