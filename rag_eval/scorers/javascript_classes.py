"""Classes of characters of JavaScript's patterns.  In: their items.  Out: patterns of RE2."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final, NamedTuple

_SPACES: Final = (
    r"\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}"
)
# What is left of all characters, as a range; RE2 takes no negated class within a class.
_NOT_SPACES: Final = (
    r"\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}"
    r"\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}"
)
_SETS: Final = {"s": _SPACES, "S": _NOT_SPACES, "d": r"\d", "D": r"\D", "w": r"\w", "W": r"\W"}
_WITH_LINE_ENDS: Final = "sDW"
_LINE_ENDS: Final = "\n\r\u2028\u2029"
_NOTHING: Final = r"[^\x{0}-\x{10ffff}]"
_ANYTHING: Final = "(?s:.)"

LINE_MARKS: Final = {ord(end): f"\n{mark}\n" for mark, end in enumerate(_LINE_ENDS)}
"""What stands for the line ends in a text that is searched by lines, for `str.translate`.

The only line end that RE2 knows is the newline. Here each of JavaScript's line ends is a digit
between two newlines, so that ``$`` matches before it and ``^`` after it.
"""
MARKED_CHARACTER: Final = r"(?:[^\n]|\n[0-3]\n)"
"""A character of such a text."""


class Item(NamedTuple):
    """What a class may hold: a character, a range or another class.

    Attributes
    ----------
    text : str
        As RE2 reads it within a class.
    ends : str
        The line ends among its characters.
    others : str
        A pattern for its characters without the newline; empty if there are none.
    """

    text: str
    ends: str
    others: str


def class_of(items: Sequence[Item], *, negated: bool = False, by_lines: bool = False) -> str:
    """A pattern for one character that is one of these, or is not one of them.

    Parameters
    ----------
    items : sequence of Item
    negated : bool, default False
    by_lines : bool, default False
        Whether it is for texts that are translated by `LINE_MARKS`.
    """
    text = "".join(item.text for item in items)
    if not by_lines:
        if not items:
            return _ANYTHING if negated else _NOTHING
        return f"[{'^' if negated else ''}{text}]"
    others = [rf"[^{text}\n]"] if negated else [item.others for item in items if item.others]
    held = "".join(item.ends for item in items)
    marks = [str(mark) for mark, end in enumerate(_LINE_ENDS) if (end in held) != negated]
    if marks:
        others.append(rf"\n[{''.join(marks)}]\n")
    return f"(?:{'|'.join(others)})" if others else _NOTHING


def character_of(character: int, *, by_lines: bool = False) -> str:
    """A pattern for this character."""
    item = range_item(character, character)
    return class_of([item], by_lines=True) if by_lines and item.ends else item.text


def range_item(first: int, last: int) -> Item:
    """The characters from one to another; both may be the same."""
    text = _range_text(first, last)
    ends = "".join(end for end in _LINE_ENDS if first <= ord(end) <= last)
    others = text
    if "\n" in ends:
        others = _range_text(first, 0x9) + _range_text(0xB, last)
    return Item(text, ends, f"[{others}]" if others else "")


def escape_item(sign: str) -> Item | None:
    r"""The class of ``\s``, ``\S``, ``\d``, ``\D``, ``\w`` or ``\W``; None for other escapes."""
    if sign not in _SETS:
        return None
    opposite = _SETS[sign.swapcase()]
    ends = _LINE_ENDS if sign in _WITH_LINE_ENDS else ""
    return Item(_SETS[sign], ends, rf"[^{opposite}\n]")


def property_item(sign: str, name: str) -> Item:
    r"""The class of ``\p{name}`` or ``\P{name}``, under RE2's name."""
    having = sign == "p"
    ends = "".join(end for end in _LINE_ENDS if _has_property(end, name) is having)
    return Item(rf"\{sign}{{{name}}}", ends, rf"[^\{sign.swapcase()}{{{name}}}\n]")


def _has_property(end: str, name: str) -> bool:
    return name in ("Any", "Common") or unicodedata.category(end).startswith(name)


def _range_text(first: int, last: int) -> str:
    if first > last:
        return ""
    return _literal(first) if first == last else f"{_literal(first)}-{_literal(last)}"


def _literal(character: int) -> str:
    """A character that stands for itself; half of one stands for the replacement character."""
    if 0xD800 <= character <= 0xDFFF:
        character = 0xFFFD
    sign = chr(character)
    return sign if sign.isalnum() or sign in " _" else f"\\x{{{character:x}}}"


ANY_LINE_END: Final = Item("".join(map(_literal, map(ord, _LINE_ENDS))), _LINE_ENDS, "")
"""The line ends, which a dot does not match."""
