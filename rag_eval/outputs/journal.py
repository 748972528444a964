"""An append-only file of records; each record is complete or absent."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from rag_eval.plumbing import json_text
from rag_eval.plumbing.own_folder import OwnFile

try:
    import fcntl
except ImportError:  # pragma: no cover  # not on Windows, where two runs are not told apart
    fcntl = None  # type: ignore[assignment]


class JournalInUseError(Exception):
    """Another process is writing the journal."""


class Recorded(NamedTuple):
    """What a journal holds: its records, and the byte that each of them ends before."""

    records: list[dict[str, Any]]
    ends: list[int]


def read_journal(path: Path | OwnFile) -> Recorded:
    """The records up to the first that is torn or damaged; none where there is no file."""
    try:
        with path.open("rb") as file:
            data = file.read()
    except FileNotFoundError:
        return Recorded([], [])
    records: list[dict[str, Any]] = []
    ends: list[int] = []
    n_bytes = 0
    for line in data.splitlines(keepends=True):
        digest, _, text = line.partition(b" ")
        if not line.endswith(b"\n") or digest != _digest(text):
            break
        records.append(json_text.loads(text))
        n_bytes += len(line)
        ends.append(n_bytes)
    return Recorded(records, ends)


def _digest(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=8).hexdigest().encode()


class Journal:
    """A journal that is open for appending, by this process alone.

    Raises
    ------
    JournalInUseError
        When another process has it open.
    """

    def __init__(self, path: Path | OwnFile) -> None:
        self._path = path
        self._file = path.open("ab")
        try:
            self._lock()
        except BaseException:
            self._file.close()
            raise

    def _lock(self) -> None:
        if fcntl is None:  # pragma: no cover
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalInUseError from None

    @property
    def is_in_place(self) -> bool:
        """Whether its path still leads to it: an earlier process may have removed it."""
        try:
            return os.path.samestat(self._path.stat(), os.fstat(self._file.fileno()))
        except FileNotFoundError:
            return False

    def cut(self, n_bytes: int) -> None:
        """Truncate the journal to this many bytes, on disk too, unless it has that size."""
        if os.fstat(self._file.fileno()).st_size == n_bytes:
            return
        # Not by the file, which would write first what had no room on the disk.
        os.ftruncate(self._file.fileno(), n_bytes)
        os.fsync(self._file.fileno())

    def append(self, record: Mapping[str, Any], *, is_durable: bool = True) -> None:
        """Add a record; when this returns it is on disk, if it is to be durable."""
        text = json_text.dumps(record) + b"\n"
        self._file.write(_digest(text) + b" " + text)
        self._file.flush()
        if is_durable:
            self.sync()

    def sync(self) -> None:
        """Bring all records to disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file and release its lock."""
        # A record that did not fit on the disk does not fit now either.
        with suppress(OSError):
            self._file.close()
