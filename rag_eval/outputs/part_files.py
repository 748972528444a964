"""The files of a part: written under another name, with a checksum of what is in them."""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from typing import Final

from rag_eval.plumbing.own_folder import OwnFile, OwnFolder

_READ_BYTES: Final = 1 << 20


class PartFile:
    """A file of a part that is being written, with a checksum of what is in it."""

    def __init__(self, folder: OwnFolder, name: str) -> None:
        self._place = folder.file(name)
        self._temporary = folder.file(f"{name}.tmp")
        self._file = self._temporary.open("wb")
        self._digest = 0
        self.n_bytes = 0

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self._digest = zlib.crc32(data, self._digest)
        self.n_bytes += len(data)

    def close(self, *, is_durable: bool) -> int:
        """Give the file its final name, on disk if it is to be durable, and return its checksum."""
        self._file.flush()
        if is_durable:
            os.fsync(self._file.fileno())
        self._file.close()
        self._temporary.replace(self._place)
        return self._digest

    def drop(self) -> None:
        # Buffered data cannot be written if the disk is full.
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            self._temporary.unlink(missing_ok=True)


def holds(file: OwnFile, n_bytes: int, digest: int) -> bool:
    """Whether the file exists with that content."""
    try:
        with file.open("rb") as opened:
            if os.fstat(opened.fileno()).st_size != n_bytes:
                return False
            found = 0
            while data := opened.read(_READ_BYTES):
                found = zlib.crc32(data, found)
        return found == digest
    except OSError:
        return False


def bring_to_disk(file: OwnFile) -> None:
    """Flush a file that was closed without.

    Raises
    ------
    OSError
        When it is gone, or cannot be written.
    """
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
