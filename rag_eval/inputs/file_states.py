"""Which file a name stands for, and whether it is still the one that was opened."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from rag_eval.errors import InputError
from rag_eval.plumbing.descriptors import is_standard_input
from rag_eval.plumbing.unreadable import unreadable

_PROBED: Final = 64
_PROBE_BYTES: Final = 1 << 16


class FileState(NamedTuple):
    """The attributes of a file by which a change is noticed.

    Whoever writes to a file can set back the time of its last change; nobody the time at which
    that, or anything else the file system tells of it, was changed.
    """

    device: int
    inode: int
    n_bytes: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, path: str | Path) -> FileState | None:
        """That of a file; None for pipes, for standard input and for what is not there."""
        if is_standard_input(path):
            return None
        try:
            found = Path(path).stat()
        except OSError:
            return None
        if not stat.S_ISREG(found.st_mode):
            return None
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    def change(self, path: str | Path) -> str:
        """How the file of that name changed since, as a sentence; empty if it did not."""
        now = FileState.of(path)
        if now == self:
            return ""
        grown = 0 if now is None else now.n_bytes - self.n_bytes
        if now is None:
            what = "was removed"
        elif (now.device, now.inode) != (self.device, self.inode):
            what = "was replaced by another file"
        elif grown:
            what = f"has {'grown' if grown > 0 else 'shrunk'} by {abs(grown):,} bytes"
        elif now.modified_ns != self.modified_ns:
            what = "was written to"
        else:
            what = "was written to, or its permissions or links were changed,"
        return f"{path} {what} since it was opened"


@contextmanager
def unchanged(path: str | Path) -> Iterator[None]:
    """Around the reading of a small file, which comes before any work.

    Raises
    ------
    InputError
        Where the file was another one at the end. It takes the place of what was found wrong with
        the content, which may be half of the one and half of the other.
    """
    before = FileState.of(path)
    try:
        yield
    finally:
        change = "" if before is None else before.change(path)
        if change:
            raise InputError(f"{change}; run the command again when it is complete")


def file_identity(path: Path) -> dict[str, Any]:
    """What tells whether a file has the content that it had in an earlier run, also in a copy.

    Size, time of the last change, and a digest of parts from all over the file.
    """
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            digest = hashlib.blake2b(digest_size=16)
            for probe in range(_PROBED):
                file.seek(max(0, size - _PROBE_BYTES) * probe // (_PROBED - 1))
                digest.update(file.read(_PROBE_BYTES))
            modified = path.stat().st_mtime_ns
    except OSError as error:
        raise unreadable(path, error) from None
    return {
        "path": str(path),
        "bytes": size,
        "modified": modified,
        "digest": digest.hexdigest(),
    }
