"""Database files of ours: what another user may have put in their place, and locks."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_eval.errors import InputError
from rag_eval.judge.cache import JudgeCache, JudgeCacheWarning
from rag_eval.judge.cache_file import clear_rows
from rag_eval.plumbing.sqlite_files import write_ahead
from rag_eval.runs.store import RunStore

NOBODY = 65534


def link_to_nothing(path: Path) -> None:
    """SQLite made the file that the link leads to."""
    path.parent.mkdir()
    path.symlink_to(path.with_name("made-by-us"))


def named_pipe(path: Path) -> None:
    path.parent.mkdir()
    os.mkfifo(path)


def linked_log(path: Path) -> None:
    path.parent.mkdir()
    (path.parent / "other").touch()
    path.with_name(f"{path.name}-wal").symlink_to("other")


def given_away(path: Path) -> None:
    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def folder_of_another(path: Path) -> None:
    path.parent.mkdir()
    given_away(path.parent)


def linked_folder_of_another(path: Path) -> None:
    path.parent.symlink_to(path.parent.parent)
    given_away(path.parent)


def journal_of_another(path: Path) -> None:
    """SQLite plays it back into the database."""
    path.parent.mkdir()
    path.parent.chmod(0o777)
    journal = path.with_name(f"{path.name}-journal")
    journal.touch()
    given_away(journal)


PREPARED: list[tuple[Callable[[Path], None], str]] = [
    (
        link_to_nothing,
        r"runs\.db is a dangling symbolic link: move it away, or name another file",
    ),
    (named_pipe, r"runs\.db is a named pipe and not a file: move it away"),
    (linked_log, r"runs\.db-wal is a symbolic link and not a file: move it away"),
]
if os.geteuid() == 0:
    # Only root can give a file away.
    other = rf"belongs to another user \(uid {NOBODY}\), and all users can write to"
    PREPARED += [
        (folder_of_another, f"folder {other}"),
        (linked_folder_of_another, f"folder {other}"),
        (journal_of_another, rf"runs\.db-journal {other}"),
    ]


@pytest.mark.parametrize(("prepare", "said"), PREPARED)
def test_what_others_have_prepared_is_not_used(
    tmp_path: Path, prepare: Callable[[Path], None], said: str
) -> None:
    tmp_path.chmod(0o1777)
    path = tmp_path / "folder" / "runs.db"
    prepare(path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match=said):
        RunStore(path)
    with pytest.warns(JudgeCacheWarning, match=said):
        JudgeCache(path).close()
    assert sorted(tmp_path.rglob("*")) == before


def test_files_and_links_of_ones_own_are_used_anywhere(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    (tmp_path / "own").mkdir()
    (tmp_path / "link").symlink_to("own")
    RunStore(tmp_path / "own" / "runs.db")
    (tmp_path / "runs.db").symlink_to("own/runs.db")
    assert RunStore(tmp_path / "link" / "runs.db").runs() == []
    assert RunStore(tmp_path / "runs.db", create=False).runs() == []


@pytest.mark.parametrize("mode", [0o755, 0o770])
def test_a_store_is_shared_where_not_everybody_can_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    """A container runs as root over the folder of a user, a team over that of a colleague."""
    path = tmp_path / "runs.db"
    RunStore(path)
    tmp_path.chmod(mode)
    if os.geteuid() == 0:
        given_away(path)
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY - 1)
    monkeypatch.setattr("rag_eval.plumbing.own_folder.tempfile.TemporaryFile", refused)
    assert RunStore(path).runs() == []


def refused(dir: Path) -> None:
    raise AssertionError("no file is made to find out")


class Failing:
    """A connection whose first statements fail."""

    def __init__(self, *messages: str) -> None:
        self.messages = list(messages)
        self.rowcount = 7

    def execute(self, statement: str) -> Failing:
        if not statement.startswith("DELETE") and self.messages:
            raise sqlite3.OperationalError(self.messages.pop(0))
        return self


def test_a_lock_is_waited_for_and_nothing_else_is(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = Failing("database is locked", "database table is locked")
    write_ahead(busy)
    assert busy.messages == []
    for wait, message in ((10, "disk I/O error"), (-1, "database is locked")):
        monkeypatch.setattr("rag_eval.plumbing.sqlite_files.BUSY_S", wait)
        with pytest.raises(sqlite3.OperationalError, match=message):
            write_ahead(Failing(message))


def test_replies_are_forgotten_though_another_process_reads() -> None:
    assert clear_rows(Failing("database is locked")) == 7
    with pytest.raises(sqlite3.OperationalError, match="disk is full"):
        clear_rows(Failing("database or disk is full"))
