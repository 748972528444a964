"""docs/decisions.md says what comparisons, gates and estimates do with examples/decisions/."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

import rag_eval
from rag_eval.cli.program import program
from rag_eval.comparing import Status
from rag_eval.gating import gate
from rag_eval.samples import POLICIES
from tests.docs_pages import ROOT, update_tool

PAGE = ROOT / "docs" / "decisions.md"
EXAMPLE = ROOT / "examples" / "decisions"
TEXT = PAGE.read_text("utf-8")
# As it reads, whatever the lines are.
PROSE = " ".join(re.sub(r"^```.*?^```", "", TEXT, flags=re.DOTALL | re.MULTILINE).split())


def blocks(language: str) -> list[str]:
    """The blocks of the page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    """examples/decisions/make.py, imported."""
    spec = importlib.util.spec_from_file_location("make_decisions", EXAMPLE / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path: Path, maker: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a reader stands: with the examples and with samples of their own."""
    rows = maker.samples(maker.MAIN)
    (tmp_path / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command: str) -> str:
    """What a command of the page prints."""
    words = shlex.split(command.partition(" >> ")[0])
    assert words[0] == "rag-eval"
    done = CliRunner().invoke(program, words[1:])
    assert done.exit_code == 0, f"{command}\n{done.output}"
    return done.stdout


def test_the_page_is_kept_true_by_the_tool() -> None:
    tool = update_tool()
    assert PAGE in tool.PAGES
    commands = [line for block in blocks("console") for line in block.splitlines() if "$ " in line]
    assert {line.split()[2] for line in commands} == {"compare", "gate", "labels", "estimate"}
    assert f"<!-- false-alarms -->\n{tool.false_alarm_table()}<!-- /false-alarms -->" in TEXT


def test_the_example_files_are_what_their_script_makes(tmp_path: Path, maker: ModuleType) -> None:
    maker.make(tmp_path)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    committed = {path.name for path in EXAMPLE.iterdir() if path.is_file()} - {"make.py"}
    assert set(made) == committed
    for name, content in made.items():
        assert content == (EXAMPLE / name).read_bytes(), f"run examples/decisions/make.py: {name}"
        assert len(content) <= 60_000


def test_figures_in_the_text_are_those_of_the_example() -> None:
    found = rag_eval.compare(EXAMPLE / "main.csv", EXAMPLE / "candidate.csv")
    faithful = found.change("faithfulness")
    correct = found.change("answer_correctness")
    supported = found.change("hallucination_rate")
    low, high = faithful.difference.low, faithful.difference.high
    assert supported.difference.low is not None
    assert correct.nulls is not None
    for words in (
        f"{found.n_pairs} questions are in both runs",
        f"makes a change of {-faithful.delta:.3f} detectable",
        f"{faithful.n_pairs} for faithfulness, and {correct.n_pairs} for answer_correctness, "
        f"because {correct.nulls.n_new} questions have no ground truth",
        f"any change from {low:.3f} to {high:.3f} is consistent",
        f"`hallucination_rate` may have fallen by {-supported.difference.low:.3f}",
        f"{faithful.rows['unchanged']} of {faithful.n_pairs} answers have the same faithfulness",
        f"a loss of {faithful.detectable:.3f} in faithfulness",
    ):
        assert words in PROSE
    assert [change.verdict for change in found.changes if change.name == "hallucination_rate"] == [
        "INCONCLUSIVE"
    ]
    sliced = rag_eval.compare(
        EXAMPLE / "main.csv",
        EXAMPLE / "candidate.csv",
        metrics=["faithfulness", "hallucination_rate"],
        slices=["topic"],
        cluster_by="line",
    )
    assert f"{sliced.n_tests} tests) and makes each test stricter" in PROSE


def test_three_releases_end_as_the_page_tells() -> None:
    live = EXAMPLE / "live.json"
    for number, status, passed in (
        (1, "MISSING SCORES", False),
        (2, "INCONCLUSIVE", True),
        (3, "REGRESSED", False),
    ):
        report = gate(EXAMPLE / f"release-{number}.json", live)
        assert (report.status, report.passed) == (status, passed)
    found = rag_eval.compare(live, EXAMPLE / "release-1.json").change("faithfulness")
    assert found.nulls is not None
    assert found.nulls.reasons == {"refusal": 10}
    assert f"rises from {found.old.mean:.3f} to {found.new.mean:.3f}" in PROSE
    assert f"the other {found.n_pairs} questions" in PROSE
    assert gate(EXAMPLE / "release-1.json", live, max_null_rise=0.1).passed
    table = rag_eval.compare(live, EXAMPLE / "release-2.json").table
    assert table is not None
    assert len(table.edited) == 3


def test_every_policy_is_in_the_table() -> None:
    table = TEXT.partition("### Policies")[2].partition("### Guards")[0]
    rows, _, _ = table.partition("`no-regression` fails a run")
    assert tuple(re.findall(r"^\| `([a-z-]+)`", rows, re.MULTILINE)) == POLICIES


def test_every_status_is_explained() -> None:
    section = TEXT.partition("## The gate")[2].partition("### Policies")[0]
    assert [status for status in Status if status not in section] == []


def test_shell_blocks_run_as_they_stand(folder: Path) -> None:
    printed = {command: run(command) for block in blocks("sh") for command in block.splitlines()}
    assert "NO CHANGE" in printed["rag-eval gate --store --run latest --min-pass-rate 0.5"]
    assert "pinned (default)" in printed["rag-eval history"]
    assert (folder / ".rag_eval" / "runs.db").stat().st_mode & 0o777 == 0o600
    assert len((folder / "labels.csv").read_text("utf-8").splitlines()) == 101


def test_the_gate_that_a_workflow_is_given_holds(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = folder / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    (command,) = re.findall(r"^rag-eval gate .* --github$", TEXT, re.MULTILINE)
    (block,) = (block for block in blocks("sh") if "baseline export" in block)
    for before in block.splitlines()[:2]:
        run(before)
    assert "NO CHANGE" in run(command)
    assert "NO CHANGE" in summary.read_text("utf-8")
