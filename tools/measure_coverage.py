"""Which lines the suite runs, by rooms.  Out: build/coverage, which tools/mutate.py reads.

    python tools/measure_coverage.py [ARGUMENTS OF PYTEST ...]

Workers and the processes that tests start are measured too, but for those that may not write
(the fixture ``unmeasured``). Every line knows the tests that ran it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import coverage
import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "rag_eval"
SETTINGS = ROOT / "pyproject.toml"
FOLDER = ROOT / "build" / "coverage"
DATA = FOLDER / "data"
DURATIONS = FOLDER / "durations.xml"
ENOUGH = 90  # percent; modules below it are listed
TRACED = 4  # times as long as without; most tests take twice as long


def test_of(context: str) -> str:
    """The test function of a context, without phase and parameters."""
    return context.rpartition("|")[2].partition(" (")[0].partition("[")[0]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave room for tracing in the guards against tests that hang."""
    for item in items:
        guard = item.get_closest_marker("timeout")
        seconds = float(guard.args[0] if guard else item.config.getini("timeout"))
        item.add_marker(pytest.mark.timeout(TRACED * seconds), append=False)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Name the lines that run from here on, those of fixtures included."""
    if measuring := coverage.Coverage.current():
        measuring.switch_context(test_of(item.nodeid))


def pytest_sessionfinish() -> None:
    """Save what a worker knows: xdist waits two seconds for its end, and then kills it."""
    if measuring := coverage.Coverage.current():
        measuring.save()


def run_suite(arguments: list[str]) -> int:
    """Run pytest under coverage, and give its exit code."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    # Coverage starts with the interpreter: pytest loads the package as a plugin before any other.
    measured = {"COVERAGE_PROCESS_START": str(SETTINGS), "COVERAGE_FILE": str(DATA)}
    options = ["-p", "tools.measure_coverage", f"--junitxml={DURATIONS}", *arguments]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=ROOT,
        env={**os.environ, **measured, "PYTHONPATH": path},
        check=False,
    )
    return done.returncode


def print_rooms() -> None:
    """Print how much of each room ran, and the modules of which too little did."""
    measured = coverage.Coverage(data_file=str(DATA), config_file=str(SETTINGS))
    measured.combine()
    measured.save()
    rooms: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    low = []
    for path in sorted(PACKAGE.rglob("*.py")):
        _, statements, _, missing, lines = measured.analysis2(str(path))
        name = path.relative_to(PACKAGE)
        room = rooms[name.parts[0]]
        room[0] += len(statements)
        room[1] += len(missing)
        if len(missing) * 100 > len(statements) * (100 - ENOUGH):
            low.append(f"{_share(len(statements), len(missing))}  {name}: {lines}")
    print(f"\n{'room':<18}{'statements':>10}  {'run':>7}")
    rooms["all"] = [sum(column) for column in zip(*rooms.values(), strict=True)]
    for name_of_room, (n_lines, n_missing) in rooms.items():
        print(f"{name_of_room:<18}{n_lines:>10}  {_share(n_lines, n_missing)}")
    print(f"\n{len(low)} modules below {ENOUGH} %", *low, sep="\n")


def _share(n_lines: int, n_missing: int) -> str:
    return f"{100 - 100 * n_missing / max(n_lines, 1):5.1f} %"


if __name__ == "__main__":
    code = run_suite(sys.argv[1:])
    print_rooms()
    sys.exit(code)
