"""README.md and the pages of docs/ do and print what they show."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.docs_pages import ROOT, update_tool, updated_page

README = ROOT / "README.md"
TOOL = update_tool()


@pytest.fixture(scope="module")
def pages(request: pytest.FixtureRequest) -> Iterator[dict[Path, Future[str]]]:
    """The pages under test as they should be, from two processes: they start many commands."""
    wanted = {item.callspec.params["page"] for item in request.session.items if _of_a_page(item)}
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        # Pages with many commands first, so that none of them is alone at the end.
        ordered = sorted(wanted, key=lambda page: page.read_text("utf-8").count("rag-eval"))
        yield {page: pool.submit(updated_page, page) for page in reversed(ordered)}


def _of_a_page(item: pytest.Item) -> bool:
    return "pages" in getattr(item, "fixturenames", ())


@pytest.mark.parametrize("page", TOOL.PAGES, ids=lambda page: page.stem)
def test_a_page_does_and_prints_what_it_shows(page: Path, pages: dict[Path, Future[str]]) -> None:
    assert pages[page].result() == page.read_text("utf-8"), "run tools/update_readme.py"


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
