"""A text in; a cell of CSV that no spreadsheet runs as a formula, out; and back."""

from __future__ import annotations

import re
from typing import Final

# Spreadsheets evaluate cells that begin so, the wide signs where people type them, and take an
# apostrophe in front for "this is a text".
_FORMULA: Final = re.compile("'*[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-]")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]{1,300}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?")


def guarded_cell(text: str) -> str:
    """``text``, with an apostrophe before it where it would be a formula.

    Numbers stay as they are. A text that has such an apostrophe already gets another, so that
    :func:`unguarded_cell` gives back every text.
    """
    if _FORMULA.match(text) is None or _NUMBER.fullmatch(text) is not None:
        return text
    return f"'{text}"


def unguarded_cell(cell: str) -> str:
    """The text that :func:`guarded_cell` was given."""
    return cell[1:] if cell[:1] == "'" and _FORMULA.match(cell) is not None else cell
