"""New files that are on their way to the disk while they are still being written."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_ANNOUNCED_BYTES: Final = 4 << 20


def opened_early(handle: int) -> IO[bytes]:
    """An open file to write, for content that is flushed to disk at the end.

    Left alone, Linux keeps hundreds of megabytes in memory, and that flush then takes as long as
    the disk needs for all of them.
    """
    return cast("IO[bytes]", _EarlyFile(io.FileIO(handle, "wb")))


class _EarlyFile(io.BufferedWriter):
    """A file that tells the system about what was written, every few megabytes.

    Linux begins to write what is said to be needed no more, and drops it from memory only once it
    is on disk.
    """

    # Not in the raw file: a signal's handler that raised there would have bytes written twice.
    _n_written = 0
    _announced = 0

    def write(self, data: ReadableBuffer, /) -> int:
        n_bytes = super().write(data)
        self._n_written += n_bytes
        if self._n_written >= _ANNOUNCED_BYTES:
            self._n_written = 0
            self._announce()
        return n_bytes

    def _announce(self) -> None:
        begin, end = self._announced, self.raw.tell()
        self._announced = end
        # Unknown to macOS, and refused by some file systems.
        if end > begin and hasattr(os, "posix_fadvise"):
            with suppress(OSError):
                os.posix_fadvise(self.fileno(), begin, end - begin, os.POSIX_FADV_DONTNEED)
