"""What judging took and found: counts by hand, files, gates and what is printed."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import rag_eval
from rag_eval.calibration.applied import calibrated
from rag_eval.gating.limits import Gates, check_gates
from rag_eval.jobs.file_run import run_file
from rag_eval.judge.replies import Tally
from rag_eval.options.plan import make_plan
from rag_eval.reports.judging import print_estimate, print_judging
from rag_eval.results.batch import BatchEvalResult
from rag_eval.results.judge_report import JudgeReport, JudgeTotals, MetricJudging
from rag_eval.results.judged import JudgedScore
from rag_eval.results.summaries import compare_files
from rag_eval.samples import NullReason
from rag_eval.stats import wilson_interval
from tests.fluent_judge import FluentJudge
from tests.tables import every_row
from tests.unit.scoring.test_cascade import ROWS, calibration

NAN = math.nan


def totals(metrics: list[str], **options: Any) -> JudgeTotals:
    given = {"mode": "llm", "judge": FluentJudge(), **options}
    return JudgeTotals(calibrated(make_plan(metrics, given), given)[0])


def add(found: JudgeTotals, rows: list[dict[str, JudgedScore]]) -> None:
    """Rows that all have a score, or what stands for one."""
    found.add(rows, np.zeros((len(rows), 2), np.uint8), lambda place: f"row {place + 1}")


def judged(score: float | None = 1.0, native: float | None = 1.0, **more: Any) -> JudgedScore:
    """As a row of one judge, asked once."""
    given: dict[str, Any] = {
        "null_reason": NullReason.MEASURED,
        "mode": "llm",
        "by_judge": ((score,),),
        "tally": Tally(llm_calls=2, cached_calls=1, input_tokens=100, output_tokens=11),
        **more,
    }
    return JudgedScore(score=score, judge_score=score, native_score=native, **given)


def failed(reason: NullReason, **more: Any) -> JudgedScore:
    return judged(None, failure=reason, null_reason=reason, **more)


def report_of(rows: list[dict[str, JudgedScore]], **options: Any) -> MetricJudging:
    found = totals(["faithfulness"], **options)
    add(found, rows)
    return found.report().metrics["faithfulness"]


CASCADE: dict[str, Any] = {"mode": "cascade", "cascade_band": (0.4, 0.6)}


def test_each_reason_of_a_failure_has_its_first_example() -> None:
    found = totals(["faithfulness", "hallucination_rate"])
    full = failed(NullReason.JUDGE_FAILED, message="the prompt is too long")
    rows = [
        {"faithfulness": judged(), "hallucination_rate": full},
        {"faithfulness": full, "hallucination_rate": failed(NullReason.JUDGE_TIMED_OUT)},
        {"faithfulness": failed(NullReason.JUDGE_FAILED, message="x" * 10_000)},
    ]
    add(found, rows[:1])
    add(found, rows[1:])
    report = found.report()
    assert [str(one) for one in report.failed] == [
        "3 judgements failed with judge_failed, for example row 1, hallucination_rate: "
        "the prompt is too long",
        "1 judgement failed with judge_timed_out, for example row 1, hallucination_rate",
    ]
    assert report.to_dict()["failed"][0] == {
        "reason": "judge_failed",
        "n": 3,
        "metricId": "hallucination_rate",
        "row": "row 1",
        "message": "the prompt is too long",
    }
    add(found, [{"faithfulness": failed(NullReason.JUDGE_REFUSED, message="x" * 10_000)}])
    assert len(found.report().failed[2].message) == 500


# ----------------------------------------------------------------------------------- counts


def test_what_was_saved_is_counted_at_the_mean_of_what_was_judged() -> None:
    light = Tally(llm_calls=1, input_tokens=10, output_tokens=1)
    rows = [{"faithfulness": judged()}, {"faithfulness": judged(tally=light)}, {}, {}, {}]
    found = report_of(rows, **CASCADE)
    assert (found.n_rows, found.n_judged) == (5, 2)
    assert found.calls_saved == round((2 + 1 + 1) / 2 * 3)
    assert found.tokens_saved == round((111 + 11) / 2 * 3)
    assert (found.tally.llm_calls, found.tally.cached_calls) == (3, 1)


def test_a_row_with_nothing_to_measure_would_have_taken_no_call() -> None:
    found = totals(["faithfulness"], **CASCADE)
    reasons = np.array([[0], [0], [NullReason.NOTHING_TO_MEASURE]], np.uint8)
    found.add([{"faithfulness": judged()}, {}, {}], reasons, str)
    one = found.report().metrics["faithfulness"]
    assert (one.n_rows, one.n_judged, one.n_null) == (3, 1, 1)
    assert one.calls_saved == 3


def test_nothing_judged_is_nothing_saved() -> None:
    found = report_of([{}, {}], **CASCADE)
    assert (found.n_judged, found.calls_saved, found.tokens_saved) == (0, 0, 0)
    assert (found.error_rate, found.mean_spread) == (None, None)


def test_failures_are_counted_by_their_reasons_with_those_that_a_native_score_stands_in_for() -> (
    None
):
    rows = [
        {"faithfulness": failed(NullReason.JUDGE_UNPARSED)},
        {"faithfulness": failed(NullReason.JUDGE_REFUSED, mode="heuristic")},
        {"faithfulness": failed(NullReason.JUDGE_UNPARSED)},
        {"faithfulness": judged(None, null_reason=NullReason.MISSING_FIELD)},
        {"faithfulness": judged(by_judge=((1.0, None),))},
        {"faithfulness": judged()},
    ]
    found = report_of(rows)
    assert found.failures == {"judge_unparsed": 2, "judge_refused": 1}
    assert (found.n_failed, found.n_fallback, found.n_partial) == (3, 1, 1)
    assert (found.n_judged, found.n_both) == (6, 2)


def test_agreement_is_between_verdicts_each_by_its_own_threshold() -> None:
    """0.7 in the overlap profile, 0.5 for a rating."""
    pairs = [(0.5, 0.7), (0.49, 0.7), (0.5, 0.69), (0.49, 0.69)]
    rows = [{"faithfulness": judged(judge, native)} for judge, native in pairs]
    found = report_of(rows, judge_style="rating")
    assert (found.n_both, found.n_agree) == (4, 2)
    # In the claims style both verdicts begin at 0.7.
    assert report_of(rows).n_agree == 2
    assert report_of(rows[:1]).n_agree == 0
    assert report_of(rows[:1], judge_style="rating").n_agree == 1


def test_a_threshold_of_the_callers_holds_for_both_verdicts() -> None:
    strict = {"thresholds": {"faithfulness": 0.9}}
    both_fail, one_passes = {"faithfulness": judged(0.8, 0.8)}, {"faithfulness": judged(0.95, 0.8)}
    assert [report_of([row], **strict).n_agree for row in (both_fail, one_passes)] == [1, 0]
    assert [report_of([row]).n_agree for row in (both_fail, one_passes)] == [1, 1]


def test_native_verdicts_of_a_cascade_are_those_that_rows_have_without_a_judge() -> None:
    """The threshold of the calibration, 0.3, is not the one that rows pass by."""
    given = {"mode": "cascade", "calibration": calibration(threshold=0.3)}
    rows = [
        {"faithfulness": judged(0.0, 0.4, is_audit=True, share=0.02)},
        {"faithfulness": judged(1.0, 0.5, is_audit=True, share=0.02)},
        {"faithfulness": judged(1.0, 0.1)},
    ]
    found = report_of(rows, **given)
    assert (found.n_both, found.n_agree) == (3, 2)
    assert found.error_rate == wilson_interval(0, 2)


def test_an_audit_that_failed_counts_for_no_error() -> None:
    rows = [
        {"faithfulness": judged(1.0, 0.1, is_audit=True)},
        {"faithfulness": failed(NullReason.JUDGE_REFUSED, native=0.1, is_audit=True)},
    ]
    found = report_of(rows, **CASCADE)
    assert found.n_audited == 2
    assert found.error_rate == wilson_interval(1, 1)


def test_spread_and_flaky_rows_are_of_rows_that_have_repeats() -> None:
    rows = [
        {"faithfulness": judged(spread=0.1, flaky=True)},
        {"faithfulness": judged(spread=0.3)},
        {"faithfulness": judged()},
    ]
    found = report_of(rows, judge_repeat=2)
    assert found.mean_spread == pytest.approx(0.2)
    assert found.n_flaky == 1


def test_judges_agree_by_the_threshold_of_the_caller_where_lower_is_better() -> None:
    """Bias of 0.2 and 0.3 both pass up to 0.3, and are parted by 0.25."""
    scores = [(0.0, 0.0), (0.2, 0.3), (1.0, 1.0)]

    def alpha(**options: Any) -> float | None:
        judges = [FluentJudge(judge_name="a"), FluentJudge(judge_name="b")]
        found = totals(["mastra.bias"], judge=None, judges=judges, **options)
        add(found, [{"mastra.bias": judged(0.5, by_judge=((one,), (two,)))} for one, two in scores])
        return found.report().agreement["mastra.bias"].alpha_verdicts

    assert alpha() is None
    assert alpha(thresholds={"mastra.bias": 0.3}) == 1.0
    parted = alpha(thresholds={"mastra.bias": 0.25})
    assert parted is not None
    assert parted < 1.0


def test_a_judge_that_never_gave_a_score_leaves_no_nan_behind() -> None:
    judges = [FluentJudge(judge_name="a"), FluentJudge(judge_name="b")]
    found = totals(["faithfulness"], judge=None, judges=judges)
    add(found, [{"faithfulness": judged(by_judge=((1.0,), (None,)))} for _ in range(3)])
    report = found.report()
    assert report.metrics["faithfulness"].n_partial == 3
    agreement = report.agreement["faithfulness"]
    assert (agreement.n_complete, agreement.means) == (0, (1.0, None))
    json.dumps(report.to_dict(), allow_nan=False)


def test_the_report_sums_over_metrics() -> None:
    found = totals(["faithfulness", "answer_relevance"])
    reason = NullReason.JUDGE_BUDGET
    add(found, [{"faithfulness": judged(), "answer_relevance": failed(reason)}])
    report = found.report(cost_usd=0.5, late_replies=2, stopped="no judge")
    assert (report.n_wanted, report.n_failed, report.budget_reached) == (2, 1, True)
    assert (report.cost.llm_calls, report.cost.estimated_input_tokens) == (4, 200)
    written = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert written["stopped"] == "no judge"
    assert (written["costUsd"], written["lateReplies"]) == (0.5, 2)
    assert written["metrics"]["answerRelevance"]["failures"] == {"judge_budget": 1}
    assert not found.report().stopped


# ------------------------------------------------------------------------------------- gates


def test_the_share_of_failed_judgements_has_a_bar() -> None:
    good = FluentJudge(lambda text: 1.0)

    def judge(prompt: str) -> str:
        return "no JSON" if "seats 800" in prompt else good(prompt)

    rows = [{**row, "contexts": ["It was built."]} for row in ROWS[:3]]
    result = rag_eval.evaluate_batch(rows, ["faithfulness"], mode="llm", judge=judge)

    def gate(bar: float) -> tuple[bool, str]:
        found = check_gates(result, Gates(min_pass_rate=0.0, max_judge_failures=bar), 0.05)[-1]
        return found.held, found.message

    assert gate(0.0) == (False, "share of failed judgements 0.33 (1/3) is above 0.00")
    assert gate(1 / 3) == (True, "share of failed judgements 0.33 (1/3) is at most 0.33")
    # By itself it is a gate when it was set, and beside another gate its limit is 0.
    assert check_gates(result, Gates(), 0.05) == []
    (alone,) = check_gates(result, Gates(max_judge_failures=0.0), 0.05)
    assert not alone.held
    beside = check_gates(result, Gates(min_pass_rate=0.0), 0.05)
    assert [(one.gate, one.held) for one in beside] == [
        ("min_pass_rate", True),
        ("max_judge_failures", False),
    ]


# ------------------------------------------------------------------------------------- files


def strict(text: str | None) -> Any:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    assert text is not None
    return json.loads(text, parse_constant=refuse)


OPTIONS: dict[str, dict[str, Any]] = {
    "llm": {"mode": "llm"},
    "verdicts": {"mode": "cascade", "cascade_band": (0.2, 0.7)},
    "cascade": {"mode": "cascade", "calibration": calibration()},
    "ensemble": {"mode": "llm", "judges": [FluentJudge(), FluentJudge()], "judge_repeat": 2},
}


@every_row("name", OPTIONS)
def test_a_result_file_of_a_judged_run_can_be_read_back(name: str) -> None:
    options = {"judge": FluentJudge(), **OPTIONS[name]}
    if "judges" in options:
        del options["judge"]
    rows = [*ROWS[:9], {**ROWS[9], "answer": ""}]
    result = rag_eval.evaluate_batch(rows, ["faithfulness"], **options)
    text = result.to_json()
    value = strict(text)
    assert value["judging"]["metrics"]["faithfulness"]["nRows"] == len(rows)
    again = BatchEvalResult.from_json(text or "")
    assert again.scores.tolist()[:9] == result.scores.tolist()[:9]
    assert again.null_reasons.tolist() == result.null_reasons.tolist()
    assert again.signature == result.signature
    assert again.total_cost == result.total_cost
    assert again.total_cost.llm_calls > 0
    assert again.results[0].cost == result.results[0].cost
    ours, theirs = again.aggregates.faithfulness, result.aggregates.faithfulness
    assert (ours.mean, ours.pass_rate) == pytest.approx(
        (theirs.mean, theirs.pass_rate), nan_ok=True
    )
    assert math.isnan(theirs.mean) == (name == "verdicts")
    if name == "verdicts":
        assert value["aggregates"]["faithfulness"]["mean"] is None
        assert value["aggregates"]["faithfulness"]["stdDev"] is None


def test_a_baseline_of_verdicts_alone_has_no_mean_to_compare() -> None:
    options: dict[str, Any] = {"judge": FluentJudge(), **OPTIONS["verdicts"]}
    first = rag_eval.evaluate_batch(ROWS[:6], ["faithfulness"], **options)
    for baseline in (first, strict(first.to_json())):
        again = rag_eval.evaluate_batch(
            ROWS[:6], ["faithfulness"], baseline_result=baseline, **options
        )
        assert again.regressions == []


def test_files_of_judged_runs_are_compared(tmp_path: Path) -> None:
    source = tmp_path / "rows.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in ROWS[:12]))
    files = [tmp_path / "old.json", tmp_path / "new.json"]
    metrics = ["faithfulness", "answer_relevance", "mastra.bias"]
    for level, file in zip((0.0, 1.0), files, strict=True):
        judge = FluentJudge(lambda text, level=level: level)  # type: ignore[misc]
        report = run_file(source, metrics, mode="llm", judge=judge, output=file, worst=2)
        assert len(report.worst) == 2
        worst = report.worst[0].result.metrics.faithfulness
        assert (worst.mode, worst.score) == ("llm", level)
    comparison = compare_files(*files)
    assert [(change.name, change.delta) for change in comparison.changes] == [
        ("faithfulness", 1.0),
        ("answer_relevance", 1.0),
        ("mastra.bias", 0.0),
        ("composite", 1.0),
    ]


# ----------------------------------------------------------------------------------- printed


def printed(report: JudgeReport | None, show: Any = print_judging) -> str:
    console = Console(file=io.StringIO(), width=200)
    show(report, console)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_the_table_says_what_went_wrong_and_what_was_saved() -> None:
    found = totals(["faithfulness"], **CASCADE)
    rows = [
        {"faithfulness": judged(1.0, 0.1, is_audit=True)},
        {"faithfulness": judged(1.0, 1.0, by_judge=((1.0, None),), flaky=True)},
        {"faithfulness": failed(NullReason.JUDGE_TIMED_OUT)},
        {},
        {},
    ]
    add(found, rows)
    text = printed(found.report(cost_usd=0.25, late_replies=3))
    line = next(line for line in text.splitlines() if line.startswith("faithfulness "))
    assert line.split()[1:] == [
        *("3/5", "1", "6", "3", "6", "333"),
        *("50", "%", "100", "%", "(21", "to", "100", "%)"),
    ]
    for said in (
        "judged by callable:fluent, mode cascade, style claims",
        "1 judgement failed with judge_timed_out, for example ",
        "faithfulness: 1 row with incomplete judgements",
        "faithfulness: 1 flaky row: repeats disagree on pass or fail",
        "cost 0.2500 USD at the given prices",
        "replies that arrived after their deadline and were discarded: 3",
    ):
        assert said in text
    assert printed(None) == ""


def test_the_noise_of_repeats_is_told_beside_that_of_rows() -> None:
    """Means of 0.25 and 0.75 from two repeats each, as in the tests of the statistic."""
    found = totals(["faithfulness"], **CASCADE)
    repeats = ((0.0, 0.5), (None, 0.5, 1.0))
    add(found, [{"faithfulness": judged(0.5, by_judge=(one,))} for one in repeats])
    # Two judges differ for other reasons than two calls of one.
    add(found, [{"faithfulness": judged(0.5, by_judge=((0.0,), (1.0,)))}])
    report = found.report()
    assert (
        "faithfulness: 50% of the noise of the mean comes from repeats and 50% from rows: twice "
        "the rows would narrow its interval by 29%, twice the repeats by 13%"
    ) in printed(report)
    noise = report.to_dict()["metrics"]["faithfulness"]["repeatNoise"]
    assert (noise["nRows"], noise["shareOfRepeats"]) == (2, 0.5)
    alone = totals(["faithfulness"], **CASCADE)
    add(alone, [{"faithfulness": judged(0.5)}, {"faithfulness": judged(1.0)}])
    assert alone.report().to_dict()["metrics"]["faithfulness"]["repeatNoise"] is None
    assert "noise" not in printed(alone.report())


def test_an_estimate_says_that_nobody_was_asked() -> None:
    found = totals(["faithfulness"])
    add(found, [{"faithfulness": judged()}])
    text = printed(found.report(cost_usd=1.0), print_estimate)
    assert (
        "estimate: 2 calls, 100 input tokens, 11 output tokens, about 1.00 USD; no calls were made"
        in text
    )
    assert "USD" not in printed(found.report(), print_estimate)
    assert "share" not in text


def test_an_estimate_names_the_metrics_that_share_calls() -> None:
    """Regression: they had rows to judge and no calls, without a reason."""
    found = totals(["faithfulness", "hallucination_rate"])
    add(found, [{"faithfulness": judged(), "hallucination_rate": judged(tally=Tally())}])
    text = printed(found.report(), print_estimate)
    assert "hallucination_rate shares the calls of other metrics" in text
