"""The file of a run store.  In: a path.  Out: a connection to tables of the present version.

A table of runs, which a list of them reads; one of their columns, in parts that only a load reads;
one of pins.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rag_eval.errors import InputError
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

APPLICATION_ID: Final = 0x52655273
"""Marks the file as ours: ``ReRs``."""

STEPS: Final[tuple[tuple[str, ...], ...]] = (
    (
        """CREATE TABLE runs (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            run_id TEXT NOT NULL UNIQUE,
            created_at TEXT NOT NULL,
            status TEXT CHECK (status IN ('passed', 'failed')),
            dataset_hash TEXT,
            git_commit TEXT,
            branch TEXT,
            dirty INTEGER,
            library_version TEXT NOT NULL,
            n_rows INTEGER NOT NULL,
            metrics TEXT NOT NULL,
            lower_is_better TEXT NOT NULL,
            signature TEXT,
            aggregates TEXT NOT NULL,
            config TEXT NOT NULL,
            n_judgements INTEGER NOT NULL,
            n_failed_judgements INTEGER NOT NULL
        )""",
        """CREATE TABLE run_parts (
            seq INTEGER NOT NULL REFERENCES runs (seq),
            part TEXT NOT NULL,
            data BLOB NOT NULL,
            PRIMARY KEY (seq, part)
        ) WITHOUT ROWID""",
    ),
    (
        """CREATE TABLE pins (
            name TEXT PRIMARY KEY,
            seq INTEGER NOT NULL REFERENCES runs (seq)
        ) WITHOUT ROWID""",
        "CREATE INDEX runs_by_dataset ON runs (dataset_hash, seq)",
    ),
)
"""What brings a file from each version to the next; an empty file has version 0.

A step that was released is never changed: what comes after it is a step of its own.
"""

VERSION: Final = len(STEPS)


@contextmanager
def opened_store(path: Path, *, create: bool) -> Iterator[sqlite3.Connection]:
    """A connection to a run store, closed afterwards.

    Raises
    ------
    InputError
        There is none and none is to be made; or the file is something else, damaged, of a later
        version, in use for long, or cannot be written. It stays as it was.
    """
    if not create and not path.exists():
        raise InputError(f"there is no run store {path}; rag-eval run --store makes one")
    try:
        connection = _opened(path)
    except OSError as error:
        raise InputError(f"cannot make the run store {path}: {error.strerror or error}") from None
    except sqlite3.Error as error:
        raise _unusable(path, error) from None
    try:
        yield connection
    except sqlite3.Error as error:
        raise _unusable(path, error) from None
    finally:
        connection.close()


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """One state of the file for all that is read in the block."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("COMMIT")


def _unusable(path: Path, error: sqlite3.Error) -> InputError:
    return InputError(
        f"the run store {path} cannot be used, and was left as it is: {error}; "
        "rag-eval run --store makes one"
    )


def _opened(path: Path) -> sqlite3.Connection:
    make_file(path)
    connection = connected(path)
    try:
        # A run is written once and read for months: not even a power cut may take it.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        with snapshot(connection):
            version = version_of(connection, path)
            check_tables(connection, [each for step in STEPS[:version] for each in step])
        if version < VERSION:
            migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """The version of the file's tables; 0 for a file without any.

    Raises
    ------
    InputError
        For the database of something else, and for a later version.
    """
    if not bears_mark(connection, APPLICATION_ID):
        if is_taken(connection, APPLICATION_ID):
            raise InputError(f"{path} is a database of something else; it was left as it is")
        return 0
    version = number(connection, "PRAGMA user_version")
    if version < 0:
        raise InputError(f"{path} is a run store of version {version}, which there is not")
    if version > VERSION:
        raise InputError(
            f"{path} is a run store of version {version}, made by a later release; this one knows "
            f"up to {VERSION}: update the package"
        )
    return version


def migrate(
    connection: sqlite3.Connection, path: Path, steps: Sequence[Sequence[str]] = STEPS
) -> None:
    """Bring the tables to the present version, all the way or not at all."""
    write_ahead(connection)
    with transaction(connection):
        # Asked again: another process may have been first.
        for version in range(version_of(connection, path), len(steps)):
            for statement in steps[version]:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(steps)}")
