"""Blocks of pages: each says what becomes of it, and what is executed is executed in earnest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs_pages import ROOT, tool, update_tool
from tests.tables import every_row

BLOCKS = tool("docs_blocks")
PAGES = update_tool().PAGES
# Blocks that nothing executes may not grow in number without a word.
MOST_ILLUSTRATIONS = 28


def executed(folder: Path, text: str) -> str:
    page = folder / "page.md"
    page.write_text(text, "utf-8")
    found = BLOCKS.executed(page)
    assert isinstance(found, str)
    return found


def block(language: str, text: str, tag: str = "run") -> str:
    return f"<!-- block: {tag} -->\n```{language}\n{text}\n```\n"


@every_row("page", PAGES, ids=lambda page: page.stem)
def test_every_block_says_what_becomes_of_it(page: Path) -> None:
    assert BLOCKS.untagged(page.read_text("utf-8")) == []


@every_row("page", PAGES[1:], ids=lambda page: page.stem)
def test_every_page_begins_with_what_it_is_for(page: Path) -> None:
    title, *paragraphs = page.read_text("utf-8").split("\n\n")
    first = next(part for part in paragraphs if not part.startswith("<!--"))
    assert title.startswith("# ")
    assert re.search(r"\b(This page|This tutorial|These pages) ", first), first


def test_illustrations_stay_few() -> None:
    counts = update_tool().block_counts()
    assert counts["illustration"] <= MOST_ILLUSTRATIONS
    assert counts["run"] > counts["illustration"]
    assert counts["loopback-judge"] >= 2


def test_a_block_without_a_known_tag_is_found() -> None:
    text = "```sh\nls\n```\n\n" + block("sh", "ls", tag="maybe") + block("sh", "ls")
    assert BLOCKS.untagged(text) == [1, 6]


@every_row(
    ("language", "text", "told"),
    [
        ("python", ">>> 1 + 1\n3", "Got:"),
        ("python", "assert 1 == 2", None),
        ("sh", "false\ntrue", "ended with 1"),
        ("console", "$ rag-eval run none.jsonl", "ended with 2"),
        ("console", "$ false", "ended with 1"),
        ("toml", "a = 1", "'toml' cannot be run"),
    ],
)
def test_a_block_that_does_not_do_what_it_shows_is_an_error(
    tmp_path: Path, language: str, text: str, told: str | None
) -> None:
    with pytest.raises(BLOCKS.PageError if told else AssertionError, match=told):
        executed(tmp_path, block(language, text))


def test_blocks_of_a_page_share_a_folder_and_a_namespace(tmp_path: Path) -> None:
    text = (
        "<!-- setup: echo 3 > three.txt -->\n"
        + block("py", "def twice(x):\n    return 2 * x", tag="run file=own/doubling.py")
        + block("python", ">>> from own.doubling import twice")
        + block("sh", "cat three.txt > copied.txt")
        + block("python", ">>> twice(int(__import__('pathlib').Path('copied.txt').read_text()))\n6")
        + block("console", "$ cat three.txt copied.txt | wc -l\nold")
        + block("sh", "exit 1", tag="illustration")
    )
    assert executed(tmp_path, text) == text.replace("old", "2")
    assert executed(tmp_path, block("console", "$ ls\nexamples")).count("\n") == 5


def test_what_changes_with_each_run_is_settled(tmp_path: Path) -> None:
    text = block("console", "$ echo '<X object at 0x7f2b7c812b50> in 61.34s (0:01:01)'\nx")
    assert executed(tmp_path, text).splitlines()[3] == "<X object at 0x7f0000000000> in 0.05s"


def test_commands_know_of_no_build_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CI", "GITHUB_ACTIONS", "FORCE_COLOR", "PYTEST_ADDOPTS", "CIDER"):
        monkeypatch.setenv(name, "set")
    text = block("console", "$ echo $CI$GITHUB_ACTIONS$FORCE_COLOR$PYTEST_ADDOPTS-$CIDER\nx")
    assert executed(tmp_path, text) == text.replace("\nx", "\n-set")


def test_a_judge_is_named_to_blocks_that_ask_for_one(tmp_path: Path) -> None:
    named = block("console", "$ echo ${RAG_EVAL_JUDGE-none}\nx")
    asked = block(
        "python", ">>> import os\n>>> 'RAG_EVAL_JUDGE' in os.environ\nTrue", "loopback-judge"
    )
    assert executed(tmp_path, asked + named) == asked + named.replace("x", "none")


def test_the_reference_is_that_of_the_help_and_the_public_names() -> None:
    reference = tool("write_reference")
    for name, page in reference.PAGES.items():
        assert (reference.FOLDER / name).read_text("utf-8") == page(), (
            "run tools/write_reference.py"
        )


def test_every_command_and_flag_is_in_the_reference() -> None:
    page = tool("write_reference").command_page()
    for heading in ("## `rag-eval run`", "## `rag-eval baseline export`", "`--min-pass-rate`"):
        assert heading in page


def site(folder: Path, body: str) -> Path:
    (folder / "index.html").write_text(f"<html><body>{body}</body></html>")
    (folder / "other.html").write_text('<h2 id="there">x</h2><img src="a.png">')
    (folder / "a.png").write_bytes(b"")
    return folder


@every_row(
    ("body", "fault"),
    [
        ('<a href="other.html#there">', None),
        ('<a href="other.html#gone">', "index.html: no anchor for other.html#gone"),
        ('<a href="#gone">', "index.html: no anchor for #gone"),
        ('<a href="gone.html">', "index.html: no file for gone.html"),
        ('<a href="https://example.org/">', None),
        ('<img src="https://example.org/a.png">', "index.html: loads https://example.org/a.png"),
        ('<script src="//example.org/a.js">', "index.html: loads //example.org/a.js"),
        (
            '<link rel="stylesheet" href="https://example.org/a.css">',
            "index.html: loads https://example.org/a.css",
        ),
    ],
)
def test_the_walk_over_the_site_finds(tmp_path: Path, body: str, fault: str | None) -> None:
    assert tool("build_docs").faults(site(tmp_path, body)) == ([fault] if fault else [])


def test_a_style_sheet_that_loads_from_elsewhere_is_found(tmp_path: Path) -> None:
    (site(tmp_path, "") / "a.css").write_text("a { background: url(https://example.org/a.svg) }")
    assert len(tool("build_docs").faults(tmp_path)) == 1


def test_links_out_of_docs_lead_to_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = tool("build_docs")
    monkeypatch.setattr(build, "PAGES", tmp_path / "pages")
    build.stage()
    staged = {path.relative_to(tmp_path / "pages").as_posix() for path in build.PAGES.rglob("*.md")}
    own = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert own | {"benchmarks/RESULTS.md", "benchmarks/validity/RESULTS.md"} <= staged
    scale = (build.PAGES / "scale.md").read_text("utf-8")
    assert "](benchmarks/RESULTS.md)" in scale
    assert "](../" not in scale
