"""Files that are there as a whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from rag_eval.errors import InputError
from rag_eval.own_folder import OwnFile


@contextmanager
def atomic_file(
    path: str | Path,
    place: Callable[[], Path] | None = None,
    temporary: Path | OwnFile | None = None,
) -> Iterator[IO[bytes]]:
    """A file to write that takes its name only when the block ends well.

    It is written beside its place, flushed to disk and renamed: an older file of that name stays
    whole whatever happens. Names that end in ``.gz`` or ``.zst`` are compressed. ``place`` may give
    another name in the same folder when the block has ended, and ``temporary`` the name until then,
    which may be in a folder of ours.

    Raises
    ------
    InputError
        When the folder cannot be written to.
    """
    target = Path(path)
    try:
        raw, temporary = _opened(target, temporary)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from None
    try:
        with raw:
            with _packed(raw, target) as file:
                yield file
            raw.flush()
            os.fsync(raw.fileno())
        # mkstemp makes files that only their owner reads; a result is as readable as any new file.
        temporary.chmod(0o666 & ~_umask())
        rename_durably(temporary, target if place is None else place())
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _opened(target: Path, temporary: Path | OwnFile | None) -> tuple[IO[bytes], Path | OwnFile]:
    if temporary is not None:
        return temporary.open("wb"), temporary
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    return os.fdopen(handle, "wb"), Path(name)


@contextmanager
def _packed(raw: IO[bytes], target: Path) -> Iterator[IO[bytes]]:
    suffix = target.suffix.lower()
    if suffix == ".gz":
        # No time stamp: the same rows give the same bytes.
        with gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
            yield packed  # type: ignore[misc]  # a GzipFile is an IO[bytes] in all but name
    elif suffix == ".zst":
        from rag_eval.inputs.byte_files import zstd

        with zstd().ZstdFile(raw, "wb") as packed:
            yield packed
    else:
        yield raw


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


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
