"""Ctrl-C while a row is scored that takes minutes: it ends, and what came before it is kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rag_eval.outputs.journal import read_journal
from tests.warm_processes import WarmProcess

ROOT = Path(__file__).parents[2]
# The row takes longer than this by far; what ends within it was ended.
TIMEOUT_S = 100
SMALL = {"question": "a?", "answer": "A b.", "contexts": ["a b c d " * 100]}
N_SMALL = 4000
# Each sentence shares its words with each context: nothing can be passed over.
N_SHARED = 400_000
SHARED = {
    "id": "giant",
    "question": "a?",
    "answer": "A. " * N_SHARED,
    "contexts": ["a"] * N_SHARED,
}

# The child says when a kernel has begun, so that the signal comes while it runs.
ANNOUNCED = """
import sys, threading
from rag_eval._native import grounded_block, overlap_block, string_similarity

taken = threading.Event()
taken.set()

def announcing(kernel):
    def call(*arguments):
        columns = [part for part in arguments if hasattr(part, "dtype")]
        if max(map(len, columns)) > {least}:
            taken.wait()
            print("begun", file=sys.stderr, flush=True)
        return kernel(*arguments)
    return call

for module, names in {
    overlap_block: ["score_block", "explained_block"],
    grounded_block: ["score_block", "explained_block"],
    string_similarity: ["align"],
}.items():
    for name in names:
        setattr(module, name, announcing(getattr(module, name)))
"""


def interrupted(
    program: str, *arguments: str, number: signal.Signals = signal.SIGINT, least: int = 100_000
) -> tuple[int, str, str]:
    """Exit code and output of a program that gets a signal once it says that it has begun."""
    code = ANNOUNCED.replace("{least}", str(least)) + program
    child = WarmProcess(*arguments, code=code, text=True)
    try:
        assert child.stderr
        before = []
        for line in child.stderr:
            if line == "begun\n":
                break
            before.append(line)
        child.send_signal(number)
        out, err = child.communicate(timeout=TIMEOUT_S)
    finally:
        child.kill()
    return child.wait(), out, "".join(before) + err


PYTHON = f"""
import time, rag_eval
n = {N_SHARED}
shared = {{"question": "a?", "answer": "A. " * n, "contexts": ["a"] * n}}
words = " ".join(f"q{{i}} a" for i in range(n // 8))
truths = {{
    "question": words, "answer": "a", "contexts": ["a"] * (n // 8),
    "ground_truth": [f"w{{i}} a" for i in range(n // 8)],
}}
claims = {{"question": "a?", "answer": "A b! " * n, "contexts": ["a b " * n]}}
try:
    {{call}}
except KeyboardInterrupt:
    print("interrupted")
"""
CALLS = {
    "one sample": "rag_eval.evaluate(shared)",
    "one thread": "rag_eval.evaluate_batch([shared], threads=1)",
    "two threads": "rag_eval.evaluate_batch([shared] * 3, threads=2)",
    "grounded claims": "rag_eval.evaluate(claims, profile='grounded')",
    "grounded truths": "rag_eval.evaluate(truths, ['contextPrecision'], profile='grounded')",
    "event loop": "import asyncio; asyncio.run(rag_eval.aevaluate_batch([shared]))",
    "alignment": "from rag_eval.kernels.similarity import levenshtein; "
    "levenshtein('ab' * 180_000, 'c' * 360_000)",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_ctrl_c_ends_a_giant_row(call: str) -> None:
    """It went on to the row's end, minutes later."""
    code, out, err = interrupted(PYTHON.replace("{call}", call))
    assert (code, out) == (0, "interrupted\n"), err


def test_a_handler_of_the_caller_ends_it_as_well() -> None:
    program = """
import signal
class Ended(Exception): pass
def handler(number, frame): raise Ended
signal.signal(signal.SIGTERM, handler)
""" + PYTHON.replace("{call}", "rag_eval.evaluate(shared)").replace("KeyboardInterrupt", "Ended")
    code, out, err = interrupted(program, number=signal.SIGTERM)
    assert (code, out) == (0, "interrupted\n"), err


# The giant is announced once a block before it was taken up: sooner there is nothing to keep.
COMMAND = """
from rag_eval.jobs import stream as streaming
from rag_eval.cli import main

count = streaming.RowStream.add

def counted(*arguments):
    count(*arguments)
    taken.set()

streaming.RowStream.add = counted
taken.clear()
main()
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("command", ["run", "score"])
def test_rows_before_the_giant_are_kept(command: str, threads: int, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    # More than fit into the block of the giant.
    lines = [json.dumps({**SMALL, "id": f"s{i}"}) for i in range(N_SMALL)]
    rows.write_text("\n".join([*lines, json.dumps(SHARED)]) + "\n")
    results = tmp_path / "results.jsonl"
    options = ["--output", str(results)] if command == "run" else [str(results)]
    code, out, err = interrupted(
        COMMAND,
        command,
        str(rows),
        *options,
        "--threads",
        str(threads),
        least=1_100_000,
    )
    assert code == 130, (out, err)
    if command == "run":
        written = (tmp_path / "results.partial.jsonl").read_text()
        kept = sum('"question"' in line for line in written.splitlines())
    else:
        records = read_journal(tmp_path / "results.jsonl.parts" / "journal").records
        kept = sum(record["rows"] for record in records[1:])
    assert 0 < kept <= N_SMALL, (out, err)


def test_an_interrupt_in_code_that_python_makes_from_text_has_the_usual_exit_code(
    tmp_path: Path,
) -> None:
    (tmp_path / "hasty.py").write_text('exec("raise KeyboardInterrupt")\n')
    ended = subprocess.run(
        [sys.executable, "-m", "rag_eval", "--import", "hasty", "metrics"],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}"},
    )
    assert ended.returncode == 130, ended.stderr.decode()
