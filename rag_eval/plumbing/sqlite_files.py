"""Database files.  In: a path.  Out: a connection to a file that only its owner can read."""

from __future__ import annotations

import functools
import os
import sqlite3
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rag_eval.errors import InputError
from rag_eval.plumbing.own_folder import is_own, kind_of

BUSY_S: Final = 10.0
"""How long a connection waits for another that writes."""

# The last bytes of a journal that names the journal of several databases.
_NAMES_A_FILE: Final = bytes.fromhex("d9d505f920a163d7")


# What SQLite reads and writes beside a database; a journal that lies there is played back into it.
_BESIDE: Final = ("", "-journal", "-wal", "-shm")
_MARK: Final = "PRAGMA application_id"


def connected(path: Path) -> sqlite3.Connection:
    """A connection in which each statement is on its own, for any thread.

    Raises
    ------
    sqlite3.Error
        Also where a journal lies beside the file that SQLite would follow to a file elsewhere.
    """
    _check_journal(path)
    return sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)


def _check_journal(path: Path) -> None:
    """Refuse a journal that names a file: SQLite deletes that file, whatever it is.

    Our journals never do: they belong to one database.
    """
    # As SQLite does, which puts journals beside the file that a link leads to.
    journal = f"{os.path.realpath(path)}-journal"
    try:
        with open(journal, "rb") as file:  # noqa: PTH123  # a name, not a path
            file.seek(-len(_NAMES_A_FILE), os.SEEK_END)
            names_a_file = file.read() == _NAMES_A_FILE
    except OSError:  # there is none, or it is shorter
        return
    if names_a_file:
        raise sqlite3.DatabaseError(
            f"{journal} is not a journal of this library: it names another file, which SQLite "
            "would delete. Check where it came from, then delete the journal"
        )


def check_tables(connection: sqlite3.Connection, statements: Sequence[str]) -> None:
    """Refuse a database that does not have just the tables and indices of some statements.

    A view in the place of a table, a trigger or a computed column runs what the author of the file
    wrote, for as long as that takes.

    Raises
    ------
    sqlite3.Error
        Naming the first thing that is more, missing, or other.
    """
    wanted, found = _made_by(tuple(statements)), _tables_of(connection)
    for kind, name, _ in sorted(found - wanted):
        raise sqlite3.DatabaseError(f"this library does not create its {kind} {name!r:.80}")
    for kind, name, _ in sorted(wanted - found):
        raise sqlite3.DatabaseError(f"it has no {kind} {name!r}")


@functools.cache
def _made_by(statements: tuple[str, ...]) -> frozenset[tuple[str, str, str]]:
    connection = sqlite3.connect(":memory:")
    try:
        for statement in statements:
            connection.execute(statement)
        return _tables_of(connection)
    finally:
        connection.close()


def _tables_of(connection: sqlite3.Connection) -> frozenset[tuple[str, str, str]]:
    """Kind, name and text of everything that a database has, but for statistics of ANALYZE."""
    try:
        rows = connection.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL "
            "AND NOT (type = 'table' AND name IN ('sqlite_stat1', 'sqlite_stat4'))"
        ).fetchall()
    except UnicodeDecodeError as error:  # in an error of SQLite's own
        raise sqlite3.DatabaseError(f"its tables cannot be read: {error}") from None
    return frozenset((str(kind), str(name), str(sql)) for kind, name, sql in rows)


def make_file(path: Path) -> None:
    """Folders and an empty file that their owner alone can read; SQLite's own follow the file.

    A file that is there is left closed: closing it would drop the locks that another connection
    of this process has on it.

    Raises
    ------
    InputError
        If something that is not a file has the name, or the file of another user who may have put
        it there for us to find.
    """
    _check_place(path.absolute())
    missing = []
    folder = path.parent
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    if not path.exists():
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            return  # another process was first


def _check_place(path: Path) -> None:
    """Raise an error for a file that another user may have prepared, in the folder or through it.

    Files of other users are shared on purpose, unless all users can make them there.
    """
    _check_owner(path.parent)
    for suffix in _BESIDE:
        place = path.with_name(f"{path.name}{suffix}")
        try:
            # SQLite itself follows no links beside the database.
            found = place.lstat() if suffix else place.stat()
        except (FileNotFoundError, NotADirectoryError):
            if place.is_symlink():
                raise InputError(
                    f"{place} is a dangling symbolic link: move it away, or name another file"
                ) from None
            continue
        if not stat.S_ISREG(found.st_mode):
            raise InputError(
                f"{place} is {kind_of(found.st_mode)} and not a file: move it away, or name "
                "another file"
            )
        _check_owner(place)


def _check_owner(path: Path) -> None:
    try:
        found, around = path.lstat(), path.parent.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    if not around.st_mode & stat.S_IWOTH or found.st_uid == 0 or is_own(found, path.parent):
        return
    raise InputError(
        f"{path} belongs to another user (uid {found.st_uid}), and all users can write to "
        f"{path.parent}: move it away, or name a file in a folder of your own"
    )


def write_ahead(connection: sqlite3.Connection) -> None:
    """Put the log of changes in a file of its own, so that readers and a writer go together."""
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            # SQLite does not wait by itself for the lock that this takes.
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All that is written in the block, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def version_of(
    connection: sqlite3.Connection, path: Path, application_id: int, newest: int, kind: str
) -> int:
    """The version of the tables of a database; 0 for one without any.

    Parameters
    ----------
    application_id : int
        The mark of databases of this kind.
    newest : int
        The last version that is known; the first is 1.
    kind : str
        With its article, for messages.

    Raises
    ------
    InputError
        For a database of another kind, and for a version that is not known.
    """
    if number(connection, _MARK) != application_id:
        has_tables = number(connection, "SELECT count(*) FROM sqlite_master") > 0
        # Read again: another process may have made the tables, and set the mark, between the two.
        if has_tables and number(connection, _MARK) != application_id:
            raise InputError(f"{path} is a database, but not {kind}; it is unchanged")
        return 0
    version = number(connection, "PRAGMA user_version")
    if version < 1:
        raise InputError(f"{path} is {kind} of the unknown version {version}")
    if version > newest:
        raise InputError(
            f"{path} is {kind} of version {version}, made by a later release; this one knows up to "
            f"{newest}: update the package"
        )
    return version


def number(connection: sqlite3.Connection, statement: str) -> int:
    """The one whole number that a statement gives."""
    return int(connection.execute(statement).fetchone()[0])
