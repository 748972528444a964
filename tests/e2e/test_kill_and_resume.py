"""``rag-eval score`` ended in the middle, by SIGKILL, Ctrl-C or SIGTERM: going on with it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
N_ROWS = 5000  # five blocks, and so as many parts
SUFFIXES = ["jsonl", "csv", "jsonl.gz", "parquet", "arrow"]
# Moments of a run: so many records after the first in the journal, or the end being put together.
ASSEMBLED = -1
MOMENTS = [0, 2, 4, ASSEMBLED]
FLAGS = ("--columns", "n,question,contexts,tags", "--checkpoint-rows", 1, "--threads", 2, "--quiet")


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
    return path


def score(*arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "rag_eval", "score", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def finish(*arguments: object) -> bytes:
    running = score(*arguments)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (0, b""), err.decode()
    return err


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], bytes]:
    """The bytes of an uninterrupted run, made with one thread and one part."""
    folder = tmp_path_factory.mktemp("whole")

    def bytes_of(suffix: str) -> bytes:
        # The name is part of nothing: all targets of a kind have the same bytes.
        path = folder / f"whole.{suffix}"
        if not path.exists():
            finish(data, path, *FLAGS[:2], "--threads", 1, "--quiet")
        return path.read_bytes()

    return bytes_of


def n_parts(target: Path) -> int:
    """Parts that the journal speaks of; -1 where there is no journal."""
    try:
        return (target.with_name(f"{target.name}.parts") / "journal").read_bytes().count(b"\n") - 1
    except FileNotFoundError:
        return -1


def reached(target: Path, moment: int) -> bool:
    if moment == ASSEMBLED:
        return (target.with_name(f"{target.name}.parts") / "assembled").exists()
    return n_parts(target) >= moment


def wait_for(running: subprocess.Popen[bytes], is_there: Callable[[], bool]) -> bool:
    """Whether it came before the process ended."""
    while running.poll() is None:
        if is_there():
            return True
        time.sleep(0.002)
    return False


def killed(target: Path, moment: int, delay: float, arguments: tuple[object, ...]) -> bool:
    """Run until some time after a moment; whether it was still running then."""
    running = score(*arguments)
    if wait_for(running, lambda: reached(target, moment)):
        time.sleep(delay)
    running.kill()
    _, err = running.communicate(timeout=60)
    assert running.returncode in (-signal.SIGKILL, 0), err.decode()
    return running.returncode != 0


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_killed_at_any_moment_the_bytes_are_those_of_a_run_that_was_not(
    data: Path, tmp_path: Path, whole: Callable[[str], bytes], suffix: str
) -> None:
    choose = random.Random(suffix)
    target = tmp_path / f"scores.{suffix}"
    arguments = (data, target, *FLAGS, "--resume")
    n_kept, n_killed = -1, 0
    for moment in MOMENTS:
        n_killed += killed(target, moment, choose.uniform(0, 0.03), arguments)
        # What is kept is never lost again, and the target is there as a whole or not at all.
        if target.exists():
            assert target.read_bytes() == whole(suffix)
        else:
            assert n_parts(target) >= n_kept
            n_kept = n_parts(target)
    assert n_killed >= 2
    finish(*arguments)
    assert target.read_bytes() == whole(suffix)
    assert list(tmp_path.iterdir()) == [target]


# -------------------------------------------------------------------------- Ctrl-C and SIGTERM


@pytest.mark.parametrize("n_signals", [1, 2])
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
    n_signals: int,
) -> None:
    target = tmp_path / f"scores.{suffix}"
    running = score(data, target, *FLAGS[:-1])
    assert wait_for(running, lambda: n_parts(target) >= 2)
    for _ in range(n_signals):
        running.send_signal(number)
        time.sleep(0.01)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (code, b""), err.decode()
    text = " ".join(err.decode().split())
    assert f"kept in {target}.parts" in text
    assert "--resume" in text
    assert "Traceback" not in text
    assert "nothing was written" not in text
    assert not target.exists()
    finish(data, target, *FLAGS, "--resume")
    assert target.read_bytes() == whole(suffix)
    assert list(tmp_path.iterdir()) == [target]
