"""``rag-eval score`` where nothing more can be written: what is kept, and going on afterwards."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from rag_eval.cli.program import program
from tests.warm_processes import COMMAND, limited, run_warm

pytestmark = pytest.mark.usefixtures("unmeasured")

N_ROWS = 6000
FLAGS = ("--metrics", "faithfulness,answer_relevance", "--columns", "n", "--quiet", "--threads", 1)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "data.jsonl"
    with path.open("w") as file:
        for n in range(N_ROWS):
            row = {"question": f"what of {n}?", "answer": f"Fox {n}.", "contexts": [f"fox {n}"]}
            file.write(json.dumps({**row, "n": n}) + "\n")
    return path


def score(*arguments: object, code: str = COMMAND) -> subprocess.CompletedProcess[bytes]:
    return run_warm("score", *arguments, code=code)


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], bytes]:
    folder = tmp_path_factory.mktemp("whole")

    def bytes_of(suffix: str) -> bytes:
        path = folder / f"whole.{suffix}"
        if not path.exists():
            with_room(data, path)
        return path.read_bytes()

    return bytes_of


def with_room(data: Path, target: Path, *flags: str) -> None:
    done = CliRunner().invoke(program, ["score", *map(str, (data, target, *FLAGS, *flags))])
    assert (done.exit_code, done.stdout) == (0, ""), done.output


def only_line(done: subprocess.CompletedProcess[bytes]) -> str:
    assert (done.returncode, done.stdout) == (2, b""), done.stderr.decode()
    [line] = done.stderr.decode().splitlines()
    return line


def go_on(data: Path, target: Path, whole: bytes) -> None:
    with_room(data, target, "--resume")
    assert target.read_bytes() == whole
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("suffix", ["jsonl", "arrow"])
def test_full_while_the_parts_are_put_together(
    data: Path, tmp_path: Path, whole: Callable[[str], bytes], suffix: str
) -> None:
    """Each part has room, and all of them together have none."""
    target = tmp_path / f"scores.{suffix}"
    target.write_bytes(b"an older file")
    limit = limited(len(whole(suffix)) - 1)
    flags = (*FLAGS, "--checkpoint-rows", 1)
    line = only_line(score(data, target, *flags, code=limit))
    assert line.startswith("error: cannot write ")
    assert line.endswith(": free some space and continue with --resume")
    assert "File too large" in line
    assert f"rows are kept in {target}.parts" in line
    assert target.read_bytes() == b"an older file"
    go_on(data, target, whole(suffix))


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_full_within_a_part(
    data: Path, tmp_path: Path, whole: Callable[[str], bytes], suffix: str
) -> None:
    target = tmp_path / f"scores.{suffix}"
    room = len(whole(suffix)) // 2
    line = only_line(score(data, target, *FLAGS, code=limited(room)))
    assert line.startswith("error: cannot write ")
    assert "File too large" in line
    # Nothing was kept, and nothing lies about.
    assert "--resume" not in line
    assert list(tmp_path.iterdir()) == []
    go_on(data, target, whole(suffix))


def test_full_for_the_journal(data: Path, tmp_path: Path, whole: Callable[[str], bytes]) -> None:
    target = tmp_path / "scores.jsonl"
    line = only_line(score(data, target, *FLAGS, code=limited(100)))
    assert line.startswith("error: cannot write ")
    assert list(tmp_path.iterdir()) == []
    go_on(data, target, whole("jsonl"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_full_standard_output(data: Path, form: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = run_warm("score", data, "-", "--format", form, "--quiet", stdout=full)
    assert (done.returncode, done.stderr) == (2, b"error: No space left on device\n")


def test_a_folder_that_is_not_there(data: Path, tmp_path: Path) -> None:
    line = only_line(score(data, tmp_path / "nowhere" / "s.jsonl", *FLAGS))
    assert line == (
        f"error: cannot write {tmp_path}/nowhere/s.jsonl: the folder '{tmp_path}/nowhere' does not "
        "exist; create it first"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(data: Path, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    line = only_line(score(data, tmp_path / "locked" / "s.jsonl", *FLAGS))
    assert line == f"error: cannot write {tmp_path}/locked/s.jsonl.parts: Permission denied"


def test_a_target_that_is_a_folder(data: Path, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").mkdir()
    line = only_line(score(data, tmp_path / "s.jsonl", *FLAGS))
    assert line == f"error: cannot write {tmp_path}/s.jsonl: it is a folder"
