"""Files as bytes, packed or not, a chunk at a time; and what is wrong with one in words."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from rag_eval.errors import InputError, MissingExtraError

STANDARD_INPUT: Final = "-"
PACKED: Final = (".gz", ".zst")
CHUNK_BYTES: Final = 1 << 20


def source_name(data: str | Path) -> str:
    """How messages call the data."""
    return "standard input" if str(data) == STANDARD_INPUT else str(data)


def plain_name(path: str | Path) -> str:
    """The name of a file in lower case, without the suffix of its packing."""
    name = Path(path).name.lower()
    for suffix in PACKED:
        name = name.removesuffix(suffix)
    return name


class ByteFile:
    """A file that is being read; ``position`` is how far, in bytes as they lie on disk."""

    def __init__(self, raw: IO[bytes], unpacked: IO[bytes], source: str) -> None:
        self.source = source
        self._raw = raw
        self._unpacked = unpacked

    @property
    def position(self) -> int:
        """Bytes read so far, as they lie on disk; 0 where that is not known."""
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
        read: Callable[[int], bytes] = self._unpacked.read1  # type: ignore[attr-defined]
        while True:
            try:
                chunk = read(n_bytes)
            except Exception as error:
                raise _read_error(error, self.source) from None
            if not chunk:
                return
            yield chunk

    def fill(self, buffer: bytearray, begin: int) -> int:
        """Read into a buffer from ``begin`` on; how many bytes, 0 at the end of the file.

        Raises
        ------
        InputError
            As for :meth:`chunks`.
        """
        with memoryview(buffer) as view, view[begin:] as rest:
            try:
                n_bytes: int = self._unpacked.readinto1(rest)  # type: ignore[attr-defined]
            except Exception as error:
                raise _read_error(error, self.source) from None
        return n_bytes


def _read_error(error: Exception, source: str) -> Exception:
    if isinstance(error, EOFError):
        packing = "zstd" if source.lower().endswith(".zst") else "gzip"
        return InputError(f"{source}: the {packing} data ends in the middle; the file is truncated")
    if isinstance(error, (gzip.BadGzipFile, zlib.error)):
        return InputError(f"{source} is not sound gzip data: {error}")
    if type(error).__name__ == "ZstdError":
        return InputError(f"{source} is not sound zstd data: {error}")
    if isinstance(error, OSError):
        return InputError(f"cannot read {source}: {error.strerror or error}")
    return error


@contextmanager
def opened_bytes(data: str | Path) -> Iterator[ByteFile]:
    """Open a file, or standard input for ``-``; ``.gz`` and ``.zst`` are unpacked.

    Raises
    ------
    InputError
        When there is no such file or it cannot be read.
    """
    if str(data) == STANDARD_INPUT:
        yield ByteFile(sys.stdin.buffer, sys.stdin.buffer, source_name(data))
        return
    path = Path(data)
    try:
        raw = path.open("rb")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    with raw:
        suffix = path.suffix.lower()
        if suffix == ".gz":
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield ByteFile(raw, unpacked, str(path))  # type: ignore[arg-type]
        elif suffix == ".zst":
            with zstd().ZstdFile(raw) as unpacked:
                yield ByteFile(raw, unpacked, str(path))
        else:
            yield ByteFile(raw, raw, str(path))


def zstd() -> Any:
    """The module that packs and unpacks zstd: Python's own from 3.14 on, else the extra's."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd as module
        else:
            from backports import zstd as module
    except ImportError:
        raise MissingExtraError(
            "files that end in .zst need backports.zstd: pip install 'rag-eval-native[zstd]'"
        ) from None
    return module


def file_bytes(path: str | Path) -> bytes:
    """The whole content of a small file, unpacked, without byte order mark."""
    with opened_bytes(path) as file:
        return b"".join(file.chunks()).removeprefix(b"\xef\xbb\xbf")
