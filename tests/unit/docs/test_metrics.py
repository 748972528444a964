"""README.md, docs/metrics.md and docs/golden.md say what there is."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

from rag_eval.cli.program import program
from rag_eval.metrics.catalogue import catalogue
from tests.docs_pages import ROOT, broken_links
from tests.tables import every_row

METRICS = ROOT / "docs" / "metrics.md"
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def test_every_scorer_is_in_a_table() -> None:
    text = METRICS.read_text("utf-8")
    named = set(re.findall(r"^\| `([a-z]+\.[^`]+)` \|", text, re.MULTILINE))
    known = {entry.id for entry in catalogue() if entry.family not in ("rag_eval", "own")}
    # Of measures with a cutoff 10 stands for all.
    assert named == {name for name in known if name.partition("@")[2] in ("", "10")}


def test_the_configuration_file_is_one(tmp_path: Path) -> None:
    (block,) = re.findall(
        r"^```toml\n(.*?)^```", METRICS.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    config = tmp_path / "rag-eval.toml"
    config.write_text(block, "utf-8")
    data = ROOT / "examples" / "retrieval.jsonl"
    done = CliRunner().invoke(program, ["run", str(data), "--config", str(config)])
    assert done.exit_code == 0, done.stderr
    assert "ir.ndcg@10 mean 0.46 (3/3) is at least 0.40" in done.stdout


@every_row("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.stem)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    assert broken_links(page) == []


def test_a_link_to_nothing_is_found(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# A `b` heading\n")
    page = tmp_path / "page.md"
    page.write_text(
        "# Here\n[a](other.md#a-b-heading) [b](#here) [c](other.md#x) [d](none.md) [e](#y)\n"
    )
    assert broken_links(page) == ["other.md#x", "none.md", "#y"]
