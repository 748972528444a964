"""Pages of a comparison, of a gate and of a store's history."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rag_eval
from rag_eval.comparing.two_runs import compare
from rag_eval.errors import InputError
from rag_eval.gating.against import gate
from rag_eval.gating.guards import Guards
from rag_eval.reports.page.compared_pages import write_comparison_page, write_gate_page
from rag_eval.reports.page.trends import write_history_page
from rag_eval.results.batch import BatchEvalResult
from rag_eval.runs.run_records import RunRecord, Status
from rag_eval.runs.store import RunStore
from rag_eval.views.scored_views import NO_TEXTS
from tests import raw_text
from tests.stored_runs import a_run
from tests.tables import every_row
from tests.unit.page_reading import Element, read_page

GOOD, BAD = "Lions roar at night.", "Bees hum at dawn."


def scored(n_bad: int, n_rows: int = 14) -> BatchEvalResult:
    """The first rows are bad."""
    rows = [
        {"id": f"q{n}", "question": "Who roars?", "answer": BAD if n < n_bad else GOOD}
        for n in range(n_rows)
    ]
    for row in rows:
        row["contexts"] = [GOOD]  # type: ignore[assignment]
    return rag_eval.evaluate_batch(rows, ["faithfulness"], profile="grounded")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("compared")
    old, new = folder / "old.json", folder / "new.json"
    scored(2).to_json(old)
    scored(10).to_json(new)
    return old, new


def page_at(path: Path) -> Element:
    return read_page(path.read_text("utf-8"))


def row_ids(root: Element) -> list[str]:
    return [body.attributes["data-id"] for body in root.all("tbody", cls="sample")]


def test_a_comparison_begins_with_what_changed_and_the_rows_that_moved(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    old, new = files
    write_comparison_page(compare(old, new), new, tmp_path / "c.html", "rag-eval compare", old=old)
    root = page_at(tmp_path / "c.html")
    assert root.by_id("verdict").one("h1").text.strip() == "1 REGRESSED"
    assert root.by_id("verdict").all(cls="badge") == [], "a comparison has no verdict"
    sections = [each.attributes["id"] for each in root.by_id("report").all("section")]
    assert sections == ["verdict", "comparison", "rows", "differences", "metrics", "reproduce"]
    ids = row_ids(root)
    assert set(ids[:8]) == {f"q{n}" for n in range(2, 10)}
    moved = root.all("tbody", cls="sample")[0]
    assert re.fullmatch(r"▼ −0\.\d{3}", moved.one("td", data_metric="change").text)
    assert moved.one("td", data_metric="change").classes >= {"worse"}
    heads = [each.text for each in moved.one("div", cls="texts").all("h3")]
    assert heads[1:3] == ["Answer", "Answer in the baseline"]
    same = root.all("tbody", cls="sample")[-1]
    assert "Answer in the baseline" not in same.text, "it is the same"
    assert re.search(r"✗ 0\.\d\d baseline 1\.00 threshold", moved.one("p", cls="reason-head").text)
    assert root.all("tbody", cls="sample")[-1].one("td", data_metric="change").text == "0"
    assert root.by_id("reproduce").one("code").text == "rag-eval compare"


def test_identical_scores_have_no_interval_and_no_p(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    """Regression: a metric without a changed score had an interval around 0 and p 1.000."""
    old, _ = files
    write_comparison_page(compare(old, old), old, tmp_path / "c.html", "rag-eval compare", old=old)
    table = page_at(tmp_path / "c.html").by_id("comparison").one("table", cls="changes")
    cells = [cell.text for cell in table.one("tbody").all("tr")[0].all("td")]
    assert [*cells[2:6], cells[7]] == ["0.000", "–", "–", "–", "NO CHANGE"]
    assert table.one("thead").all("th")[-1].text == "status"


def test_a_gate_has_its_verdict_and_every_baseline(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    old, new = files
    same = tmp_path / "same.json"
    same.write_bytes(new.read_bytes())
    report = gate(new, [same, old], guards=Guards(min_mean={"faithfulness": 0.1}))
    write_gate_page(report, new, tmp_path / "g.html", baselines=[str(same), str(old)])
    root = page_at(tmp_path / "g.html")
    assert "Answer in the baseline" in root.all("tbody", cls="sample")[0].text
    assert root.by_id("verdict").attributes["data-passed"] == "false"
    assert root.by_id("verdict").one("h1").text == "✗ FAIL REGRESSED: 1 of 3 gates failed"
    gates = [line.text for line in root.by_id("verdict").one("ul", cls="gates").all("li")]
    assert gates[0].startswith("✗ failed REGRESSED: faithfulness changed by")
    assert len(gates) == 3
    # The baseline that fails comes first, and rows are compared with it.
    first, second = (root.by_id(name) for name in ("comparison", "comparison-2"))
    assert str(old) in first.text
    assert str(same) in second.text
    assert row_ids(root)[0] in {f"q{n}" for n in range(2, 10)}
    assert "of unchanged builds fail against each baseline" in root.by_id("verdict").text
    assert root.by_id("report").text.count("answers differ in 8 of 14 rows") == 1


def test_scores_without_texts_have_a_page_that_says_so(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    old, _ = files
    new = tmp_path / "new.csv"
    lines = [f"q{n},{0 if n < 10 else 1}" for n in range(14)]
    new.write_text("\n".join(["id,faithfulness", *lines]) + "\n")
    write_comparison_page(compare(old, new, force=True), new, tmp_path / "c.html")
    root = page_at(tmp_path / "c.html")
    assert NO_TEXTS in root.by_id("verdict").text
    assert len(row_ids(root)) == 14
    assert "The sample has no answer." in root.by_id("row-3").text
    assert raw_text.raw_in_html((tmp_path / "c.html").read_text(), scripts=5) == []


def test_standard_input_is_read_once(files: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be standard input"):
        write_comparison_page(compare(*files), "-", tmp_path / "c.html")
    assert not (tmp_path / "c.html").exists()


# --------------------------------------------------------------------------------------- history


@pytest.fixture
def records(tmp_path: Path) -> list[RunRecord]:
    """Five runs, newest first: the third one failed."""
    store = RunStore(tmp_path / "runs.db")
    for number, scores in enumerate(([0.5, 0.7], [0.6, 0.7], [0.1, 0.2], [0.6, 0.8], [0.7, 0.8])):
        status: Status = "failed" if number == 2 else "passed"
        columns = np.column_stack([np.tile(scores, 6)] * 2)
        store.add(a_run(12, scores=columns), status=status)
    return store.runs()


def history_page(records: list[RunRecord], tmp_path: Path, **options: Any) -> Element:
    write_history_page(records, tmp_path / "h.html", store="runs.db", **options)
    return read_page((tmp_path / "h.html").read_text("utf-8"))


def test_every_metric_has_a_trend_with_intervals_and_verdicts(
    records: list[RunRecord], tmp_path: Path
) -> None:
    root = history_page(records, tmp_path, last_passing={records[0].run_id})
    assert root.by_id("verdict").one("h1").text == "5 runs, 1 failed"
    card = root.one("article", data_metric="faithfulness")
    assert card.one("p", cls="figure").text.startswith("0.75 ")
    assert "+0.050 since the run before" in card.one("p", cls="met").text
    points = card.all("line", cls="point")
    assert [sorted(point.classes - {"point"}) for point in points] == [
        ["passed"],
        ["passed"],
        ["failed"],
        ["passed"],
        ["passed"],
    ]
    xs = [float(point.attributes["x1"]) for point in points]
    assert xs == sorted(xs), "the oldest run is on the left"
    ys = [float(point.attributes["y1"]) for point in points]
    assert ys.index(max(ys)) == 2, "the lowest mean is lowest"
    whiskers = card.all("line", cls="whisker")
    assert len(whiskers) == 5
    for point, whisker in zip(points, whiskers, strict=True):
        top, bottom = float(whisker.attributes["y2"]), float(whisker.attributes["y1"])
        assert 0 <= top <= float(point.attributes["y1"]) <= bottom <= 64
    assert len(card.all("polyline")) == 1
    lines = root.by_id("runs").all("tr")[1:]
    assert [line.all("td")[0].text for line in lines] == [
        "✓ passed",
        "✓ passed",
        "✗ failed",
        "✓ passed",
        "✓ passed",
    ]
    assert records[0].run_id in lines[0].one("th").text
    assert "last passing" in lines[0].one("th").text
    assert lines[0].all("td")[-1].text.startswith("0.75 0.")


@every_row("field", ["signature", "dataset_hash"])
def test_a_line_ends_where_data_or_settings_change(
    records: list[RunRecord], tmp_path: Path, field: str
) -> None:
    other: dict[str, Any] = {"signature": scored(1, 2).signature, "dataset_hash": "f" * 64}
    changed = [replace(records[0], **{field: other[field]}), *records[1:]]
    root = history_page(changed, tmp_path)
    card = root.one("article", data_metric="faithfulness")
    assert len(card.all("polyline")[0].attributes["points"].split()) == 4
    assert "the run before has other data or settings" in card.text
    assert "A line ends where they change" in root.by_id("verdict").text


@every_row("n_runs", [0, 1])
def test_few_runs_have_a_page(records: list[RunRecord], tmp_path: Path, n_runs: int) -> None:
    root = history_page(records[:n_runs], tmp_path)
    assert len(root.all("article")) == 2 * n_runs
    assert ("No matching runs." in root.by_id("trends").text) == (n_runs == 0)
    assert ("no earlier run to compare with" in root.by_id("trends").text) == (n_runs == 1)
    assert "A line ends" not in root.by_id("verdict").text


def test_texts_of_a_store_are_texts(records: list[RunRecord], tmp_path: Path) -> None:
    text = "<script>alert(1)</script>\x1b[2J\u202e"
    bad = replace(
        records[0],
        branch=text,
        git_commit=text,
        created_at=text,
        run_id=text,
        pins=(text,),
        metrics=("faithfulness", text),
        aggregates={**records[0].aggregates, text: {"mean": 0.5, "meanInterval": {"low": text}}},
    )
    root = history_page([bad, *records[1:]], tmp_path)
    html = (tmp_path / "h.html").read_text("utf-8")
    assert raw_text.raw_in_html(html, scripts=1) == []
    assert "<script>alert(1)</script>" in root.by_id("runs").text
    assert json.loads(json.dumps(html)) == html
