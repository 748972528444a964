"""The README, and pages of docs/ with it, show what the library prints."""

from __future__ import annotations

import doctest
import sys
from pathlib import Path

import pytest

from tests.docs_pages import ROOT, update_tool

README = ROOT / "README.md"
TOOL = update_tool()


def test_python_examples_run() -> None:
    failures, tried = doctest.testfile(str(README), module_relative=False)
    assert tried >= 8
    assert failures == 0


@pytest.mark.parametrize("page", TOOL.PAGES, ids=lambda page: page.stem)
def test_outputs_and_tables_are_up_to_date(page: Path) -> None:
    text = page.read_text("utf-8")
    assert TOOL.updated(text) == text, "run tools/update_readme.py"


@pytest.mark.parametrize("check", [True, False])
def test_a_page_is_checked_or_brought_up_to_date(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, check: bool
) -> None:
    page, old = tmp_path / "page.md", "```console\n$ head -1 LICENSE\nold\n```\n"
    page.write_text(old)
    monkeypatch.setattr(TOOL, "PAGES", (page,))
    monkeypatch.setattr(sys, "argv", ["update_readme.py", *["--check"] * check])
    assert TOOL.main() == int(check)
    first_line = (ROOT / "LICENSE").read_text("utf-8").splitlines()[0]
    assert page.read_text() == (old if check else old.replace("old", first_line.rstrip()))
    monkeypatch.setattr(sys, "argv", ["update_readme.py", "--check"])
    assert TOOL.main() == int(check)


def test_commands_of_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in ("demo", "test"):
        assert f"make {target}" in README.read_text("utf-8")
        assert f"\n{target}:" in makefile
