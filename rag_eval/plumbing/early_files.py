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
    return cast("IO[bytes]", io.BufferedWriter(_EarlyFile(handle, "wb")))


class _EarlyFile(io.FileIO):
    """A file that tells the system about what was written, every few megabytes.

    Linux begins to write what is said to be needed no more. It stays in memory all the same, as
    long as it is not on disk yet, and so can be read again at once.
    """

    _n_waiting = 0

    def write(self, data: ReadableBuffer, /) -> int:
        n_written = super().write(data)
        self._n_waiting += n_written
        if self._n_waiting >= _ANNOUNCED_BYTES:
            self._announce()
        return n_written

    def _announce(self) -> None:
        if hasattr(os, "posix_fadvise"):  # not on macOS
            with suppress(OSError):  # a file system that takes no advice
                begin = self.tell() - self._n_waiting
                os.posix_fadvise(self.fileno(), begin, self._n_waiting, os.POSIX_FADV_DONTNEED)
        self._n_waiting = 0
