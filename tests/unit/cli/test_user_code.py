"""Modules and functions that the command line names: found here or installed, never by a path."""

from __future__ import annotations

import os.path
import sys
from pathlib import Path

import pytest

from rag_eval.cli.user_code import imported, imported_function
from rag_eval.errors import InputError
from tests.tables import every_row


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the command runs in; a module beside it must not be reached."""
    here = tmp_path / "here"
    (here / "inner").mkdir(parents=True)
    for place in (tmp_path / "outside.py", here / "inner" / "module.py"):
        place.write_text("raise SystemExit('it ran')\n", encoding="utf-8")
    (here / "fine_module.py").write_text("def run(case):\n    return case\n", encoding="utf-8")
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "fine_module", raising=False)
    return here


@every_row(
    "name",
    [
        "../outside",
        "..outside",
        ".outside",
        "inner/module",
        "inner/../../outside",
        "..\\outside",
        "",
    ],
)
def test_a_path_is_no_module(folder: Path, name: str) -> None:
    with pytest.raises(InputError, match="--import: a module is named package"):
        imported(name, "--import")
    with pytest.raises(InputError, match="--import: a module is named package"):
        imported(str(folder / "fine_module"), "--import")


@every_row("name", ["a\0b", "\ud800", "a b", "x" * 1000, "no_such_module_here"])
def test_a_name_of_nothing_is_an_error(folder: Path, name: str) -> None:
    with pytest.raises(InputError, match="found no such module here"):
        imported(name, "--import")
    assert folder.exists()


@every_row(
    ("name", "message"),
    [
        ("os", "expected MODULE:FUNCTION"),
        ("os:", "expected MODULE:FUNCTION"),
        (":run", "expected MODULE:FUNCTION"),
        ("../outside:run", "not by a path"),
        ("os:no_such_function", "os has no 'no_such_function'"),
        ("os:.", "os has no ''"),
        ("os:environ", "is not a function"),
        ("fine_module:run:run", "has no 'run:run'"),
    ],
)
def test_what_is_no_function_is_an_error(folder: Path, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported_function(name, "--runner")
    assert folder.exists()


def test_functions_are_found_here_and_among_the_installed(folder: Path) -> None:
    assert imported_function("fine_module:run", "--runner")("case") == "case"
    assert imported_function("os:path.join", "--runner") is os.path.join
    assert str(folder) in sys.path
