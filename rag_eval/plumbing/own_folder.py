"""A private folder under a predictable name; its files are opened through its descriptor.

In a shared place another user may have put a link or a folder where ours should be. So it is opened
once, not through a link, must belong to this user, and is closed to all others. Files are reached
through the open folder, whatever happens to its name.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, Literal

from rag_eval.errors import InputError
from rag_eval.plumbing.early_files import opened_early

_FLAGS: Final = {
    # Opening does not wait for the other end of a named pipe, which is rejected once it is open.
    "rb": os.O_RDONLY | os.O_NONBLOCK,
    "wb": os.O_RDWR | os.O_CREAT | os.O_EXCL,
    "ab": os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK,
}
_KINDS: Final = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISREG, "a file"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
)
_NOT_TO_BE_REMOVED: Final = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR)


class OwnFolder:
    """A folder that only this user can read and write; it is created if it does not exist.

    Parameters
    ----------
    path : Path

    Raises
    ------
    InputError
        When something else has the name: a link, a file, the folder of another user.
    OSError
        When it cannot be made or opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
        try:
            self.descriptor = os.open(
                path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            )
        except OSError as error:
            if error.errno in (errno.ENOTDIR, errno.ELOOP):
                kind = kind_of(path.lstat().st_mode)
                raise _refusal(path, f"is {kind} and not a folder") from None
            raise
        try:
            found = os.fstat(self.descriptor)
            self._owner = found.st_uid
            if not is_own(found, path.parent):
                raise _refusal(path, f"belongs to another user (uid {found.st_uid})")
        except BaseException:
            self.close()
            raise

    def take(self, own_names: re.Pattern[str]) -> None:
        """Close the folder to others.

        Raises
        ------
        InputError
            When it holds what is not ours: another name, a link, a file of another user.
        """
        for name in sorted(self.names()):
            if not own_names.fullmatch(name):
                raise InputError(
                    f"{self.path} is the folder for unfinished rows, but it contains {name!r}: "
                    "move that file away, or choose another DST"
                )
            with suppress(FileNotFoundError):
                self.check(name, os.stat(name, dir_fd=self.descriptor, follow_symlinks=False))
        # Some file systems have no modes, and give all files to whoever mounted them.
        with suppress(OSError):
            os.fchmod(self.descriptor, 0o700)

    def check(self, name: str, found: os.stat_result) -> None:
        """Refuse what is not a file of this user."""
        path = self.path / name
        if not stat.S_ISREG(found.st_mode):
            raise _refusal(path, f"is {kind_of(found.st_mode)} and not a file")
        if found.st_uid != self._owner:
            raise _refusal(path, f"belongs to another user (uid {found.st_uid})")

    def file(self, name: str) -> OwnFile:
        """A file in the folder, whether it exists or not."""
        return OwnFile(self, name)

    def names(self) -> list[str]:
        """What is in the folder."""
        return os.listdir(self.descriptor)  # noqa: PTH208  # a Path has no descriptor

    @property
    def is_in_place(self) -> bool:
        """Whether the path still leads here."""
        try:
            found = self.path.lstat()
        except FileNotFoundError:
            return False
        return os.path.samestat(found, os.fstat(self.descriptor))

    def sync(self) -> None:
        """Bring the names in the folder to disk."""
        os.fsync(self.descriptor)

    def remove(self) -> None:
        """Remove the folder, unless it holds something or has another name by now."""
        try:
            self.path.rmdir()
        except OSError as error:
            if error.errno not in _NOT_TO_BE_REMOVED:
                raise

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self.descriptor)


class OwnFile:
    """A file in our folder; it has the methods of a ``Path`` that writing needs."""

    def __init__(self, folder: OwnFolder, name: str) -> None:
        self._folder = folder
        self.name = name

    def __str__(self) -> str:
        return str(self._folder.path / self.name)

    def open(self, mode: Literal["rb", "wb", "ab"], permissions: int = 0o600) -> IO[bytes]:
        """Open it, never through a link; ``wb`` makes a new one in place of what is there.

        Raises
        ------
        InputError
            When it is not a file of this user, or one that has another name elsewhere and would
            be written there, too.
        """
        if mode == "wb":
            self.unlink(missing_ok=True)
        try:
            handle = os.open(
                self.name,
                _FLAGS[mode] | os.O_NOFOLLOW | os.O_CLOEXEC,
                permissions,
                dir_fd=self._folder.descriptor,
            )
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _refusal(str(self), "is a symbolic link and not a file") from None
            error.filename = str(self)
            raise
        try:
            found = os.fstat(handle)
            self._folder.check(self.name, found)
            if mode == "ab" and found.st_nlink > 1:
                raise _refusal(str(self), "is a hard link to a file with another name")
            return opened_early(handle) if mode == "wb" else os.fdopen(handle, mode)
        except BaseException:
            os.close(handle)
            raise

    def stat(self) -> os.stat_result:
        """What is there, not through a link."""
        return os.stat(self.name, dir_fd=self._folder.descriptor, follow_symlinks=False)

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove it."""
        try:
            os.unlink(self.name, dir_fd=self._folder.descriptor)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def replace(self, target: Path | OwnFile) -> None:
        """Give it another name, in place of what has that."""
        folder = self._folder.descriptor
        if isinstance(target, OwnFile):
            os.replace(
                self.name, target.name, src_dir_fd=folder, dst_dir_fd=target._folder.descriptor
            )
        else:
            os.replace(self.name, target, src_dir_fd=folder)


def kind_of(mode: int) -> str:
    """``a symbolic link``: what a name stands for."""
    return next((kind for is_kind, kind in _KINDS if is_kind(mode)), "a device")


def is_own(found: os.stat_result, folder: Path) -> bool:
    """Whether what was found in a folder belongs to this user.

    Some file systems, such as a network's that knows no root, give all files to a user of theirs.
    """
    if found.st_uid == os.geteuid():
        return True
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            return os.fstat(file.fileno()).st_uid == found.st_uid
    except OSError:
        return False


def _refusal(path: str | Path, what: str) -> InputError:
    return InputError(
        f"{path} {what}; rows are kept only in files that you own: remove it, or choose another DST"
    )
