"""Result files of others: each field is what it has to be, or one error names file, row, field."""

from __future__ import annotations

import copy
import gzip
import io
import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from rich.console import Console

import rag_eval
from rag_eval import BatchEvalResult, MetricRegression
from rag_eval.errors import InputError
from rag_eval.reports.code_hosts import code_quality
from rag_eval.reports.junit import junit_xml
from rag_eval.reports.notebook import result_html
from rag_eval.reports.notebook_batch import summary_html
from rag_eval.reports.page.page import page_html
from rag_eval.reports.run_markdown import run_markdown
from rag_eval.reports.show import print_overview, print_row
from rag_eval.results.batch_reading import batch_of_file, read_batch, read_row
from rag_eval.results.reading import ResultFile
from rag_eval.results.summaries import read_summary
from rag_eval.views.making import thresholds_of, view_of_file
from rag_eval.views.outcomes import run_outcomes, run_properties
from rag_eval.views.result_rows import overview, raw_rows
from rag_eval.views.sentences import answer_sentences, truth_sentences
from tests.tables import every_row

SAMPLE: Final = {
    "id": "t1",
    "question": "Who led the trial?",
    "answer": "The trial was led by Ellen Marsh. It enrolled 1,300 patients.",
    "contexts": ["Nothing.", "Ellen Marsh led the trial, said the paper."],
    "groundTruth": "Ellen Marsh led it. She is a doctor.",
    "metadata": {"topic": "medicine"},
}
JUDGE: Final = {
    "score": 0.5,
    "nativeScore": 0.2,
    "byJudge": [[0.5, None], [0.4, 0.6]],
    "spread": 0.1,
    "flaky": True,
    "auditShare": 0.1,
    "verdicts": [{"verdict": "no", "text": "t", "chunk": 0, "reason": "r"}],
}
CHECKS: Final = [{"check": "c", "passed": False, "expected": 1, "actual": 2, "message": "m"}]
FAITHFUL: Final = ("results", 0, "metrics", "faithfulness")
JUNK: Final[list[Any]] = [
    None, True, -1, 10**400, 1e308, 1.5, "x", "", [], {}, [None], [[1]], ["a"], [{}], [0, 10**9],
    [5, 2], [-3, 4], [0.5, 1], {"a": 1}, 10**6, "\x1b[31m", "0.5",
]  # fmt: skip


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    """A result file with every part there is."""
    metrics = ["faithfulness", "context_recall", "context_relevance"]
    batch = rag_eval.evaluate_batch([SAMPLE], metrics, profile="grounded")
    found: dict[str, Any] = json.loads(batch.to_json(details=True) or "")
    metric = found["results"][0]["metrics"]["faithfulness"]
    metric |= {"judge": JUDGE, "details": CHECKS, "probability": 0.4}
    return found


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    found = copy.deepcopy(value)
    inner = found
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = new
    return found


def refused(value: Any) -> str:
    with pytest.raises(InputError) as caught:
        read_batch(json.dumps(value))
    return str(caught.value)


@every_row(
    ("field", "value", "message"),
    [
        ("score", "0.5", "score must be a number or null, got '0.5'"),
        ("score", True, "score must be a number or null, got True"),
        ("score", 10**400, "score must be a number or null, got <int of"),
        ("passed", 1, "passed must be true, false or null, got 1"),
        ("threshold", [0.5], "threshold must be a number or null, got [0.5]"),
        ("probability", "\x1b[31m", "probability must be a number or null"),
        ("chunkScores", [0.5, "x"], "chunkScores[1] must be a number, got 'x'"),
        ("explanation", ["a"], "explanation must be a string, got ['a']"),
        ("details", [3], "details[0] must be an object, got 3"),
        ("signals", [{"severity": "fatal"}], "signals[0].severity must be one of info, warning"),
        ("nullReason", "tired", None),
        ("evidence", 4, "evidence must be a list of objects, got 4"),
        ("judge", "yes", "judge must be an object, got 'yes'"),
    ],
)
def test_a_field_that_is_not_what_it_has_to_be_is_named(
    whole: dict[str, Any], field: str, value: Any, message: str | None
) -> None:
    given = changed(whole, (*FAITHFUL, field), value)
    if message is None:  # of a score that is there nobody asks why it is not
        assert read_batch(json.dumps(given)).results[0].metrics.faithfulness.score is not None
        given = changed(given, (*FAITHFUL, "score"), None)
        message = "nullReason must be one of missing_field"
    assert f"results[0].metrics.faithfulness.{message}" in refused(given)


@every_row("fallback", [None, False, True])
def test_a_native_score_that_stands_in_for_a_judgement_says_so(
    whole: dict[str, Any], fallback: bool | None
) -> None:
    given = changed(whole, (*FAITHFUL, "judge"), {"score": 0.5, "fallback": fallback})
    judged = read_batch(json.dumps(given)).results[0].metrics.faithfulness.judged
    assert judged is not None
    assert judged.failed == (fallback is True)


@every_row(
    ("field", "value", "wanted"),
    [
        ("span", [0.5, 1], "a span [begin, end]"),
        ("span", [5, 2], "a span [begin, end]"),
        ("span", None, "a span [begin, end]"),
        ("window", [-1, 4], "a span [begin, end]"),
        ("chunk", -1, "a whole number of at least 0, or null"),
        ("support", "high", "a number"),
        ("missingNames", "Ellen", "a list of texts"),
    ],
)
def test_evidence_that_is_none_is_refused(
    whole: dict[str, Any], field: str, value: Any, wanted: str
) -> None:
    given = changed(whole, (*FAITHFUL, "evidence", 1, field), value)
    assert f"faithfulness.evidence[1].{field} must be {wanted}, got" in refused(given)


@every_row(
    ("field", "value"),
    [("span", [0, 10**9]), ("chunk", 7), ("window", [0, 10**9]), ("chunk", None)],
)
def test_evidence_of_other_texts_is_found_anew(
    whole: dict[str, Any], field: str, value: Any
) -> None:
    given = changed(whole, (*FAITHFUL, "evidence", 0, field), value)
    result, kept = read_batch(json.dumps(given)).results[0], read_batch(json.dumps(whole))
    assert answer_sentences(result) == answer_sentences(kept.results[0])
    recall = changed(whole, ("results", 0, "metrics", "contextRecall", "evidence", 0, field), value)
    again = read_batch(json.dumps(recall)).results[0]
    assert truth_sentences(again) == truth_sentences(kept.results[0])


@every_row(
    ("path", "value", "message"),
    [
        (("aggregates", "faithfulness", "passRate"), 1e308, "passRate must be a number from 0 to"),
        (("aggregates", "faithfulness", "mean"), "x", "mean must be a number or null, got 'x'"),
        (("compositeAggregate", "stdDev"), "x", "compositeAggregate.stdDev must be a number or"),
        (("totalCost", "llmCalls"), "x", "totalCost.llmCalls must be a count, got 'x'"),
        (("results",), {}, "results must be a list of objects, got {}"),
        (("results", 0), 5, "results[0] must be an object, got 5"),
        (("results", 0, "sample"), [1], "results[0].sample must be an object, got [1]"),
        (("results", 0, "passed"), "yes", "results[0].passed must be true or false, got 'yes'"),
        (("signature", "profile"), [], "its profile is []"),
    ],
)
def test_what_stands_beside_metrics_is_read_as_strictly(
    whole: dict[str, Any], path: tuple[Any, ...], value: Any, message: str
) -> None:
    assert message in refused(changed(whole, path, value))


def test_a_file_that_is_packed_or_nested_beyond_reading_is_no_traceback(tmp_path: Path) -> None:
    header = gzip.compress(b"")[:10]
    (tmp_path / "a.json.gz").write_bytes(header + b"\xff" * 20)  # no kind of block
    with pytest.raises(InputError, match=r"a\.json\.gz is not valid gzip data"):
        read_batch(tmp_path / "a.json.gz")
    with pytest.raises(InputError, match="is not valid JSON"):
        read_batch(b'{"aggregates":' + b"[" * 100_000)


def test_a_verdict_against_its_own_numbers_is_told_without_them(whole: dict[str, Any]) -> None:
    metric = {**whole["results"][0]["metrics"]["faithfulness"], "passed": False}
    for given, shown in (
        ({"score": None}, "faithfulness without a score is marked as failed"),
        ({"score": 0.9, "threshold": None}, "faithfulness 0.90 is marked as failed"),
        ({"score": 0.9, "threshold": 0.5}, "faithfulness 0.90 is marked as failed"),
        ({"score": 0.4, "threshold": 0.5}, "faithfulness 0.40 is below 0.50"),
    ):
        result = read_row({**whole["results"][0], "metrics": {"faithfulness": {**metric, **given}}})
        view = view_of(result)
        assert run_outcomes(view)[-1].message == shown


def view_of(result: Any) -> Any:
    from rag_eval.results.batch_reading import batch_of
    from rag_eval.views.making import view_of_batch

    return view_of_batch(batch_of([result], {"aggregates": {"faithfulness": {}}}))


def test_scores_beyond_what_the_file_says_of_them_are_in_the_last_bin(
    whole: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_text(json.dumps(changed(whole, (*FAITHFUL, "score"), 1e308)))
    shape = view_of_file(tmp_path / "a.json").histograms["faithfulness"]
    assert (shape.high, shape.counts[-1], sum(shape.counts)) == (1.0, 1, 1)


def test_a_threshold_is_that_of_the_first_row_that_has_the_metric(whole: dict[str, Any]) -> None:
    row = whole["results"][0]
    without = {name: one for name, one in row["metrics"].items() if name != "faithfulness"}
    given = {**whole, "results": [{**row, "metrics": without}, row]}
    assert thresholds_of(read_batch(json.dumps(given)))["faithfulness"] == 0.6


def test_a_file_of_lines_has_the_view_of_the_file_with_a_summary(
    whole: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_text(json.dumps(whole))
    (tmp_path / "a.jsonl").write_text(json.dumps(whole["results"][0]) + "\n")
    one, other = (view_of_file(tmp_path / name) for name in ("a.json", "a.jsonl"))
    assert one.summary.aggregates == other.summary.aggregates
    assert one.rows == other.rows
    assert one.gates == other.gates


def test_a_partial_result_is_known_as_one(whole: dict[str, Any], tmp_path: Path) -> None:
    row = {**whole["results"][0], "passed": True}
    given = {**whole, "results": [row], "interrupted": True, "nSkipped": 2}
    (tmp_path / "a.json").write_text(json.dumps(given))
    view = view_of_file(tmp_path / "a.json")
    assert (view.passed, view.interrupted, view.n_skipped) == (None, True, 2)
    (tmp_path / "a.json").write_text(json.dumps({**given, "nSkipped": "two"}))
    with pytest.raises(InputError, match=r"a\.json: nSkipped must be a count, got 'two'"):
        view_of_file(tmp_path / "a.json")


# ------------------------------------------------------------------------------------ every field


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for name, each in inner:
        yield (*path, name)
        if isinstance(each, (dict, list)):
            yield from places(each, (*path, name))


def test_every_report_of_a_file_with_a_broken_field_is_made_or_refused(
    whole: dict[str, Any], tmp_path: Path
) -> None:
    """A draw of fields and values; anything but an InputError ends the test."""
    draw = random.Random(8)
    paths = list(places(whole))
    path = tmp_path / "a.json"
    n_made = n_refused = 0
    for _ in range(20):
        path.write_text(json.dumps(changed(whole, draw.choice(paths), draw.choice(JUNK))))
        try:
            show_all(path)
            view = view_of_file(path)
        except InputError:
            n_refused += 1
            continue
        n_made += 1
        outcomes = run_outcomes(view)
        assert junit_xml(outcomes, properties=run_properties(view))
        assert code_quality(outcomes)
        assert page_html(view)
        assert run_markdown(view)
        assert summary_html(view.summary)
        assert all(result_html(row.result) for row in view.rows)
    assert n_made > 2
    assert n_refused > 2


def show_all(path: Path) -> None:
    console = Console(file=io.StringIO(), width=80)
    file = ResultFile(path)
    print_overview(overview(file, 3), file.source, "rag-eval show", console)
    for row in raw_rows(ResultFile(path)):
        print_row(row.viewed(), console, full=True)


@every_row("suffix", ["", ".gz", ".zst"])
def test_a_stored_run_keeps_its_verdict_against_the_baseline(suffix: str, tmp_path: Path) -> None:
    before = rag_eval.evaluate_batch([SAMPLE])
    worse = rag_eval.evaluate_batch([{**SAMPLE, "answer": "No."}], baseline_result=before)
    assert any(row.regressed for row in worse.regressions or ())
    path = tmp_path / f"r.json{suffix}"
    worse.to_json(path)
    for found in (BatchEvalResult.from_json(path), BatchEvalResult.from_json(str(path))):
        assert found.regressions == worse.regressions
        assert found.to_json() == worse.to_json()
    assert batch_of_file(ResultFile(path)).regressions == worse.regressions
    assert read_summary(path).means.keys() == worse.aggregates.keys()
    assert read_batch(before.to_json() or "").regressions is None


def test_a_metric_that_became_null_stays_not_comparable_in_a_file() -> None:
    before = rag_eval.evaluate_batch([SAMPLE])
    now = rag_eval.evaluate_batch([{**SAMPLE, "groundTruth": None}], baseline_result=before)
    found = read_batch(now.to_json() or "")
    assert found.regressions is not None
    assert any(row.not_comparable and math.isnan(row.delta) for row in found.regressions)
    assert [row.failed for row in found.regressions] == [
        row.failed for row in now.regressions or ()
    ]
    assert found.summary_dict()["regressions"] == now.summary_dict()["regressions"]


def test_regressions_of_the_other_library_are_read(whole: dict[str, Any]) -> None:
    """Its rows say nothing of comparability, and a mean that is not there is left out."""
    row = {
        "metricId": "faithfulness",
        "baselineMean": 0.9,
        "currentMean": 0,
        "delta": -0.9,
        "regressed": True,
    }
    unknown = {"metricId": "contextRecall", "currentMean": 0.5, "delta": None, "regressed": False}
    own = {**row, "metricId": "a metric of its own"}
    found = read_batch(json.dumps({**whole, "regressions": [row, unknown, own]})).regressions
    assert found is not None
    first, second = found
    assert first == MetricRegression(
        metric_id="faithfulness",
        baseline_mean=0.9,
        current_mean=0.0,
        delta=-0.9,
        regressed=True,
    )
    assert math.isnan(second.baseline_mean)
    assert second.to_dict() == {**unknown, "baselineMean": None}
    for name, value in (("regressed", "yes"), ("delta", "0.5"), ("metricId", 3)):
        broken = {**row, name: value}
        assert f"regressions[0].{name} must be" in refused({**whole, "regressions": [broken]})
