"""``rag-eval score`` ended in the middle, by SIGKILL, Ctrl-C or SIGTERM: going on with it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from rag_eval.cli.program import program
from tests.warm_processes import run_warm

ROOT = Path(__file__).parents[2]
OTHER_SUFFIXES = ["csv", "jsonl.gz", "parquet", "arrow"]
N_ROWS = 5000  # five blocks, six where a run goes on; so many parts
FLAGS = ("--columns", "n,question,contexts,tags", "--checkpoint-rows", 1, "--threads", 2)
# Imported by the command, which then sends itself a signal when it is about to do what is named:
# "2 open assembled" is SIGINT before that file is opened, "2 *700" before the
# 700th step of any kind.
SIGNALS = """
import os, signal, sys

steps = [*os.environ["SIGNALS"].split(","), ""]
n_seen = 0

def look(event, arguments):
    global n_seen
    n_seen += 1
    names = [os.path.basename(place) for place in arguments[:1] if isinstance(place, str)]
    if steps[0].partition(" ")[2] in (" ".join([event, *names]), f"*{n_seen}"):
        signal.raise_signal(int(steps.pop(0).partition(" ")[0]))

sys.addaudithook(look)
"""

# Before what a run is killed, one after another, and the parts that are kept by then.
KILLS = {
    "fcntl.flock": -1,  # the journal is there, and empty
    "os.rename 000000.scores.tmp": 0,
    "open 000001.rows.tmp": 1,
    "os.rename 000003.rows.tmp": 3,
    "open assembled": 6,
    "os.rename assembled": 6,
    "os.remove 000002.rows": -1,  # the target is there, and the journal empty
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "data.jsonl"
    choose = random.Random(5)
    words = ["red", "fox", "sleeps", "seven", "hills", "ünder", "the", "warm", "sun", "“quoted”"]

    def text() -> str:
        return " ".join(choose.choices(words, k=choose.randrange(12))) + "."

    with path.open("w", encoding="utf-8") as file:
        for n in range(N_ROWS):
            row = {
                "question": text(),
                "answer": text(),
                "contexts": [text() for _ in range(choose.randrange(4))],
                "n": n,
                "tags": {"even": n % 2 == 0},
            }
            if choose.random() < 0.7:
                row["id"] = f"q-{n}"
            if choose.random() < 0.5:
                row["ground_truth"] = text()
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    (path.parent / "signals_to_itself.py").write_text(SIGNALS)
    return path


def scored(
    data: Path, target: Path, *flags: object, signals: str
) -> subprocess.CompletedProcess[bytes]:
    """A process that gets signals at these steps."""
    command = ["--import", "signals_to_itself", "score", data, target, *FLAGS, *flags]
    return run_warm(*command, env={"PYTHONPATH": f"{ROOT}:{data.parent}", "SIGNALS": signals})


def scored_by_a_new_process(
    data: Path, target: Path, signals: str
) -> subprocess.CompletedProcess[bytes]:
    """The same, where steps of Python's own start and imports are meant as well."""
    command = ["--import", "signals_to_itself", "score", data, target, *FLAGS]
    return subprocess.run(
        [sys.executable, "-m", "rag_eval", *map(str, command)],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{data.parent}", "SIGNALS": signals},
        check=False,
    )


def finish(*arguments: object) -> None:
    done = CliRunner().invoke(program, ["score", *map(str, arguments)])
    assert (done.exit_code, done.stdout) == (0, ""), done.output


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], bytes]:
    """The bytes of an uninterrupted run, made with one thread and one part."""
    folder = tmp_path_factory.mktemp("whole")

    def bytes_of(suffix: str) -> bytes:
        # The name is part of nothing: all targets of a kind have the same bytes.
        path = folder / f"whole.{suffix}"
        if not path.exists():
            finish(data, path, *FLAGS[:2], "--threads", 1)
        return path.read_bytes()

    return bytes_of


def n_parts(target: Path) -> int:
    """Parts that the journal speaks of; -1 if there is none, or nothing in it."""
    try:
        return (target.with_name(f"{target.name}.parts") / "journal").read_bytes().count(b"\n") - 1
    except FileNotFoundError:
        return -1


def finish_and_compare(data: Path, target: Path, whole: bytes) -> None:
    finish(data, target, *FLAGS, "--resume")
    assert target.read_bytes() == whole
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize(
    "suffix",
    ["jsonl", *(pytest.param(s, marks=pytest.mark.deep) for s in OTHER_SUFFIXES)],
)
def test_killed_at_any_moment_the_bytes_are_those_of_a_run_that_was_not(
    data: Path, tmp_path: Path, whole: Callable[[str], bytes], suffix: str
) -> None:
    target = tmp_path / f"scores.{suffix}"
    for step, n_kept in KILLS.items():
        done = scored(data, target, "--resume", signals=f"9 {step}")
        assert done.returncode == -signal.SIGKILL, (step, done.stderr.decode())
        assert n_parts(target) == n_kept, step
        # The target is there as a whole or not at all.
        assert target.exists() == step.startswith("os.remove")
        if target.exists():
            assert target.read_bytes() == whole(suffix)
    finish_and_compare(data, target, whole(suffix))


# -------------------------------------------------------------------------- Ctrl-C and SIGTERM


@pytest.mark.parametrize(
    ("number", "code", "suffix"),
    [(signal.SIGINT, 130, "jsonl"), (signal.SIGTERM, 143, "parquet")],
)
def test_an_interrupt_keeps_what_was_scored(
    data: Path,
    tmp_path: Path,
    whole: Callable[[str], bytes],
    number: signal.Signals,
    code: int,
    suffix: str,
) -> None:
    target = tmp_path / f"scores.{suffix}"
    # Once, and once more while it is summed up what there is.
    for again in ("", f",{number:d} open 000000.scores"):
        signals = f"{number:d} open 000002.rows.tmp{again}"
        done = scored(data, target, signals=signals)
        check_interrupted(done, target, code, signals)
        assert n_parts(target) == 3  # the part that was being written is finished
        finish_and_compare(data, target, whole(suffix))
        target.unlink()


def check_interrupted(
    done: subprocess.CompletedProcess[bytes], target: Path, code: int, signals: str
) -> None:
    err = " ".join(done.stderr.decode().split())
    assert (done.returncode, done.stdout) == (code, b""), (signals, err)
    assert f"kept in {target}.parts" in err, signals
    assert "--resume" in err
    assert "Traceback" not in err
    assert "nothing was written" not in err
    assert not target.exists()


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(30))
def test_an_interrupt_at_any_step_is_told_and_loses_nothing(
    data: Path, tmp_path: Path, whole: Callable[[str], bytes], seed: int
) -> None:
    """Also where it comes while Python imports or makes code from text."""
    choose = random.Random(seed)
    number, code = choose.choice([(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    steps = sorted(choose.sample(range(1, 3600), choose.choice([1, 2])))
    target = tmp_path / "scores.jsonl"
    signals = ",".join(f"{number:d} *{step}" for step in steps)
    done = scored_by_a_new_process(data, target, signals)
    assert done.returncode in (code, 0), done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
    if done.returncode:
        assert b"interrupted" in done.stderr
        finish_and_compare(data, target, whole("jsonl"))
    assert target.read_bytes() == whole("jsonl")
