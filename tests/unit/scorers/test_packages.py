"""Packages of the tools: their names are theirs, and cost nothing before they are used."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest

from tests.tables import every_row

TOOLS = ("hazel", "mastra", "omk", "regtrace")


def package(tool: str) -> ModuleType:
    return importlib.import_module(f"rag_eval.scorers.{tool}")


@every_row("tool", TOOLS)
def test_every_name_of_a_package_is_there(tool: str) -> None:
    named = package(tool)
    for name in named.__all__:
        assert not inspect.ismodule(getattr(named, name)), name


@every_row("tool", TOOLS)
def test_no_name_hides_a_module(tool: str) -> None:
    """``rag_eval.scorers.omk.grade`` must not depend on what was imported before."""
    named = package(tool)
    for name in named.__all__:
        assert importlib.util.find_spec(f"{named.__name__}.{name}") is None, name


@every_row("tool", TOOLS)
def test_another_name_is_an_attribute_error(tool: str) -> None:
    with pytest.raises(
        AttributeError, match=f"'rag_eval.scorers.{tool}' has no attribute 'nothing'"
    ):
        package(tool).nothing  # noqa: B018


@every_row("tool", TOOLS)
def test_a_package_alone_imports_none_of_its_modules(tool: str) -> None:
    code = (
        f"import sys, rag_eval.scorers.{tool}\n"
        f"print(*[n for n in sys.modules if n.startswith('rag_eval.scorers.{tool}.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_every_scorer_factory_of_mastra_is_exported() -> None:
    mastra = package("mastra")
    modules = {found.name for found in pkgutil.iter_modules(mastra.__path__)}
    made = {
        name
        for module in modules
        for name in vars(importlib.import_module(f"rag_eval.scorers.mastra.{module}"))
        if name.startswith("create_")
    }
    assert len(made) > 30
    assert made <= set(mastra.__all__)
