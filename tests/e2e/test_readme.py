"""README.md and the pages of docs/ do and print what they show."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.docs_pages import ROOT, update_tool

README = ROOT / "README.md"
TOOL = update_tool()


@pytest.mark.parametrize("page", TOOL.PAGES, ids=lambda page: page.stem)
def test_a_page_does_and_prints_what_it_shows(page: Path) -> None:
    assert TOOL.updated(page) == page.read_text("utf-8"), "run tools/update_readme.py"


@pytest.mark.parametrize("check", [True, False])
def test_a_page_is_checked_or_brought_up_to_date(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, check: bool
) -> None:
    page = tmp_path / "page.md"
    old = "<!-- block: run -->\n```console\n$ head -1 examples/README.md\nold\n```\n"
    page.write_text(old)
    monkeypatch.setattr(TOOL, "PAGES", (page,))
    monkeypatch.setattr(sys, "argv", ["update_readme.py", *["--check"] * check])
    assert TOOL.main() == int(check)
    first_line = (ROOT / "examples" / "README.md").read_text("utf-8").splitlines()[0]
    assert page.read_text() == (old if check else old.replace("old", first_line))
    monkeypatch.setattr(sys, "argv", ["update_readme.py", "--check"])
    assert TOOL.main() == int(check)


def test_commands_of_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in ("demo", "test"):
        assert f"make {target}" in README.read_text("utf-8")
        assert f"\n{target}:" in makefile


def test_the_readme_has_one_page_and_a_picture() -> None:
    text = README.read_text("utf-8")
    assert len(text.splitlines()) <= 200
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    assert pictures
    assert all((ROOT / picture).is_file() for picture in pictures)
