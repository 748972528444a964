"""Files that are written atomically: completely or not at all."""

from __future__ import annotations

import errno
import gzip
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from rag_eval.errors import InputError
from rag_eval.plumbing.descriptors import descriptor_of
from rag_eval.plumbing.extras import zstd
from rag_eval.plumbing.own_folder import OwnFile
from rag_eval.plumbing.temporary_files import opened_beside

_NEW: Final = 0o666  # less the umask, as for any new file
_PRIVATE: Final = 0o600  # until the file has the mode of the one whose place it takes
_MOST_LINKS: Final = 40
_COPIED_BYTES: Final = 1 << 20
# No file can be made in the folder, or the name cannot be replaced, as that of a mount point.
_NO_NEW_FILE: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_NO_RENAME: Final = _NO_NEW_FILE | {errno.EBUSY}


@contextmanager
def atomic_file(
    path: str | Path,
    place: Callable[[], Path] | None = None,
    temporary: OwnFile | None = None,
) -> Iterator[IO[bytes]]:
    """A file to write that gets its name only if the block succeeds.

    It is written beside its target, flushed to disk and renamed, so an older file stays intact
    until then. The new file keeps its mode, owner and access list. Names that end in ``.gz`` or
    ``.zst`` are compressed, and links are followed. A target that cannot be replaced is written
    into after the block succeeds: a pipe, a device, a mount point, a file whose owner cannot be
    kept, or one in a folder that accepts no new file. ``place`` may give another name in
    the folder of :func:`followed` when the block has ended, and ``temporary`` the file until then.

    Raises
    ------
    InputError
        When the folder or an older file cannot be written to, or something else has the name.
    """
    target = Path(path)
    check_kind(target)
    try:
        raw, beside = _opened(target, temporary)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from None
    with raw:
        try:
            with _packed(raw, target) as file:
                yield file
            raw.flush()
            _put(raw, beside, target, target if place is None else place())
        finally:
            if beside is not None:
                beside.unlink(missing_ok=True)


def check_kind(path: Path) -> None:
    """Raise an error unless the name is free or that of a file, a pipe or a character device.

    Raises
    ------
    InputError
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    if stat.S_ISDIR(mode):
        raise InputError(f"cannot write {path}: it is a folder")
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)):
        raise InputError(f"cannot write {path}: it is neither a file nor a pipe")


def followed(path: Path) -> Path:
    """The file that a path stands for, links followed, whether it is there yet or not."""
    return Path(os.path.realpath(path))


def is_replaced(path: Path) -> bool:
    """Whether writing replaces what is there by a new file; it does not for pipes."""
    return _open_descriptor(path) is None and (path.is_file() or not path.exists())


# ------------------------------------------------------------------------------------ opening


def _opened(target: Path, temporary: OwnFile | None) -> tuple[IO[bytes], Path | OwnFile | None]:
    """A file to write, and its path; no path where the target cannot be replaced."""
    if (number := _open_descriptor(target)) is not None:
        os.fstat(number)
    if not is_replaced(target):
        return _unnamed()
    is_there = target.exists()
    if is_there:
        _check_writable(target)
    mode = _PRIVATE if is_there else _NEW
    # Beside a link, a file may be on another file system than what the link stands for.
    if temporary is not None and not target.is_symlink():
        return temporary.open("wb", mode), temporary
    try:
        return opened_beside(followed(target), mode)
    except OSError as error:
        if is_there and error.errno in _NO_NEW_FILE:
            return _unnamed()
        raise


def _unnamed() -> tuple[IO[bytes], None]:
    return tempfile.TemporaryFile("wb"), None


def _check_writable(target: Path) -> None:
    """Fail where writing into the file would fail, which a rename does not check."""
    # With O_CREAT, Linux checks the owner of a file in a folder of all users, such as /tmp.
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT, _PRIVATE))


def _open_descriptor(path: Path) -> int | None:
    """The open file of this process that a path, or a link on its way, stands for."""
    name = path.absolute()
    for _ in range(_MOST_LINKS):
        number = descriptor_of(name)
        if number is not None or not name.is_symlink():
            return number
        name = name.parent / name.readlink()
    return None


@contextmanager
def _packed(raw: IO[bytes], target: Path) -> Iterator[IO[bytes]]:
    suffix = target.suffix.lower()
    if suffix == ".gz":
        # No time stamp: the same rows give the same bytes.
        with gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
            yield packed  # type: ignore[misc]  # a GzipFile is an IO[bytes] in all but name
    elif suffix == ".zst":
        with zstd().ZstdFile(raw, "wb") as packed:
            yield packed
    else:
        yield raw


# ----------------------------------------------------------------------------- taking the name


def _put(raw: IO[bytes], temporary: Path | OwnFile | None, target: Path, name: Path) -> None:
    """Put what was written in its place, or into it."""
    final = followed(name)
    if temporary is None:
        _write_into(name, raw)
        return
    is_new = not final.exists()
    if not _takes_after(raw.fileno(), followed(target) if is_new else final) and not is_new:
        _write_into(final, raw)
        return
    os.fsync(raw.fileno())
    try:
        rename_durably(temporary, final)
    except OSError as error:
        if is_new or error.errno not in _NO_RENAME:
            raise
        _write_into(final, raw)


def _takes_after(handle: int, path: Path) -> bool:
    """Give an open file the owner, access list and mode of another; False if that is denied."""
    try:
        old, own = path.stat(), os.fstat(handle)
    except FileNotFoundError:
        return True
    try:
        if (old.st_uid, old.st_gid) != (own.st_uid, own.st_gid):
            os.fchown(handle, old.st_uid, old.st_gid)
        _copy_attributes(path, handle)
        # Last: the mode is what lets others read.
        os.fchmod(handle, stat.S_IMODE(old.st_mode))
    except OSError:
        return False
    return True


def _copy_attributes(path: Path, handle: int) -> None:
    """The access list, which changes what the mode means, and user attributes."""
    found, own = _attributes(path), _attributes(handle)
    for name in own.keys() - found.keys():
        os.removexattr(handle, name)
    for name, value in found.items():
        if own.get(name) != value:
            os.setxattr(handle, name, value)


def _attributes(file: Path | int) -> dict[str, bytes]:
    try:
        names = os.listxattr(file)
    except OSError:
        return {}  # a file system without any
    kept = [name for name in names if name.startswith(("user.", "system.posix_acl_access"))]
    return {name: os.getxattr(file, name) for name in kept}


def _write_into(path: Path, raw: IO[bytes]) -> None:
    """Copy the content of one file into another, which stays the same file."""
    number = _open_descriptor(path)
    if number is None:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT, _PRIVATE)
    else:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # what was printed before comes before
        handle = os.dup(number)
    with os.fdopen(handle, "wb") as file, os.fdopen(os.dup(raw.fileno()), "rb") as whole:
        whole.seek(0)
        shutil.copyfileobj(whole, file, _COPIED_BYTES)
        if number is None and path.is_file():
            file.truncate()
            os.fsync(file.fileno())


def rename_durably(old: Path | OwnFile, new: Path) -> None:
    """Rename a file whose content is on disk, so that the name is there after a power cut."""
    old.replace(new)
    sync_folder(new.parent)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
