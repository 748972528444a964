"""The table of a run in windows of any width."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rag_eval.jobs.file_reports import RunReport
from rag_eval.jobs.file_run import run_file
from rag_eval.jobs.file_scoring import score_file
from rag_eval.reports.console import console_for
from rag_eval.reports.run import print_run, print_score_file
from rag_eval.reports.run_table import RunTable
from tests.tables import every_row

HANDBOOK = Path(__file__).parents[3] / "examples" / "handbook.jsonl"
METRICS = ["faithfulness", "unsupported_numbers", "context_recall"]


@pytest.fixture(scope="module")
def report() -> RunReport:
    return run_file(HANDBOOK, METRICS, profile="grounded", worst=1, min_mean={"faithfulness": 0.9})


def printed(report: RunReport, width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    text = io.StringIO()
    print_run(report, console_for(text))
    return text.getvalue().split("\n66 samples")[0].splitlines()


@every_row("width", [50, 56, 60, 70, 80, 90, 100, 115, 120, 131, 200])
def test_nothing_is_cut_and_no_number_wraps(
    report: RunReport, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = printed(report, width, monkeypatch)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert "…" not in text
    for metric in METRICS:
        row = next(line for line in lines if line.startswith(metric))
        mean = report.result.aggregates[metric]
        assert f" {mean.mean:.2f} " in row
        assert f" {mean.n}/66 " in row
        interval = mean.interval
        assert interval is not None
        bounds = f"[{interval.low:.2f}, {interval.high:.2f}]"
        assert (bounds in row) == ("interval" in text)
        for cell in row.split()[1:]:
            number = r"[-\d.]+|\d+/66|\[[\d.]+,|[\d.]+\]|–|PASS|FAIL"
            assert re.fullmatch(number, cell), cell


def test_without_a_gate_no_column_is_a_verdict(
    report: RunReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = printed(replace(report, gates=[]), 200, monkeypatch)
    assert "verdict" not in lines[0]
    assert not any(line.endswith(("pass", "FAIL")) for line in lines)
    text = io.StringIO()
    print_run(replace(report, gates=[]), console_for(text))
    assert text.getvalue().splitlines()[-1].startswith("no gate set: add --min-mean faithfulness=")


def test_a_wider_window_never_shows_less(
    report: RunReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads = []
    for width in range(50, 140, 6):
        lines = printed(report, width, monkeypatch)
        end = next(n for n, line in enumerate(lines) if line.startswith("──"))
        heads.append(set(" ".join(lines[:end]).split()))
    assert all(narrow <= wide for narrow, wide in pairwise(heads))
    assert heads[0] == {"metric", "mean", "scored", "pass", "rate", "verdict"}
    # A gate takes no column away, and at 80 columns all are there.
    assert heads[-1] == heads[5] == heads[0] | {"95", "%", "interval", "threshold"}
    lines = printed(replace(report, gates=[]), 80, monkeypatch)
    heads = "metric mean 95 % interval scored pass rate threshold"
    assert " ".join(lines[0].split()) == heads


def test_a_table_is_as_wide_as_its_window_and_no_wider(report: RunReport) -> None:
    console = console_for(io.StringIO())
    unbounded = console.options.update(width=10_000)
    table = RunTable(summary=report.result, thresholds=report.thresholds, verdicts={})
    width, widths = 200, list[int]()
    while width >= 50:  # one less than the last table took, so that the next has to be narrower
        found = console.measure(table.fitting(console, width), options=unbounded).maximum
        assert found <= width
        widths.append(found)
        width = found - 1
    assert len(widths) >= 4


def test_every_number_stands_in_its_column(
    report: RunReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = printed(report, 200, monkeypatch)
    names = "metric mean 95 % interval scored pass rate threshold verdict"
    assert lines[0].split() == names.split()
    rows = {line.split()[0]: line.split()[1:] for line in lines[2:] if line.strip()}
    aggregates = {**report.result.aggregates, "composite": report.result.composite_aggregate}
    ends = (["0.80", "0.60", "FAIL"], ["–", "–", "–"], ["0.76", "0.60", "–"])
    for (name, found), end in zip(aggregates.items(), (*ends, ["0.73", "–", "–"]), strict=True):
        assert found.interval is not None
        low, high = f"[{found.interval.low:.2f},", f"{found.interval.high:.2f}]"
        assert rows[name] == [f"{found.mean:.2f}", low, high, f"{found.n}/66", *end]


def test_what_has_no_threshold_has_no_pass_rate(report: RunReport, tmp_path: Path) -> None:
    scored = score_file(HANDBOOK, tmp_path / "s.jsonl", METRICS, profile="grounded")
    text = io.StringIO()
    print_score_file(scored, console_for(text))
    rows = {line.split()[0]: line.split() for line in text.getvalue().splitlines() if line.strip()}
    assert rows["unsupported_numbers"][-2:] == ["–", "–"]
    assert rows["faithfulness"][-2:] == ["0.80", "0.60"]


@every_row(
    ("answers", "said"),
    [
        (["A b c.", "A b c."], []),  # both 1
        (["A b c.", "A x y."], ["[too few]: too few scores differ for a reliable interval"]),
        # Of a hundred thousand rows there were too few.
        (9 * ["A x y."], ["[all equal]: all scores are equal, so no interval can be estimated"]),
        (["A x y."], ["[too few]: too few scores differ for a reliable interval"]),
    ],
)
def test_an_interval_that_cannot_be_computed_is_explained_below_the_table(
    answers: list[str], said: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "d.jsonl"
    rows = [{"question": "q?", "answer": answer, "contexts": ["A b c."]} for answer in answers]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = io.StringIO()
    print_run(run_file(path, ["faithfulness"], profile="grounded"), console_for(text))
    lines = text.getvalue().splitlines()
    assert [line for line in lines if line.startswith("[")] == said
    for mark in ("[too few]", "[all equal]"):
        is_shown = any(f" {mark} " in line for line in lines)
        assert is_shown is any(line.startswith(mark) for line in said)


def test_a_metric_named_for_a_fault_says_that_1_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = run_file(HANDBOOK, ["hallucination_rate", "faithfulness"], profile="grounded")
    lines = [" ".join(line.split()) for line in printed(found, 80, monkeypatch)]
    at = next(n for n, line in enumerate(lines) if line.startswith("hallucination_rate 0."))
    assert lines[at + 1] == "(1 = none)"


def test_a_threshold_that_was_given_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    options: Any = {"profile": "grounded", "thresholds": {"unsupported_numbers": 0.5}}
    given = run_file(HANDBOOK, METRICS, min_pass_rate=1, **options)
    lines = printed(given, 200, monkeypatch)
    row = next(line for line in lines if line.startswith("unsupported_numbers")).split()
    assert row[-2] == "0.50"
    assert row[-3] != "–"


def test_long_names_go_over_lines_where_there_is_no_room(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    row = {"question": "q?", "answer": "A b c.", "contexts": ["A b c."]}
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps({**row, "expectedKeywords": ["b"]}) + "\n")
    found = run_file(
        path,
        ["mastra.keyword_coverage", "mastra.content_similarity"],
        thresholds={"mastra.keyword_coverage": 0.5},
        min_pass_rate=1,
    )
    monkeypatch.setenv("COLUMNS", "50")
    text = io.StringIO()
    print_run(found, console_for(text))
    lines = text.getvalue().splitlines()
    assert max(map(len, lines[:12])) <= 50
    assert "…" not in "".join(lines)


@every_row(
    ("variables", "coloured"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_colours_of_a_pipe_are_those_that_were_asked_for(
    report: RunReport,
    variables: dict[str, str],
    coloured: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    text = io.StringIO()
    console = console_for(text)
    print_run(report, console)
    assert ("\x1b[31m" in text.getvalue() or "\x1b[1;31m" in text.getvalue()) is coloured
    assert console.width == 120
