"""Database files of ours.  In: a path.  Out: a connection to a file that its owner alone reads."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from pathlib import Path
from typing import Final

from rag_eval.errors import InputError
from rag_eval.own_folder import is_own, kind_of

BUSY_S: Final = 10.0
"""How long a connection waits for another that writes."""


# What SQLite reads and writes beside a database; a journal that lies there is played back into it.
_BESIDE: Final = ("", "-journal", "-wal", "-shm")


def connected(path: Path) -> sqlite3.Connection:
    """A connection in which each statement is on its own, for any thread."""
    return sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)


def make_file(path: Path) -> None:
    """Folders and an empty file that their owner alone can read; SQLite's own follow the file.

    A file that is there is left closed: closing it would drop the locks that another connection
    of this process has on it.

    Raises
    ------
    InputError
        When something that is no file has the name, or the file of another user who may have put
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
    """Refuse what has been prepared for us, in the folder or by it.

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
                    f"{place} is a symbolic link to nothing: move it away, or name another file"
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


def bears_mark(connection: sqlite3.Connection, application_id: int) -> bool:
    """Whether a database is of the kind that a number stands for."""
    return number(connection, "PRAGMA application_id") == application_id


def is_taken(connection: sqlite3.Connection, application_id: int) -> bool:
    """Whether a database without our mark holds the tables of something else."""
    has_tables = number(connection, "SELECT count(*) FROM sqlite_master") > 0
    # Read again: another process may have made the tables, and set the mark, between the two.
    return has_tables and not bears_mark(connection, application_id)


def number(connection: sqlite3.Connection, statement: str) -> int:
    """The one whole number that a statement gives."""
    return int(connection.execute(statement).fetchone()[0])
