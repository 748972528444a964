"""A path in; a connection to a run store with tables of the current version out.

There is a table of runs for listing, one with the columns of each run for loading, and one of pins.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rag_eval.errors import InputError
from rag_eval.plumbing.sqlite_files import (
    check_tables,
    connected,
    make_file,
    transaction,
    version_of,
    write_ahead,
)
from rag_eval.runs.store_names import DEFAULT_STORE

APPLICATION_ID: Final = 0x52655273
"""Marks the file as a run store: ``ReRs``."""

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
    (
        # 0 where only guards were checked. In older files no status tells guards from a gate.
        "ALTER TABLE runs ADD COLUMN gated INTEGER NOT NULL DEFAULT 1 CHECK (gated IN (0, 1))",
        "ALTER TABLE runs ADD COLUMN settings TEXT",
    ),
    (
        # Of a gate that shared its level with others of the release line.
        "ALTER TABLE runs ADD COLUMN gate_number INTEGER CHECK (gate_number > 0)",
    ),
)
"""The steps that upgrade a file from each version to the next; an empty file has version 0.

A released step is never changed; later changes are further steps.
"""

VERSION: Final = len(STEPS)


@contextmanager
def opened_store(path: Path, *, create: bool) -> Iterator[sqlite3.Connection]:
    """Open a connection to a run store, which is closed afterwards.

    Raises
    ------
    InputError
        If there is no store and none may be created, or the file is not a run store, damaged, from
        a later version, locked for too long, or not writable. The file is left unchanged.
    """
    if not create and not path.exists():
        given = "" if path == Path(DEFAULT_STORE) else f" {path}"
        raise InputError(
            f"there is no run store {path}; create one with: rag-eval run DATA --store{given}"
        )
    try:
        connection = _opened(path)
    except OSError as error:
        raise InputError(f"cannot create the run store {path}: {error.strerror or error}") from None
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
    """Give all reads in the block the same state of the file."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("COMMIT")


def _unusable(path: Path, error: sqlite3.Error) -> InputError:
    return InputError(
        f"cannot use the run store {path} (it is unchanged): {error}. To create one: "
        "rag-eval run DATA --store"
    )


def _opened(path: Path) -> sqlite3.Connection:
    make_file(path)
    connection = connected(path)
    try:
        # A run is written once and read for months: it must survive a power cut.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        with snapshot(connection):
            version = stored_version(connection, path)
            check_tables(connection, [each for step in STEPS[:version] for each in step])
        if version < VERSION:
            migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def stored_version(connection: sqlite3.Connection, path: Path) -> int:
    """The version of the file's tables; 0 for a file without any.

    Raises
    ------
    InputError
        For a database that is not a run store, and for a later version.
    """
    return version_of(connection, path, APPLICATION_ID, VERSION, "a run store")


def migrate(
    connection: sqlite3.Connection, path: Path, steps: Sequence[Sequence[str]] = STEPS
) -> None:
    """Upgrade the tables to the current version, completely or not at all."""
    write_ahead(connection)
    with transaction(connection):
        # Checked again: another process may have been first.
        for version in range(stored_version(connection, path), len(steps)):
            for statement in steps[version]:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(steps)}")
