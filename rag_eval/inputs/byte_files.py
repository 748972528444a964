"""Files as bytes, packed or not, a chunk at a time; and what is wrong with one in words."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from rag_eval.errors import InputError
from rag_eval.inputs.encodings import Recoded, encoding_hint, utf_16_hint
from rag_eval.inputs.file_states import unchanged
from rag_eval.plumbing.descriptors import is_standard_input
from rag_eval.plumbing.extras import zstd
from rag_eval.plumbing.unreadable import unreadable

CUT_OFF: Final = ". The file seems to be cut off; write or copy it again"

PACKED: Final = (".gz", ".zst")
CHUNK_BYTES: Final = 1 << 20
# A few kilobytes of gzip unpack to any number of bytes without a line end among them.
MAX_ROW_BYTES: Final = 256 << 20
ROW_OPTION: Final = "--max-row-bytes (in Python: max_row_bytes)"
_ROWS_OF_WHOLE: Final = 4
BOM: Final = b"\xef\xbb\xbf"

# A file that is held as a whole may unpack to so much, or to so many times its size: texts that
# repeat themselves reach 50, and a few bytes of zeros could ask for all memory there is.
_MOST_UNPACKED_BYTES: Final = 64 << 20
_MOST_TIMES: Final = 100


def source_name(data: str | Path) -> str:
    """How messages call the data."""
    return "standard input" if is_standard_input(data) else str(data)


def plain_name(path: str | Path) -> str:
    """The name of a file in lower case, without the suffix of its packing."""
    name = Path(path).name.lower()
    for suffix in PACKED:
        name = name.removesuffix(suffix)
    return name


class ByteFile:
    """A file that is being read; ``position`` is how far, in bytes as they lie on disk.

    Parameters
    ----------
    max_row_bytes : int, optional
        The longest row, unpacked, where the caller has an option for it.
    encoding : str, optional
        In what it is written, where that is not UTF-8; bytes are given in UTF-8.

    Attributes
    ----------
    remarks : list of str
        How rows were found in it, where its name does not say that.
    """

    def __init__(
        self,
        raw: IO[bytes],
        unpacked: IO[bytes],
        source: str,
        max_row_bytes: int | None = None,
        encoding: str | None = None,
    ) -> None:
        self.source = source
        self.remarks: list[str] = []
        self.max_row_bytes = MAX_ROW_BYTES if max_row_bytes is None else max_row_bytes
        self._can_be_raised = max_row_bytes is not None
        self._raw = raw
        self._is_packed = unpacked is not raw
        self._unpacked: Any = unpacked  # also reads at once what there is
        if encoding not in (None, "utf-8", "utf-8-sig"):
            self._unpacked = Recoded(unpacked, encoding, source)
        self._ahead = b""

    @classmethod
    def of(cls, content: bytes, source: str) -> ByteFile:
        """Content that has been read already, as a file."""
        held = io.BytesIO(content)
        return cls(held, held, source)

    def head(self, n_bytes: int) -> bytes:
        """The first bytes, fewer of a shorter file; they are read again with the others."""
        chunks = self.chunks(n_bytes)
        while len(self._ahead) < n_bytes and (chunk := next(chunks, b"")):
            self._ahead += chunk
        return self._ahead[:n_bytes]

    @property
    def is_stream(self) -> bool:
        """Whether bytes may arrive while they are read, as from a pipe."""
        return not self._raw.seekable()

    @property
    def position(self) -> int:
        """Bytes read so far, as they lie on disk; 0 if that is not known."""
        try:
            return self._raw.tell()
        except (OSError, ValueError):
            return 0

    def chunks(self, n_bytes: int = CHUNK_BYTES) -> Iterator[bytes]:
        """The content, unpacked.

        Raises
        ------
        InputError
            When it cannot be read to its end; what was before the damage has been given by then.
        """
        # read1 gives what there is: lines of a pipe as they come, and all of a truncated file.
        read: Callable[[int], bytes] = self._unpacked.read1
        if self._ahead:
            ahead, self._ahead = self._ahead, b""
            yield ahead
        while True:
            try:
                chunk = read(n_bytes)
            except Exception as error:
                raise _read_error(error, self.source) from None
            if not chunk:
                return
            yield chunk

    def content(self) -> bytes:
        """The rest of the file, without a byte order mark.

        Raises
        ------
        InputError
            As for :meth:`chunks`; for more than four times what a row may have; and for a packed
            file that unpacks to more than 64 MiB and to more than 100 times its size.
        """
        chunks: list[bytes] = []
        n_bytes = 0
        packed_bytes = os.fstat(self._raw.fileno()).st_size if self._is_packed else None
        for chunk in self.chunks():
            chunks.append(chunk)
            n_bytes += len(chunk)
            self.check_held(n_bytes, packed_bytes)
        return b"".join(chunks).removeprefix(BOM)

    def check_held(self, n_bytes: int, packed_bytes: int | None) -> None:
        """Raise an error if the content is too large: a small packed file cannot fill memory.

        ``packed_bytes`` is how long they are on disk; None if they are not packed.
        """
        most = _ROWS_OF_WHOLE * self.max_row_bytes
        if packed_bytes is not None:
            most_packed = max(_MOST_UNPACKED_BYTES, _MOST_TIMES * packed_bytes)
            if n_bytes > most_packed:
                raise InputError(
                    f"{self.source} unpacks to more than {most_packed >> 20:,} MB, which is more "
                    f"than {_MOST_TIMES} times its size. If that is what it should hold, unpack it "
                    "first and name the unpacked file"
                )
        if n_bytes > most:
            raise InputError(
                f"{self.source} is longer than {most:,} bytes, the limit for a file that is "
                "read into memory as a whole"
                + self._advice(
                    "make it a .jsonl file, which is read row by row, or raise the limit, "
                    f"which is {_ROWS_OF_WHOLE} times"
                )
            )

    def whole(self) -> IO[bytes]:
        """The content as a file in which any place can be read, held in memory if need be.

        Raises
        ------
        InputError
            As for :meth:`content`.
        """
        if not self._is_packed and self._raw.seekable():
            return self._raw
        return io.BytesIO(self.content())

    def too_long(self, number: int, remark: str = "", unit: str = "line") -> InputError:
        """What to raise for a row that is longer than the limit and begins in that line."""
        return InputError(
            f"{self.source}, {unit} {number}: the row is longer than {self.max_row_bytes:,} bytes"
            f"{remark}" + self._advice("to read longer rows, raise")
        )

    def encoding_hint(self, content: bytes) -> str:
        """The remedy for content that is not UTF-8, to follow the description of the fault."""
        return encoding_hint(content, has_option=self._can_be_raised)

    def check_encoding(self) -> None:
        """Raise an InputError for text in UTF-16, which would be read as garbage."""
        head = self.head(4)
        if hint := utf_16_hint(head, has_option=self._can_be_raised):
            raise InputError(f"{self.source} is in UTF-16, not in UTF-8{hint}")

    def _advice(self, text: str) -> str:
        return f"; {text} {ROW_OPTION}" if self._can_be_raised else ""

    def fill(self, buffer: bytearray, begin: int) -> int:
        """Read into a buffer from ``begin`` on; how many bytes, 0 at the end of the file.

        Raises
        ------
        InputError
            As for :meth:`chunks`.
        """
        with memoryview(buffer) as view, view[begin:] as rest:
            if self._ahead:
                n_ahead = min(len(self._ahead), len(rest))
                rest[:n_ahead], self._ahead = self._ahead[:n_ahead], self._ahead[n_ahead:]
                return n_ahead
            try:
                n_bytes: int = self._unpacked.readinto1(rest)
            except Exception as error:
                raise _read_error(error, self.source) from None
        return n_bytes


def _read_error(error: Exception, source: str) -> Exception:
    if isinstance(error, EOFError):
        packing = "zstd" if source.lower().endswith(".zst") else "gzip"
        return InputError(f"{source}: the {packing} data ends too early{CUT_OFF}")
    if isinstance(error, (gzip.BadGzipFile, zlib.error)):
        return InputError(f"{source} is not valid gzip data: {error}")
    if type(error).__name__ == "ZstdError":
        return InputError(f"{source} is not valid zstd data: {error}")
    if isinstance(error, OSError):
        return InputError(f"cannot read {source}: {error.strerror or error}")
    return error


@contextmanager
def opened_bytes(
    data: str | Path, max_row_bytes: int | None = None, encoding: str | None = None
) -> Iterator[ByteFile]:
    """Open a file, or standard input for ``-``; ``.gz`` and ``.zst`` are unpacked.

    ``max_row_bytes`` and ``encoding`` are for callers that have options for them.

    Raises
    ------
    InputError
        When there is no such file or it cannot be read.
    """
    if is_standard_input(data):
        yield ByteFile(
            sys.stdin.buffer, sys.stdin.buffer, source_name(data), max_row_bytes, encoding
        )
        return
    path = Path(data)
    try:
        raw = path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from None
    except ValueError as error:  # a NUL in its name
        raise InputError(f"cannot read {str(path)!r:.80}: {error}") from None
    with raw:
        suffix = path.suffix.lower()
        if suffix == ".gz":
            with gzip.GzipFile(fileobj=raw) as unpacked:
                packed: Any = unpacked  # a GzipFile is an IO[bytes] in all but name
                yield ByteFile(raw, packed, str(path), max_row_bytes, encoding)
        elif suffix == ".zst":
            with zstd().ZstdFile(raw) as unpacked:
                yield ByteFile(raw, unpacked, str(path), max_row_bytes, encoding)
        else:
            yield ByteFile(raw, raw, str(path), max_row_bytes, encoding)


def file_bytes(path: str | Path) -> bytes:
    """The whole content of a small file, unpacked, without byte order mark."""
    with unchanged(path), opened_bytes(path) as file:
        return file.content()
