"""``rag-eval cache``: what is kept, and forgetting it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rag_eval.cli.program import program
from rag_eval.judge.cache import CachedReply, JudgeCache
from rag_eval.judge.replies import Usage


def cache(*arguments: object, **options: Any) -> Result:
    return CliRunner().invoke(program, ["cache", *map(str, arguments)], **options)


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    path = tmp_path / "judge.sqlite"
    with JudgeCache(path, clock=lambda: 1_800_000_000.0) as kept:
        for n in range(3):
            kept.put(b"%d" % n, CachedReply({"n": n}, Usage(1, 2), "m"))
    return path


def test_info_of_a_cache(filled: Path) -> None:
    done = cache("info", "--cache-file", filled)
    assert (done.exit_code, done.stderr) == (0, "")
    path, entries, times = done.stdout.splitlines()
    assert path == str(filled)
    assert entries.startswith("3 replies, 0.0 MB")
    assert times == "cached from 2027-01-15T08:00:00Z to 2027-01-15T08:00:00Z"


def test_info_as_json(filled: Path) -> None:
    found = json.loads(cache("info", "--cache-file", filled, "--format", "json").stdout)
    assert found.pop("bytes") >= 4096
    assert found == {
        "path": str(filled),
        "entries": 3,
        "oldest": "2027-01-15T08:00:00Z",
        "newest": "2027-01-15T08:00:00Z",
    }


def test_clearing_forgets_every_reply(filled: Path) -> None:
    done = cache("clear", "--cache-file", filled)
    assert (done.exit_code, done.stdout) == (0, f"deleted 3 replies in {filled}\n")
    assert "0 replies" in cache("info", "--cache-file", filled).stdout
    with JudgeCache(filled) as kept:
        assert kept.get(b"1") is None


def test_a_cache_that_is_not_there_is_empty_and_not_made(tmp_path: Path) -> None:
    path = tmp_path / "none.sqlite"
    assert cache("info", "--cache-file", path).stdout == f"{path}\n0 replies, 0.0 MB\n"
    assert cache("clear", "--cache-file", path).stdout == f"deleted 0 replies in {path}\n"
    assert not path.exists()


def test_the_environment_names_the_file(filled: Path, tmp_path: Path) -> None:
    named = {"RAG_EVAL_CACHE": str(filled)}
    assert cache("info", env=named).stdout.startswith(f"{filled}\n3 replies")
    standard = {"RAG_EVAL_CACHE": "", "XDG_CACHE_HOME": str(tmp_path)}
    path = tmp_path / "rag_eval" / "judge.sqlite"
    assert cache("info", env=standard).stdout.startswith(f"{path}\n0 replies")


@pytest.mark.parametrize("command", ["info", "clear"])
def test_a_file_of_something_else_is_left_alone(tmp_path: Path, command: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("buy milk\n" * 500)
    done = cache(command, "--cache-file", path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"error: the cache {path} cannot be used: file is not a database\n"
    assert path.read_text() == "buy milk\n" * 500


@pytest.mark.parametrize("command", ["info", "clear"])
def test_a_database_of_something_else_is_left_alone(tmp_path: Path, command: str) -> None:
    path = tmp_path / "other.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE replies (key BLOB)")
    connection.execute("INSERT INTO replies VALUES (1)")
    connection.commit()
    done = cache(command, "--cache-file", path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"error: {path} is a database, but not a judge cache; it is unchanged\n"
    assert connection.execute("SELECT count(*) FROM replies").fetchone() == (1,)
    connection.close()
