"""The rooms of the package: who may import whom, and where third parties and kernels are let in."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from rag_eval.results.faces import FACES

PACKAGE = Path(__file__).parents[2] / "rag_eval"

# Bottom to top: a room imports from rooms above it in this list, and from no other. Rooms of one
# line know nothing of one another.
ROOMS: tuple[tuple[str, ...], ...] = (
    ("errors", "_version"),  # what is raised on purpose
    ("plumbing",),  # files, JSON, signals: knows nothing of RAG
    ("samples",),  # the words of every signature
    ("metrics",),  # what every metric is
    ("kernels",),  # the door to the compiled code
    ("stats",),  # arrays to numbers with their uncertainty
    ("text",),  # the public primitives
    ("inputs",),  # anything to blocks of rows
    ("retrieval",),  # rankings to measures
    ("judge",),  # prompts, calls and replies of a model that grades
    ("adapters",),  # judges on vendors' SDKs
    ("scorers",),  # the scorers of other tools
    ("options",),  # what a call asks for
    ("results",),  # what comes out, as data
    ("calibration",),  # scores and labels to thresholds and probabilities
    ("scoring",),  # plan and blocks to results
    ("outputs",),  # scored blocks to files of rows
    ("runs",),  # columns of scores, the store, baselines
    ("comparing", "planning"),  # two runs to what changed; what runs can show
    ("gating",),  # limits and policies to a verdict
    ("labels",),  # people's labels beside scores
    ("views",),  # what people look at, without markup
    ("jobs",),  # whole jobs in constant memory
    ("golden",),  # golden datasets
    ("reports",),  # text, HTML, JUnit, notebooks
    ("distributed", "estimators", "own_metrics", "run", "testing", "trajectory"),  # doors
    ("pytest_plugin", "integrations", "cli"),  # parse, call one public function, print
    ("__main__",),
)
LEVELS = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}

# Rooms whose modules import numpy when they are imported. It takes longer than all the rest, so the
# others, which are read before anything is scored, import it where they use it.
NUMPY_ROOMS = {
    *("kernels", "stats", "text", "inputs", "retrieval", "results", "calibration", "scoring"),
    *("outputs", "runs", "comparing", "planning", "gating", "labels", "views", "jobs", "reports"),
    *("estimators",),
}
NUMPY_MODULES = {
    "adapters.onnx": "arrays that a model takes and gives",
    "judge.bias_checks": "columns of differences",
    "judge.length_correlation": "columns of scores and lengths",
    "options.cascade": "compares and maps whole columns",
    "plumbing.repeated_ids": "a table of 64-bit hashes",
}
# A class inherits when it is made: who imports its module has asked for the package.
INHERITED = {
    "estimators": {"sklearn"},
    "integrations.deepeval": {"deepeval"},
    "integrations.inspect_ai": {"inspect_ai"},
    "integrations.langchain": {"langchain", "langchain_classic"},
    "integrations.llamaindex": {"llama_index"},
    "reports.plot": {"matplotlib"},
}
# Only loaded by the command, and by pytest.
COMMAND_LINE = {"click", "rich", "rich_click"}
OF_ROOMS = {"cli": COMMAND_LINE, "reports": COMMAND_LINE, "pytest_plugin": {"pytest"}}

NATIVE_DOORS = {
    "": "a broken build fails at once",
    "inputs.arrow.arrays": "opens streams and arrays of any Arrow library",
    "inputs.arrow.cells": "checks each place of a column",
    "inputs.arrow.texts": "texts gathered and checked before any kernel sees them",
    "inputs.csv_blocks": "records scanned before any cell is decoded",
    "inputs.csv_records": "records cut by their marks",
    "inputs.json_blocks": "lines scanned before any row is decoded",
    "inputs.scanned_blocks": "texts that were scanned laid end to end",
    "kernels.exact_moments": "sums without rounding",
    "kernels.scoring": "checks, allocates, calls",
    "kernels.similarity": "pairs of texts",
    "kernels.verdicts": "limits and weights as arrays, checks, allocates, calls",
    "results.row_lines": "words of result files, with numbers in their places",
    "retrieval.kernels": "rankings of many queries",
    "stats.resampling": "sums of resampled rows",
    "text": "the primitives of one text",
}


class Import(NamedTuple):
    target: str  # a module of ours without "rag_eval.", or a third party's top-level name
    line: int
    is_ours: bool
    at_once: bool  # when the module is imported; not in a function, nor for type checkers alone


@cache
def modules() -> dict[str, Path]:
    """Every module by its name below ``rag_eval``; the root's own is empty."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return {name: path for name, path in found.items() if name != "_native"}


def imports(tree: ast.AST, at_once: bool = True) -> Iterator[Import]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from imports(node, False)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield one_import(alias.name, "", node.lineno, at_once)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute"
            for alias in node.names:
                yield one_import(node.module or "", alias.name, node.lineno, at_once)
        else:
            inside = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            yield from imports(node, at_once and not inside)


def one_import(module: str, name: str, line: int, at_once: bool) -> Import:
    top, _, below = module.partition(".")
    if top != "rag_eval":
        return Import(top, line, False, at_once)
    longer = f"{below}.{name}".strip(".")
    return Import(longer if longer in modules() else below, line, True, at_once)


@cache
def imports_of(name: str) -> list[Import]:
    return list(imports(ast.parse(modules()[name].read_text(encoding="utf-8"))))


def room(name: str) -> str:
    return name.split(".")[0]


def is_native(found: Import) -> bool:
    return found.is_ours and room(found.target) == "_native"


def test_the_package_is_its_rooms_and_few_modules() -> None:
    assert {room(name) for name in modules()} - {""} == LEVELS.keys()
    assert len(list(PACKAGE.glob("*.py"))) <= 12


def test_rooms_import_rooms_below_them_only() -> None:
    """Imports in functions and for types count: a room can be read without those above it."""
    wrong = [
        f"{name}, line {found.line}: {found.target}"
        for name in modules()
        if name
        for found in imports_of(name)
        if found.is_ours and not is_native(found) and room(found.target) != room(name)
        and LEVELS.get(room(found.target), len(ROOMS)) >= LEVELS[room(name)]
    ]  # fmt: skip
    assert wrong == []


def test_modules_of_a_room_import_one_another_without_circles() -> None:
    wanted = {
        name: {found.target for found in imports_of(name) if found.is_ours and found.at_once}
        for name in modules()
    }
    done: set[str] = set()
    while ready := {name for name, targets in wanted.items() if targets <= done | {name}} - done:
        done |= ready
        for name in ready:
            wanted[name] = set()
        done |= {t for targets in wanted.values() for t in targets if t.startswith("_native")}
    assert sorted(wanted.keys() - done) == []


def test_faces_of_results_are_functions_of_higher_rooms() -> None:
    """They are texts, looked up when used: a wrong one would show only then."""
    for face, target in FACES.items():
        module, _, function = target.partition(":")
        assert callable(getattr(import_module(module), function)), face
        assert LEVELS[room(module.removeprefix("rag_eval."))] > LEVELS["results"], face


def test_the_root_only_looks_its_names_up() -> None:
    """Modules are imported on first use, or ``import rag_eval`` would load numpy."""
    ours = {found.target for found in imports_of("") if found.is_ours and found.at_once}
    assert ours == {"_native", "_version"}


def test_only_the_doors_import_kernels() -> None:
    doors = {name for name in modules() for found in imports_of(name) if is_native(found)}
    assert doors == NATIVE_DOORS.keys()


def test_third_parties_are_imported_where_they_may_be() -> None:
    wrong = []
    for name in modules():
        allowed = {"msgspec", *INHERITED.get(name, ()), *OF_ROOMS.get(room(name), ())}
        if room(name) in NUMPY_ROOMS or name in NUMPY_MODULES:
            allowed.add("numpy")
        wrong += [
            f"{name}, line {found.line}: import {found.target} inside a function"
            for found in imports_of(name)
            if found.at_once
            and not found.is_ours
            and found.target not in sys.stdlib_module_names
            and found.target not in allowed
        ]
    assert wrong == []
