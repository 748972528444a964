"""A regular expression of JavaScript in, the same one in the syntax of RE2 out."""

from __future__ import annotations

from typing import Final, NoReturn

from rag_eval.errors import InputError, glance

_SPACES: Final = (
    r"\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}"
)
# What is left of all characters, as a range; RE2 takes no negated class within a class.
_NOT_SPACES: Final = (
    r"\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}"
    r"\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}"
)
_SETS: Final = {"s": _SPACES, "S": _NOT_SPACES, "d": r"\d", "D": r"\D", "w": r"\w", "W": r"\W"}
_CONTROLS: Final = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "0": 0}
_LINE_ENDS: Final = r"\n\r\x{2028}\x{2029}"
_NOTHING: Final = r"[^\x{0}-\x{10ffff}]"
_ANYTHING: Final = r"[\x{0}-\x{10ffff}]"
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
_LAST: Final = 0x10FFFF
_MOST_REPEATS: Final = 1000


class UnsupportedPatternError(InputError):
    """A pattern of JavaScript that cannot be run in linear time, or not here."""


def re2_source(source: str, *, unicode: bool = False, dot_all: bool = False) -> str:
    """The pattern as RE2 reads it, so that it finds what JavaScript finds.

    ``\\s`` and ``.`` follow JavaScript's spaces and line ends; ``\\d``, ``\\w`` and ``\\b`` are
    ASCII in both. Characters are code points, with or without the flag u.

    Raises
    ------
    UnsupportedPatternError
        Look-around, back-references, a repeat of more than 1000.
    InputError
        JavaScript would refuse it too.
    """
    return _Reader(source, unicode, dot_all).read()


class _Reader:
    """One pass over a pattern; what is read is at ``place``."""

    def __init__(self, source: str, unicode: bool, dot_all: bool) -> None:
        self.source = source
        self.unicode = unicode
        self.has_names = "(?<" in source
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
            return "(?s:.)" if self.dot_all[-1] else f"[^{_LINE_ENDS}]"
        if sign in "|^$":
            return sign
        if sign in "]}" and self.unicode:
            self._refuse(f"{sign} stands alone")
        return _literal(ord(sign))

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
        if sign in ("s", "S"):
            return f"[{_SETS[sign]}]"
        if sign in _SETS and sign:
            return _SETS[sign]
        if sign in ("p", "P") and self.unicode:
            return self._property(sign)
        if sign == "k" and (self.unicode or self.has_names):
            self._unsupported("back-references cannot be searched for in linear time")
        if sign and sign in "123456789":
            self._unsupported("back-references cannot be searched for in linear time")
        return _literal(self._character(sign))

    def _property(self, sign: str) -> str:
        end = self.source.find("}", self.place)
        if not self.source.startswith("{", self.place) or end < 0:
            self._refuse(f"\\{sign} is not a known property")
        name = self.source[self.place + 1 : end]
        self.place = end + 1
        for prefix in _PROPERTY_NAMES:
            name = name.removeprefix(prefix)
        if not name.replace("_", "").isalnum():
            self._refuse(f"\\{sign} is not a known property")
        return f"\\{sign}{{{_CATEGORIES.get(name, name)}}}"

    def _character(self, sign: str) -> int:
        """The character that an escape stands for; what follows its first sign is read."""
        if not sign:
            self._refuse("it ends in a backslash")
        if sign in _CONTROLS:
            return _CONTROLS[sign]
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
        parts: list[str] = []
        while not self.source.startswith("]", self.place):
            first = self._member()
            if not self.source.startswith("-", self.place) or self._ends_after_dash():
                parts.append(first if isinstance(first, str) else _literal(first))
                continue
            self.place += 1
            parts.append(self._range(first, self._member()))
        self.place += 1
        if not parts:
            return _ANYTHING if negated else _NOTHING
        return f"[{'^' if negated else ''}{''.join(parts)}]"

    def _ends_after_dash(self) -> bool:
        return self.source.startswith("-]", self.place)

    def _range(self, first: str | int, last: str | int) -> str:
        if isinstance(first, int) and isinstance(last, int):
            if first > last:
                self._refuse("a range of a class is out of order")
            return f"{_literal(first)}-{_literal(last)}"
        if self.unicode:
            self._refuse("a range of a class ends in a class")
        ends = [end if isinstance(end, str) else _literal(end) for end in (first, last)]
        return rf"{ends[0]}\-{ends[1]}"

    def _member(self) -> str | int:
        """A character of a class, or a class within it as text."""
        sign = self._take()
        if not sign:
            self._refuse("a class is not closed")
        if sign != "\\":
            return ord(sign)
        escaped = self._take()
        if escaped == "b":
            return 8
        if escaped and escaped in _SETS:
            return _SETS[escaped]
        if escaped in ("p", "P") and self.unicode:
            return self._property(escaped)
        if escaped == "-":
            return ord("-")
        return self._character(escaped)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _literal(character: int) -> str:
    """A character that stands for itself; half of one stands for the replacement character."""
    if 0xD800 <= character <= 0xDFFF:
        character = 0xFFFD
    sign = chr(character)
    return sign if sign.isalnum() or sign in " _" else f"\\x{{{character:x}}}"
