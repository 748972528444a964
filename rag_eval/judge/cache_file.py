"""The SQLite file of cached replies.

A row has a digest, the decoded reply as JSON, and the tokens of the call: no prompt, no API key.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rag_eval.errors import InputError, glance
from rag_eval.judge.replies import JudgeIdentity
from rag_eval.judge.steps import Fields
from rag_eval.plumbing.sqlite_files import (
    check_tables,
    connected,
    make_file,
    number,
    transaction,
    version_of,
    write_ahead,
)

_VERSION: Final = 1
_APPLICATION_ID: Final = 0x52654A63  # marks the file as ours; "ReJc"
_LEAST_FREED: Final = 0.1  # share of the cap: evicting in bulk is cheaper than one eviction per put
_MOST_ROUNDS: Final = 20
_LATEST: Final = 253402300800.0  # the end of the year 9999, the last that Python supports
_DIGEST_BYTES: Final = 32  # long enough that a sample cannot forge the key of another
_PURPOSE: Final = b"rag_eval.reply.1"
_OPENING: Final = threading.Lock()

_SCHEMA: Final = (
    """CREATE TABLE IF NOT EXISTS replies (
        key BLOB NOT NULL UNIQUE,
        reply TEXT NOT NULL,
        input_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        estimated INTEGER NOT NULL,
        model TEXT,
        created REAL NOT NULL,
        used REAL NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS replies_by_use ON replies (used)",
    f"PRAGMA application_id = {_APPLICATION_ID}",
    f"PRAGMA user_version = {_VERSION}",
)


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """Statistics of a cache.

    Attributes
    ----------
    path : str
    entries : int
        Number of replies.
    size_bytes : int
        Size on disk, including the log.
    oldest, newest : float or None
        The times of the oldest and newest reply, in seconds since 1970; None if empty.
    """

    path: str
    entries: int = 0
    size_bytes: int = 0
    oldest: float | None = None
    newest: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, times in ISO 8601."""
        return {
            "path": self.path,
            "entries": self.entries,
            "bytes": self.size_bytes,
            "oldest": _iso(self.oldest),
            "newest": _iso(self.newest),
        }


def _iso(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def default_cache_path(environment: Mapping[str, str] = os.environ) -> Path:
    """The path of the cache on the command line.

    ``RAG_EVAL_CACHE``, or ``rag_eval/judge.sqlite`` in ``XDG_CACHE_HOME`` or ``~/.cache``.
    """
    named = environment.get("RAG_EVAL_CACHE")
    if named:
        return Path(named).expanduser()
    # The XDG standard says to ignore relative paths.
    folder = environment.get("XDG_CACHE_HOME", "")
    root = Path(folder) if folder.startswith("/") else Path("~/.cache").expanduser()
    return root / "rag_eval" / "judge.sqlite"


def open_cache_file(path: Path) -> sqlite3.Connection:
    """A connection to the cache, which is created if it does not exist.

    Raises
    ------
    InputError
        If the file is something else or of a later version.
    OSError, sqlite3.Error
        If it cannot be opened or created.
    """
    with _OPENING:
        make_file(path)
        connection = connected(path)
    try:
        if not _is_ours(connection, path):
            _create_tables(connection, path)
        connection.execute("PRAGMA synchronous = NORMAL")
        # The size of the log that is kept after a checkpoint.
        connection.execute("PRAGMA journal_size_limit = 16777216")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def existing_cache(path: Path) -> Iterator[sqlite3.Connection | None]:
    """A connection to an existing cache; None if there is no file.

    Raises
    ------
    InputError
        If the file is something else, damaged, or in use.
    """
    if not path.exists():
        yield None
        return
    try:
        with closing(open_cache_file(path)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise InputError(f"the cache {path} cannot be used: {error}") from None


def _is_ours(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the tables exist; False for an empty database."""
    if not version_of(connection, path, _APPLICATION_ID, _VERSION, "a judge cache"):
        return False
    check_tables(connection, _SCHEMA)
    return True


def _create_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables; other processes may do so at the same time."""
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    write_ahead(connection)
    with transaction(connection):
        if not _is_ours(connection, path):
            for statement in _SCHEMA:
                connection.execute(statement)


def info_of(connection: sqlite3.Connection, path: Path) -> CacheInfo:
    """Statistics of a cache."""
    entries, oldest, newest = connection.execute(
        "SELECT count(*), min(created), max(created) FROM replies"
    ).fetchone()
    for moment in (oldest, newest):
        if moment is not None and not (isinstance(moment, float) and 0 <= moment < _LATEST):
            raise sqlite3.DatabaseError(f"the time of a reply is {glance(moment)}")
    files = (path, path.with_name(f"{path.name}-wal"))
    size = sum(file.stat().st_size for file in files if file.exists())
    return CacheInfo(str(path), entries, size, oldest, newest)


def clear_rows(connection: sqlite3.Connection) -> int:
    """Delete all replies, free their space, and return their number."""
    found = connection.execute("DELETE FROM replies").rowcount
    try:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.OperationalError as error:
        # Another process is reading: the rows are deleted, and their space will be reused.
        if "locked" not in str(error):
            raise
    return int(found)


def evict(connection: sqlite3.Connection, max_bytes: int) -> None:
    """Delete the least recently used replies until the file is well below the cap."""
    used = _used_bytes(connection)
    if used <= max_bytes:
        return
    wanted = max_bytes * (1 - _LEAST_FREED)
    for _ in range(_MOST_ROUNDS):
        entries = number(connection, "SELECT count(*) FROM replies")
        if used <= wanted or not entries:
            break
        connection.execute(
            "DELETE FROM replies WHERE rowid IN (SELECT rowid FROM replies ORDER BY used LIMIT ?)",
            (max(1, round(entries * (1 - wanted / used))),),
        )
        used = _used_bytes(connection)
    # As a script: each step frees one page, and execute would take only one step.
    connection.executescript("PRAGMA incremental_vacuum")


def _used_bytes(connection: sqlite3.Connection) -> int:
    pages = number(connection, "PRAGMA page_count") - number(connection, "PRAGMA freelist_count")
    return pages * number(connection, "PRAGMA page_size")


def cache_key(template_digest: str, fields: Fields, identity: JudgeIdentity, repeat: int) -> bytes:
    """The key of a reply.

    Parameters
    ----------
    template_digest : str
        The digest of the wording, see ``PromptStyle.digest``.
    fields : mapping
        The texts before fencing, because fence marks differ in every prompt.
    identity : JudgeIdentity
    repeat : int
        The number of the repeat.

    Returns
    -------
    bytes
        32 bytes; BLAKE2b over an injective encoding of the inputs.
    """
    parts: list[bytes] = []
    _encode(template_digest, parts)
    _encode(fields, parts)
    judge = (identity.provider, identity.model, identity.base_url, dict(identity.parameters))
    _encode(judge, parts)
    _encode(repeat, parts)
    whole = b"".join(parts)
    return hashlib.blake2b(whole, digest_size=_DIGEST_BYTES, person=_PURPOSE).digest()


def _encode(value: Any, parts: list[bytes]) -> None:
    """Append a value as its kind, its length and its bytes, so that encodings are unambiguous."""
    if isinstance(value, str):
        _append(b"s", value.encode("utf-8", "surrogatepass"), parts)
    elif value is None or isinstance(value, bool):
        _append(b"c", repr(value).encode(), parts)
    elif isinstance(value, int):
        _append(b"i", repr(value).encode(), parts)
    elif isinstance(value, float):
        _append(b"f", repr(value).encode(), parts)
    elif isinstance(value, Mapping):
        parts.append(b"d%d:" % len(value))
        for name in sorted(value):
            _encode(name, parts)
            _encode(value[name], parts)
    elif isinstance(value, (list, tuple)):
        parts.append(b"l%d:" % len(value))
        for item in value:
            _encode(item, parts)
    else:
        raise TypeError(f"a {type(value).__name__} cannot be part of a cache key")


def _append(kind: bytes, encoded: bytes, parts: list[bytes]) -> None:
    parts.append(b"%b%d:" % (kind, len(encoded)))
    parts.append(encoded)
