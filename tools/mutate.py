"""Breaks the code in small ways, one at a time, and lists what no test notices.

    python tools/mutate.py [-n 60] [--seed 0] [--base main | --all] [--kernels] [PATH ...]

Each mutant lives in a copy of the tree. It meets the tests that ran its line in the last
`make coverage`, the quickest first, or else those of its room that name its module. A mutant of a
kernel is compiled and meets the tests that compare kernels with their definitions.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import coverage
import pytest
from kernel_tests import kernels_with, tests_of
from measure_coverage import DATA, DURATIONS, ROOT, test_of
from mutations import Mutant, mutants_of

MAX_SECONDS = 30.0  # of tests per mutant, as make coverage timed them
FILES_SECONDS = 900.0  # where whole files run
KERNEL_TESTS = ("differential", "conformance", "unit/kernels", "properties")
OUTCOMES = ("killed", "timed out", "survived", "no test", "no build")
LOADED = ("numpy", "scipy.stats", "scipy.optimize", "msgspec", "rich_click", "hypothesis")


def sources(paths: list[str], base: str | None, kernels: bool) -> list[Path]:
    """Modules, or sources of kernels; of a revision as its base those that changed since."""
    suffixes = (".pyx", ".pxd", ".h") if kernels else (".py",)
    places = [ROOT / name for name in paths or ["_native" if kernels else "rag_eval"]]
    found = sorted(
        path.relative_to(ROOT)
        for place in places
        for path in ([place] if place.is_file() else place.rglob("*"))
        if path.suffix in suffixes and "tables" not in path.stem
    )
    if base is None:
        return found
    changed = _git("diff", "--name-only", "--merge-base", base)
    return [path for path in found if path.as_posix() in changed]


def _git(*arguments: str) -> list[str]:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@cache
def _test_files() -> dict[str, str]:
    """The text of each file of tests."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
        for path in (ROOT / "tests").rglob("test_*.py")
    }


@cache
def _seconds() -> dict[str, float]:
    """How long each test function took; those that failed are not in it."""
    seconds: dict[str, float] = defaultdict(float)
    failed = set()
    for case in ElementTree.parse(DURATIONS).iter("testcase"):
        module, _, group = case.get("classname", "").partition(".Test")
        name = case.get("name", "").partition("[")[0]
        test = "::".join(
            [f"{module.replace('.', '/')}.py", *([f"Test{group}"] * bool(group)), name]
        )
        seconds[test] += float(case.get("time", 0))
        if any(part.tag in ("failure", "error") for part in case):
            failed.add(test)
    return {test: time for test, time in seconds.items() if test not in failed}


@cache
def _contexts(path: Path) -> dict[int, set[str]]:
    """The tests that ran each line of a module; "" is what ran on import."""
    data = coverage.CoverageData(str(DATA))
    data.read()
    found = data.contexts_by_lineno(str(ROOT / path))
    return {line: set(map(test_of, contexts)) for line, contexts in found.items()}


def _tests_that_ran(mutant: Mutant) -> list[str]:
    lines = _contexts(mutant.path)
    tests = lines.get(mutant.line, set())
    moved = (ROOT / mutant.path).stat().st_mtime > DATA.stat().st_mtime
    if moved or "" in tests:
        tests = set().union(*lines.values())
    total = 0.0
    chosen: list[str] = []
    for test in sorted(tests & _seconds().keys(), key=_seconds().__getitem__):
        file, _, name = test.partition("::")
        if f"def {name.rpartition('::')[2]}(" not in _test_files().get(file, ""):
            continue  # it went, or it comes from a base class
        total += _seconds()[test]
        if chosen and total > MAX_SECONDS:
            break
        chosen.append(test)
    return chosen


def _tests_of_room(mutant: Mutant) -> list[str]:
    """Files that name the module, or else all of its room; the module's own, then the smallest."""
    parts = mutant.path.with_suffix("").parts
    name, package = re.escape(".".join(parts)), re.escape(".".join(parts[:-1]))
    named = re.compile(rf"\b{name}\b|from {package} import .*\b{parts[-1]}\b")
    of_room = f"tests/unit/{parts[1]}/"
    unit = [path for path in _test_files() if path.startswith("tests/unit/")]
    own = f"{of_room}test_{parts[-1]}.py"
    naming = [path for path in unit if named.search(_test_files()[path])]
    tests = {own, *naming} & {*unit} if naming else [p for p in unit if p.startswith(of_room)]
    return sorted(tests, key=lambda path: (path != own, len(_test_files()[path])))


def _tests_of_kernels(mutant: Mutant) -> list[str]:
    """Those of the kernels that include it come first, as ``make kernel-test`` finds them."""
    own = {
        path.relative_to(ROOT).as_posix() for path in tests_of(kernels_with({ROOT / mutant.path}))
    }
    folders = tuple(f"tests/{folder}/" for folder in KERNEL_TESTS)
    others = {path for path in _test_files() if path.startswith(folders)} - own
    return [*sorted(own), *sorted(others)]


def tests_for(mutant: Mutant) -> list[str]:
    """The tests that may notice a mutant, the likeliest or quickest first."""
    if mutant.path.suffix != ".py":
        return _tests_of_kernels(mutant)
    return _tests_that_ran(mutant) if DATA.exists() else _tests_of_room(mutant)


def copied_tree(folder: Path, kernels: bool) -> Path:
    """Copy what git knows and the compiled kernels."""
    tree = folder / "tree"
    files = _git("ls-files", "--cached", "--others", "--exclude-standard")
    built = [path.relative_to(ROOT) for path in ROOT.glob("rag_eval/_native/*.so")]
    for name in {*map(Path, files), *built}:
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    if kernels:  # what is compiled for one run need not be fast
        settings = tree / "setup.py"
        settings.write_text(settings.read_text("utf-8").replace('"-O3"', '"-O1"'), "utf-8")
        if not build(tree):
            raise RuntimeError("the kernels of the copy do not compile")
    return tree


def build(tree: Path) -> bool:
    """Compile the kernels of a tree; False where they do not compile."""
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    # Objects of mutants stay in a folder that goes with the tree.
    cache = {"RAG_EVAL_KERNEL_CACHE": str(tree.parent / "kernels")}
    done = subprocess.run(
        command, cwd=tree, env={**os.environ, **cache}, capture_output=True, check=False
    )
    return done.returncode == 0


def exit_code(tests: list[str], tree: Path, timeout: float) -> int | None:
    """What pytest says in a tree, or None after the timeout; nothing it started is left."""
    # Forked: an interpreter that has loaded the packages of others saves half of the time.
    process = multiprocessing.get_context("fork").Process(target=_run_pytest, args=(tests, tree))
    process.start()
    process.join(timeout)
    over = process.exitcode
    process.kill()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # type: ignore[arg-type]  # it was started
    process.join()
    return over


def _run_pytest(tests: list[str], tree: Path) -> None:
    os.setsid()
    os.chdir(tree)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    sys.path[0] = os.environ["PYTHONPATH"] = str(tree)
    sys.dont_write_bytecode = False  # whatever the environment says: hundreds of runs follow
    options = ["-x", f"--basetemp={tree.parent / 'tmp'}"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what is loaded already
    sys.exit(int(pytest.main([*options, *tests])))


def outcome_of(mutant: Mutant, tree: Path, index: int) -> str:
    """The outcome of a mutant: one of OUTCOMES."""
    tests = tests_for(mutant)
    if not tests:
        return "no test"
    broken = tree / mutant.path
    broken.write_text(mutant.mutated, "utf-8")
    try:
        if mutant.path.suffix == ".py":
            # Python takes compiled code by size and second: each mutant has a second of its own.
            os.utime(broken, (index + 1, index + 1))
        elif not build(tree):
            return "no build"
        timeout = 60 + 4 * sum(_seconds()[test] for test in tests if "::" in test)
        code = exit_code(tests, tree, timeout if "::" in tests[0] else FILES_SECONDS)
    finally:
        broken.write_text(mutant.source, "utf-8")
    if code is None:
        return "timed out"
    if code == pytest.ExitCode.USAGE_ERROR and exit_code(["--collect-only", *tests], tree, 60) == 0:
        return "killed"  # it cannot be imported, so that pytest does not find the tests
    if code > pytest.ExitCode.INTERNAL_ERROR:
        raise RuntimeError(f"pytest ended with {code}: {' '.join(tests)}")
    return "killed" if code else "survived"


def main() -> None:
    """Draw mutants, try each, and print the survivors and a table by rooms."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="*", metavar="PATH", help="draw from these folders or files")
    parser.add_argument("-n", type=int, default=60, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--base", default="main", help="draw from files changed since (%(default)s)"
    )
    parser.add_argument("--all", action="store_true", help="draw from all files")
    parser.add_argument("--kernels", action="store_true", help="mutate _native; each is compiled")
    options = parser.parse_args()
    files = sources(options.paths, None if options.all else options.base, options.kernels)
    everything = [mutant for path in files for mutant in mutants_of(ROOT, path)]
    if not everything:
        parser.exit(message=f"nothing changed since {options.base}; --all draws from all files\n")
    drawn = random.Random(options.seed).sample(everything, min(options.n, len(everything)))
    title = f"{len(drawn)} of {len(everything)} mutants of {len(files)} files, seed {options.seed}"
    print(title, flush=True)
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    for name in LOADED:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as folder:
        tree = copied_tree(Path(folder), options.kernels)
        for index, mutant in enumerate(drawn):
            outcome = outcome_of(mutant, tree, index)
            rooms[Path(*mutant.path.parts[1:2]).stem][outcome] += 1
            diff = "" if outcome == "killed" else f"\n{mutant.diff}"
            print(f"{outcome}: {mutant.path}:{mutant.line}{diff}", flush=True)
    rooms["all"] = sum(rooms.values(), Counter())
    print("".join(f"{title:>11}" for title in OUTCOMES))
    for room, counts in rooms.items():
        print("".join(f"{counts[outcome]:>11}" for outcome in OUTCOMES) + f"  {room}")


if __name__ == "__main__":
    main()
