"""The lines of a file: one by one, or many at once in the bytes that were read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rag_eval.errors import InputError
from rag_eval.inputs.byte_files import BOM, CHUNK_BYTES, ByteFile


class HeldLines(NamedTuple):
    """Whole lines in some bytes; the last one of a file may lack its line end."""

    content: bytes
    begin: int
    end: int


class FileLines:
    """The lines of a file without their ends, the first without a byte order mark.

    Only newlines end a line: texts may hold any of the other separators of Unicode.

    Parameters
    ----------
    file : ByteFile
        Lines begin where reading it has stopped.
    n_bytes : int
        How many are read at a time.

    Attributes
    ----------
    n_read : int
        How many lines were given or skipped.

    Raises
    ------
    InputError
        When the file cannot be read to its end, and for a line that is longer than a row may be;
        what was before it has been given by then.
    """

    def __init__(self, file: ByteFile, n_bytes: int = CHUNK_BYTES) -> None:
        self._file = file
        self._n_bytes = n_bytes
        self._chunks = file.chunks(n_bytes)
        self._content = b""
        self._begin = self._end = 0  # of the whole lines in it
        self._failed: InputError | None = None
        self.n_read = 0

    def __iter__(self) -> Iterator[bytes]:
        while (line := self.next()) is not None:
            yield line
            lines = self._content[self._begin : self._end].split(b"\n")
            self.skip(self._end, 0)
            if not lines[-1]:
                lines.pop()
            for line in lines:
                yield self._given(line)

    def next(self) -> bytes | None:
        """The next line; None at the end."""
        if self._begin == self._end:
            self._fill(1)
            if self._begin == self._end:
                if self._failed is not None:
                    raise self._failed
                return None
        begin, end = self._begin, self._end
        stop = self._content.find(b"\n", begin, end)
        if stop < 0:
            stop = self._begin = end
        else:
            self._begin = stop + 1
        line = self._given(self._content[begin:stop])
        if self._begin > 2 * self._n_bytes:
            # A very long line is not held any longer than its reader holds it.
            self._content = self._content[self._begin :]
            self._begin, self._end = 0, self._end - self._begin
        return line.removeprefix(BOM) if self.n_read == 1 else line

    def _given(self, line: bytes) -> bytes:
        self.n_read += 1
        if len(line) > self._file.max_row_bytes:
            raise self._file.too_long(self.n_read)
        return line

    def held(self) -> HeldLines:
        """The next lines, as far as they have been read."""
        return HeldLines(self._content, self._begin, self._end)

    def ahead(self) -> HeldLines:
        """The next lines, about as many bytes of them as are read at a time; none at the end.

        From a pipe, only the lines that have arrived.
        """
        if 2 * (self._end - self._begin) < self._n_bytes:
            self._fill(1 if self._file.is_stream else self._n_bytes)
        return self.held()

    def skip(self, end: int, n_lines: int) -> None:
        """Move past this many lines, which end at ``end``."""
        self._begin = end
        self.n_read += n_lines

    def _fill(self, n_bytes: int) -> None:
        """Read on, until what is held has a whole line and this many bytes."""
        most = self._file.max_row_bytes
        # A line that is longer than what is read at a time is put together once.
        parts = [self._content[self._begin :]]
        n_held, n_whole = len(parts[0]), self._end - self._begin
        while self._failed is None and (not n_whole or n_held < n_bytes):
            try:
                chunk = next(self._chunks, b"")
            except InputError as error:
                self._failed, chunk = error, b""
            if not chunk:
                # What is left of a damaged file may be part of a line.
                n_whole = n_held if self._failed is None else n_whole
                break
            if newline := chunk.rfind(b"\n") + 1:
                n_whole = n_held + newline
            n_held += len(chunk)
            parts.append(chunk)
            if n_held - n_whole > most:
                n_lines = sum(part.count(b"\n") for part in parts)
                self._failed = self._file.too_long(self.n_read + n_lines + 1)
        if self._failed is not None:
            parts = _first_bytes(parts, n_whole)
        self._content, self._begin, self._end = b"".join(parts), 0, n_whole


def _first_bytes(parts: list[bytes], n_bytes: int) -> list[bytes]:
    """What comes first in some bytes; they are not put together for it."""
    kept = []
    for part in parts:
        kept.append(part[:n_bytes])
        n_bytes -= len(part)
        if n_bytes <= 0:
            break
    return kept
