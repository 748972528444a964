"""The file of cached replies.  In: a path.  Out: a connection to a database of ours.

A row holds a digest, the decoded reply as JSON, and what the call took: no prompt, no key.
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
    bears_mark,
    check_tables,
    connected,
    is_taken,
    make_file,
    number,
    transaction,
    write_ahead,
)

_VERSION: Final = 1
_APPLICATION_ID: Final = 0x52654A63  # marks the file as ours; "ReJc"
_LEAST_FREED: Final = 0.1  # of the cap: to evict in bulk is cheaper than one for each put
_MOST_ROUNDS: Final = 20
_LATEST: Final = 253402300800.0  # the end of the year 9999, which is the last that Python knows
_DIGEST_BYTES: Final = 32  # a text under test must not be able to forge another's key
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
    """What a cache holds.

    Attributes
    ----------
    path : str
    entries : int
        Replies.
    size_bytes : int
        On the disk, with the log beside it.
    oldest, newest : float or None
        When the first and the last of them came, in seconds since 1970; None without any.
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
    """Where the command line keeps its cache.

    ``RAG_EVAL_CACHE``, or ``rag_eval/judge.sqlite`` in ``XDG_CACHE_HOME`` or ``~/.cache``.
    """
    named = environment.get("RAG_EVAL_CACHE")
    if named:
        return Path(named).expanduser()
    # The standard says that a path which is not absolute counts as none.
    folder = environment.get("XDG_CACHE_HOME", "")
    root = Path(folder) if folder.startswith("/") else Path("~/.cache").expanduser()
    return root / "rag_eval" / "judge.sqlite"


def open_cache_file(path: Path) -> sqlite3.Connection:
    """A connection to the cache, which is made when it is not there.

    Raises
    ------
    InputError
        The file is something else, or of a later version.
    OSError, sqlite3.Error
        It cannot be opened or made.
    """
    with _OPENING:
        make_file(path)
        connection = connected(path)
    try:
        if not _is_ours(connection, path):
            _create_tables(connection, path)
        connection.execute("PRAGMA synchronous = NORMAL")
        # What stays of the log after it was folded into the file.
        connection.execute("PRAGMA journal_size_limit = 16777216")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def existing_cache(path: Path) -> Iterator[sqlite3.Connection | None]:
    """A connection to a cache that is there already; None where no file is.

    Raises
    ------
    InputError
        The file is something else, damaged, or in use.
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
    """Whether the tables are there; False for an empty database."""
    if not bears_mark(connection, _APPLICATION_ID):
        if is_taken(connection, _APPLICATION_ID):
            raise InputError(f"{path} is a database of something else")
        return False
    version = number(connection, "PRAGMA user_version")
    if version != _VERSION:
        raise InputError(
            f"{path} has version {version} of the cache's form; this package knows up to {_VERSION}"
        )
    check_tables(connection, _SCHEMA)
    return True


def _create_tables(connection: sqlite3.Connection, path: Path) -> None:
    """The tables; other processes may be at it at the same time."""
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    write_ahead(connection)
    with transaction(connection):
        if not _is_ours(connection, path):
            for statement in _SCHEMA:
                connection.execute(statement)


def info_of(connection: sqlite3.Connection, path: Path) -> CacheInfo:
    """What a cache holds."""
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
    """Forget all replies and give their room back; the number of them."""
    found = connection.execute("DELETE FROM replies").rowcount
    try:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.OperationalError as error:
        # Another process reads: the rows are gone, their room is used again.
        if "locked" not in str(error):
            raise
    return int(found)


def evict(connection: sqlite3.Connection, max_bytes: int) -> None:
    """Drop what was not used for longest, until the file is well below the cap."""
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
    # As a script: it gives back a page for each step, and a plain execute takes one step.
    connection.executescript("PRAGMA incremental_vacuum")


def _used_bytes(connection: sqlite3.Connection) -> int:
    pages = number(connection, "PRAGMA page_count") - number(connection, "PRAGMA freelist_count")
    return pages * number(connection, "PRAGMA page_size")


def cache_key(template_digest: str, fields: Fields, identity: JudgeIdentity, repeat: int) -> bytes:
    """What a reply is kept under.

    Parameters
    ----------
    template_digest : str
        Of the wording, see ``PromptStyle.digest``.
    fields : mapping
        The texts before they are fenced: the marks of a fence are new in every prompt.
    identity : JudgeIdentity
    repeat : int
        Which of several askings of the same.

    Returns
    -------
    bytes
        32 of them; BLAKE2b over an encoding that no two different inputs share.
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
    """Append a value as its kind, its length and its bytes, so that nothing runs together."""
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
