"""Lines of CSV -> the cells of each record, exactly as the standard library's reader gives them.

That reader looks at every character. Most of a long line is one or two long texts, so here it is
cut by searching for its marks, and cells are decoded one by one. Short lines, and whatever is not
CSV or not UTF-8, are left to the standard library, whose messages are those of both.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from typing import Final

# Cutting a shorter line takes longer than looking at each of its characters.
_LONG: Final = 1200
# A doubled quotation mark takes a step of its own: hostile cells have nothing else.
_MOST_DOUBLED: Final = 2000


class CsvRecords(Iterator[list[str]]):
    """The records of some lines, which come in bytes and without their ends.

    Parameters
    ----------
    lines : iterator of bytes
    mark : str
        What is between cells: one character of ASCII, no quotation mark.
    decoded : callable
        Gets the line that was read last, or one above it that is UTF-8, and returns its text.

    Raises
    ------
    csv.Error
        For a record that is not CSV, by the strict rules. What was read by then is its last line.
    """

    def __init__(self, lines: Iterator[bytes], mark: str, decoded: Callable[[bytes], str]) -> None:
        self._lines = lines
        self._mark = mark.encode()
        self._decoded = decoded
        # Lines of the record at hand for the standard library, in reverse.
        self._held: list[bytes] = []
        self._reader = csv.reader(self._given(), delimiter=mark, strict=True)

    def __next__(self) -> list[str]:
        line = next(self._lines)
        taken = [line]
        if len(line) >= _LONG:
            try:
                cells = self._cut(taken)
            except UnicodeDecodeError:
                cells = None
            if cells is not None:
                return cells
        self._held = taken[::-1]
        return next(self._reader)

    def _given(self) -> Iterator[str]:
        while True:
            line = self._held.pop() if self._held else next(self._lines, None)
            if line is None:
                return
            yield self._decoded(line) + "\n"

    def _cut(self, taken: list[bytes]) -> list[str] | None:
        """The cells of the record that begins with the only line in ``taken``, which is not empty.

        Further lines are added to it, none before those above it are decoded. None for a record
        that is left to the standard library.
        """
        line, mark = taken[0], self._mark
        cells: list[str] = []
        begin = n_doubled = 0
        while True:
            if line.startswith(b'"', begin):
                parts: list[bytes] = []  # of a cell with quotation marks or over lines
                begin += 1
                end = line.find(b'"', begin)
                while end < 0 or line.startswith(b'"', end + 1):
                    if end >= 0:
                        n_doubled += 1
                        parts.append(line[begin : end + 1])
                        begin = end + 2
                    elif _is_text(line) and (more := next(self._lines, None)) is not None:
                        taken.append(more)
                        parts += line[begin:], b"\n"
                        line, begin = more, 0
                    else:
                        return None
                    if n_doubled > _MOST_DOUBLED:
                        return None
                    end = line.find(b'"', begin)
                cell = line[begin:end]
                cells.append((b"".join((*parts, cell)) if parts else cell).decode())
                begin = end + 1
                n_left = len(line) - begin
                if not n_left or (n_left == 1 and line.endswith(b"\r")):
                    return cells
                if not line.startswith(mark, begin):
                    return None
            else:
                end = line.find(mark, begin)
                bare = line[begin:].removesuffix(b"\r") if end < 0 else line[begin:end]
                if b"\r" in bare:
                    return None
                cells.append(bare.decode())
                if end < 0:
                    return cells
                begin = end
            begin += 1


def _is_text(line: bytes) -> bool:
    """True; a line that is not UTF-8 raises its UnicodeDecodeError before another is read."""
    return line.isascii() or bool(line.decode())
