"""The cache of replies of earlier runs; a lookup never raises."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from rag_eval.errors import InputError
from rag_eval.judge.cache_file import (
    CacheInfo,
    cache_key,
    clear_rows,
    evict,
    info_of,
    open_cache_file,
)
from rag_eval.judge.replies import Usage
from rag_eval.plumbing.checked_values import whole_from_one
from rag_eval.plumbing.sqlite_files import connected, transaction

__all__ = ["CachedReply", "JudgeCache", "JudgeCacheWarning", "cache_key"]

_ROWS_AT_ONCE: Final = 64
_LONGEST_WAIT_S: Final = 1.0
# How stale a row's last-used time may get: updating it always would make every read a write.
_USE_GRAIN_S: Final = 60.0
_DAY_S: Final = 86400.0

_SELECT: Final = (
    "SELECT reply, input_tokens, output_tokens, estimated, model, created, used "
    "FROM replies WHERE key = ?"
)
_INSERT: Final = (
    "INSERT OR REPLACE INTO replies (reply, input_tokens, output_tokens, estimated, model, "
    "created, used, key) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)


class JudgeCacheWarning(UserWarning):
    """The cache cannot be used; the run continues without it."""


@dataclass(frozen=True, slots=True)
class CachedReply:
    """A reply that could be read.

    Attributes
    ----------
    reply : dict
        The decoded object, without its mark.
    usage : Usage
        The tokens of the call.
    model : str or None
        The model that answered.
    """

    reply: dict[str, Any]
    usage: Usage
    model: str | None = None


class _Row(NamedTuple):
    reply: str
    input_tokens: int
    output_tokens: int
    estimated: int
    model: str | None
    created: float
    used: float


class JudgeCache:
    """Replies in an SQLite file that several processes and threads may share.

    A separate thread writes new replies in bulk, within a second. A full or read-only disk or a
    damaged file raises one :class:`JudgeCacheWarning`; after that nothing is found or kept.

    Parameters
    ----------
    path : path
        Created with its folders, readable only by the owner, if it does not exist.
    max_bytes : int
        Above this size, the least recently used replies are dropped.
    max_age_days : float, optional
        Older replies are not found.
    clock : callable
        Seconds since 1970.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_bytes: int = 1 << 30,
        max_age_days: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        whole_from_one(max_bytes, "max_bytes")
        if max_age_days is not None and not max_age_days > 0:
            raise InputError(f"max_age_days must be a number above 0, got {max_age_days!r}")
        self._path = Path(path).absolute()
        self._max_bytes = max_bytes
        self._max_age_s = None if max_age_days is None else max_age_days * _DAY_S
        self._clock = clock
        self._abandoned: list[tuple[sqlite3.Connection | None, ...]] = []
        self._open()
        self._warn()

    def _open(self) -> None:
        self._pid = os.getpid()
        self._fault: str | None = None
        self._warned = False
        self._lock = threading.Lock()
        self._wake = threading.Condition(self._lock)
        self._reading, self._at_writing = threading.Lock(), threading.Lock()
        self._pending: dict[bytes, _Row] = {}
        self._being_written: dict[bytes, _Row] = {}
        self._touched: dict[bytes, float] = {}
        self._thread: threading.Thread | None = None
        self._closing = False
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        try:
            self._writer = open_cache_file(self._path)
            self._reader = connected(self._path)
        except (OSError, sqlite3.Error, InputError) as error:
            self._give_up(error)

    def get(self, key: bytes) -> CachedReply | None:
        """The reply under a key, or None."""
        if not self._is_usable():
            return None
        with self._lock:
            row = self._pending.get(key) or self._being_written.get(key)
        try:
            row = row or self._stored(key)
            now = self._clock()
            if row is None or (self._max_age_s is not None and row.created < now - self._max_age_s):
                return None
            if now - row.used >= _USE_GRAIN_S:
                with self._lock:
                    self._touched[key] = now
                    self._wake_writer()
            return _decoded(row)
        except (sqlite3.Error, ValueError, RecursionError) as error:
            self._give_up(error)
            self._warn()
            return None

    def put(self, key: bytes, cached: CachedReply) -> None:
        """Keep a reply under a key."""
        if not self._is_usable():
            return
        try:
            reply = msgspec.json.encode(cached.reply).decode()
        except (TypeError, UnicodeEncodeError):
            return  # such as a lone surrogate, which cannot be written
        now = self._clock()
        usage = cached.usage
        tokens = usage.input_tokens, usage.output_tokens, usage.estimated
        row = _Row(reply, *tokens, cached.model, now, now)
        with self._lock:
            self._pending[key] = row
            self._wake_writer()

    def flush(self) -> None:
        """Write all pending replies."""
        if self._is_usable():
            self._write()
            self._warn()

    def info(self) -> CacheInfo | None:
        """Statistics of the cache; None if it cannot be used."""
        found: CacheInfo | None = self._in_writing(lambda writer: info_of(writer, self._path))
        return found

    def clear(self) -> int:
        """Delete all replies and return their number."""
        return self._in_writing(clear_rows) or 0

    def _in_writing(self, act: Callable[[sqlite3.Connection], Any]) -> Any:
        self.flush()
        with self._at_writing:
            if self._fault is not None or self._writer is None:
                return None
            try:
                return act(self._writer)
            except (OSError, sqlite3.Error) as error:
                self._give_up(error)
        self._warn()
        return None

    def close(self) -> None:
        """Write pending replies and close the file; after that nothing is found or kept."""
        if self._pid != os.getpid():
            return  # the parent's
        with self._lock:
            self._closing = True
            self._wake.notify_all()
        if self._thread is not None:
            self._thread.join()
        self._write()
        with self._reading, self._at_writing:
            for connection in (self._reader, self._writer):
                if connection is not None:
                    connection.close()
            self._reader = self._writer = None
        self._warn()

    def __enter__(self) -> JudgeCache:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ------------------------------------------------------------------------------- reading

    def _is_usable(self) -> bool:
        if self._pid != os.getpid():
            # A forked process must neither use nor close the connection of its parent.
            self._abandoned.append((self._reader, self._writer))
            closing = self._closing
            self._open()
            self._closing = closing
        self._warn()
        return self._fault is None and not self._closing

    def _stored(self, key: bytes) -> _Row | None:
        with self._reading:
            if self._reader is None:
                return None
            # Read all rows: an unfinished statement prevents checkpoints of the log.
            found = self._reader.execute(_SELECT, (key,)).fetchall()
        return msgspec.convert(found[0], _Row) if found else None

    # ------------------------------------------------------------------------------- writing

    def _wake_writer(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._keep_writing, name="rag_eval judge cache", daemon=True
            )
            self._thread.start()
        if len(self._pending) in (1, _ROWS_AT_ONCE) or len(self._touched) == 1:
            self._wake.notify_all()

    def _keep_writing(self) -> None:
        """Write when enough replies are pending, or the first has waited long enough."""
        while self._fault is None and not self._closing:
            with self._wake:
                self._wake.wait_for(lambda: self._closing or self._pending or self._touched)
                self._wake.wait_for(
                    lambda: self._closing or len(self._pending) >= _ROWS_AT_ONCE, _LONGEST_WAIT_S
                )
            self._write()

    def _write(self) -> None:
        with self._at_writing:
            with self._lock:
                self._being_written, self._pending = self._pending, {}
                touched, self._touched = self._touched, {}
            if self._writer is not None and self._fault is None:
                try:
                    self._commit(self._writer, touched)
                except sqlite3.Error as error:
                    self._give_up(error)
            with self._lock:
                self._being_written = {}

    def _commit(self, writer: sqlite3.Connection, touched: dict[bytes, float]) -> None:
        if not (self._being_written or touched):
            return
        with transaction(writer):
            rows = ((*row, key) for key, row in self._being_written.items())
            writer.executemany(_INSERT, rows)
            uses = ((used, key) for key, used in touched.items())
            writer.executemany("UPDATE replies SET used = ? WHERE key = ?", uses)
        evict(writer, self._max_bytes)

    # ------------------------------------------------------------------------------- faults

    def _give_up(self, error: Exception) -> None:
        if self._fault is None:
            self._fault = str(error)

    def _warn(self) -> None:
        """Warn once, in a caller's thread: a warning from the writer's thread would be lost."""
        if self._fault is not None and not self._warned:
            self._warned = True
            warnings.warn(
                f"the judge cache {self._path} is not used: {self._fault}",
                JudgeCacheWarning,
                stacklevel=3,
            )


def _decoded(row: _Row) -> CachedReply:
    reply = msgspec.json.decode(row.reply)
    if not isinstance(reply, dict):
        raise ValueError("it contains a reply that is not a JSON object")
    usage = Usage(row.input_tokens, row.output_tokens, bool(row.estimated))
    return CachedReply(reply, usage, row.model)
