"""Decisions at size: ``compare``, ``gate``, ``estimate`` and ``run --store`` on whole files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks import comparing
from benchmarks.bench_overlap import note, run_rounds

pytest.importorskip("pyarrow")

ROUNDS: Final = 3
_ROOT: Final = Path(__file__).resolve().parents[1]


def _elsewhere(module: str) -> dict[str, Any]:
    """Figures of a script, in a process that has imported next to nothing."""
    command = [sys.executable, "-m", f"benchmarks.{module}", "--json", "--rounds", str(ROUNDS)]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True)
    if not done.stdout.strip():
        raise RuntimeError(done.stderr[-2000:])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_decisions_compare(benchmark: BenchmarkFixture) -> None:
    found: dict[str, Any] = run_rounds(benchmark, lambda: _elsewhere("comparing"), 1)
    note(benchmark, "decisions_compare", load=os.getloadavg(), **found)
    assert not list(comparing.complaints(found["runs"]))


def test_decisions_of_other_commands(benchmark: BenchmarkFixture) -> None:
    found: dict[str, Any] = run_rounds(benchmark, lambda: _elsewhere("deciding"), 1)
    note(benchmark, "decisions_others", **found)
