"""A text in; a cell of CSV that no spreadsheet runs as a formula, out; and back."""

from __future__ import annotations

import re
from typing import Final

# Spreadsheets evaluate cells that begin with such a sign, the wide ones where people type them, and
# take an apostrophe in front for "this is a text".
_SIGN: Final = "[=+@\uff1d\uff0b\uff0d\uff20-]"
# Where another separator than the comma is set, a cell ends at any of these within the text, and
# quotation marks that do not begin a cell keep nothing together.
_SEPARATOR: Final = r"[;|\t\r\n]"
# White space and marks that programs may drop before they look at a cell. No separator is among
# them: each run is scanned once.
_DROPPED: Final = r'(?:(?![\t\r\n])[\s"\x00-\x1f\x7f\u200b\u2060\ufeff])*'
# At the beginning, an apostrophe also keeps a tab or a line end from being dropped.
_BEGIN: Final = f"(?:\\A|{_SEPARATOR}){_DROPPED}"
_FORMULA: Final = re.compile(f"\\A(?='*[\t\r\n])|{_BEGIN}(?='*{_SIGN})")
_GUARDED: Final = re.compile(f"\\A'(?='*[\t\r\n])|({_BEGIN})'(?='*{_SIGN})")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]{1,300}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?")


def guarded_cell(text: str) -> str:
    """``text``, with an apostrophe before each sign with which a cell would be a formula.

    That is at its beginning, and after each character that can separate cells: semicolons, tabs,
    bars and line ends. A tab or a line end at the beginning has one before it, too. Numbers stay as
    they are. Where such an apostrophe is there already, another is added, so that
    :func:`unguarded_cell` gives back every text.
    """
    if _NUMBER.fullmatch(text) is not None:
        return text
    return _FORMULA.sub(r"\g<0>'", text)


def unguarded_cell(cell: str) -> str:
    """The text that :func:`guarded_cell` was given."""
    return _GUARDED.sub(r"\1", cell) if "'" in cell else cell
