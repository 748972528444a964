"""Temporary files beside a target: locked by who writes them, removed when that process is gone."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from rag_eval.plumbing.early_files import opened_early

_TOKEN_BYTES: Final = 8
_TOKEN: Final = re.compile(r"[0-9a-f]{16}")
_ONLY_THIS_FILE: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


def opened_beside(target: Path, mode: int) -> tuple[IO[bytes], Path]:
    """A new hidden file in the folder of ``target``, open for writing, and its path.

    What a process that was killed has left for the same target is removed. As long as the file is
    open, no other process takes it for such a leftover.

    Raises
    ------
    OSError
        When the folder takes no new file.
    """
    _remove_leftovers(target)
    while True:
        path = target.with_name(f".{target.name}.{secrets.token_hex(_TOKEN_BYTES)}.rag-eval")
        file = opened_new(path, mode)
        with suppress(OSError):  # a file system without locks: nobody removes anything there
            fcntl.flock(file, fcntl.LOCK_EX)
        # Between the making and the lock, another process may have taken it for a leftover.
        if _is_at(path, file.fileno()):
            return file, path
        file.close()


def opened_new(path: Path, mode: int) -> IO[bytes]:
    """A file that was not there before, open for writing; the kernel applies the umask to ``mode``.

    Raises
    ------
    OSError
        When there is something of that name, also a link, or the folder takes no new file.
    """
    return opened_early(os.open(path, _ONLY_THIS_FILE | os.O_CREAT | os.O_EXCL, mode))


def _remove_leftovers(target: Path) -> None:
    begin, end = f".{target.name}.", ".rag-eval"
    with suppress(OSError):
        for found in os.listdir(target.parent):  # noqa: PTH208  # names alone: folders may be large
            token = found.removeprefix(begin).removesuffix(end)
            if found == f"{begin}{token}{end}" and _TOKEN.fullmatch(token):
                _remove_leftover(target.with_name(found))


def _remove_leftover(path: Path) -> None:
    """Remove a file of this user that is not locked; leave everything else."""
    with suppress(OSError):
        handle = os.open(path, _ONLY_THIS_FILE | os.O_NONBLOCK)
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                return
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Its writer may have finished meanwhile; then the file has another name.
            if _is_at(path, handle):
                path.unlink()
        finally:
            os.close(handle)


def _is_at(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(handle))
    except FileNotFoundError:
        return False
