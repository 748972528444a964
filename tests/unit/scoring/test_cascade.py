"""The cascade: who is judged, who is audited, and the one scale that all rows are on."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rag_eval
from rag_eval.calibration.applied import calibrated
from rag_eval.calibration.probabilities import IsotonicMap
from rag_eval.calibration.result import Calibration
from rag_eval.errors import InputError
from rag_eval.gating.limits import Gates, check_gates
from rag_eval.jobs.file_scoring import score_file
from rag_eval.judge.metrics.catalogue import JUDGED_METRICS
from rag_eval.kernels.verdicts import verdicts_of
from rag_eval.metrics.seven import GROUNDED_METRICS
from rag_eval.options.cascade import (
    audited,
    cut_at,
    is_verdict_only,
    judge_threshold,
    uncertain,
    unjudged_passes,
    unjudged_scores,
)
from rag_eval.options.plan import Plan, make_plan
from rag_eval.samples import NullReason
from rag_eval.stats import Interval, wilson_interval
from tests.fluent_judge import FluentJudge, read_prompt
from tests.tables import every_row

NAN = math.nan


def calibration(metric: str = "faithfulness", threshold: float = 0.3) -> Calibration:
    """Scores 0 to 1 mean just such probabilities; the threshold is not where they are even."""
    interval = Interval(
        estimate=threshold, low=None, high=None, level=0.95, n_resamples=0, n_groups=1
    )
    return Calibration(
        metric=metric,
        signature=None,
        probability_map=IsotonicMap((0.0, 1.0), (0.0, 1.0)),
        objective="balanced_accuracy",
        precision=None,
        threshold_interval=interval,
        balanced_accuracy_interval=interval,
        cross_validated_balanced_accuracy=None,
        n_labels=100,
        n_groups=100,
        n_null=0,
        share_good=0.5,
    )


def plan_of(metrics: list[str], **options: Any) -> Plan:
    given = {"mode": "cascade", "judge": FluentJudge(), **options}
    return calibrated(make_plan(metrics, given), given)[0]


def column(*scores: float) -> Any:
    return np.array(scores)


# --------------------------------------------------------------------------- who is uncertain


def test_a_calibrated_metric_is_uncertain_from_a_fifth_to_four_fifths() -> None:
    plan = plan_of(["faithfulness"], calibration=calibration())
    found = uncertain(plan, "faithfulness", column(0.19, 0.2, 0.5, 0.8, 0.81, NAN))
    assert found.tolist() == [False, True, True, True, False, False]


def test_a_band_of_the_callers_is_of_native_scores_and_goes_before_the_calibration() -> None:
    plan = plan_of(
        ["faithfulness", "context_recall"],
        calibration=[calibration(), calibration("context_recall")],
        cascade_band={"contextRecall": (0.0, 0.1)},
    )
    scores = column(0.0, 0.1, 0.11, 0.5, NAN)
    assert uncertain(plan, "context_recall", scores).tolist() == [True, True, False, False, False]
    assert uncertain(plan, "faithfulness", scores).tolist() == [False, False, False, True, False]
    assert plan.judging is not None
    assert plan.judging.signature_options(plan.calibrations)["cascadeBand"] == {
        "faithfulness": {"probability": [0.2, 0.8]},
        "context_recall": [0.0, 0.1],
    }


def test_a_metric_with_neither_band_nor_calibration_is_refused() -> None:
    with pytest.raises(
        InputError, match="cannot tell which scores of context_recall are inconclusive"
    ):
        plan_of(["faithfulness", "context_recall"], calibration=calibration())


@every_row("scorer", ["mastra.bias", "omk.faithfulness"])
def test_a_scorer_of_another_tool_has_no_place_in_a_cascade(scorer: str) -> None:
    with pytest.raises(InputError, match=f"mode='cascade' cannot score {scorer}: it has no native"):
        plan_of(["faithfulness", scorer], cascade_band=(0.1, 0.9))


# ----------------------------------------------------------------------------- who is audited


def drawn(
    ordinals: range = range(20_000), metric: str = "faithfulness", **options: Any
) -> set[int]:
    plan = plan_of(["faithfulness", "context_recall"], cascade_band=(0.5, 0.5), **options)
    return set(np.flatnonzero(audited(plan, metric, ordinals)).tolist())


def test_the_share_of_audited_rows_is_the_one_asked_for() -> None:
    n_rows, share = 20_000, 0.02
    spread = math.sqrt(n_rows * share * (1 - share))
    assert abs(len(drawn()) - n_rows * share) < 5 * spread
    assert drawn(audit_share=0) == set()
    assert len(drawn(audit_share=1)) == n_rows


def test_a_draw_is_of_the_row_the_metric_and_the_seed_alone() -> None:
    assert drawn() == drawn()
    assert drawn(range(10_000, 20_000)) == {row - 10_000 for row in drawn() if row >= 10_000}
    assert drawn(audit_share=0.01) < drawn(audit_share=0.05)
    # Independent of each other: about one in fifty of one is in the other.
    other_metric, other_seed = drawn(metric="context_recall"), drawn(judge_seed=1)
    assert len(drawn() & other_metric) < 40
    assert len(drawn() & other_seed) < 40


ROWS = [
    {
        "id": f"q{n}",
        "question": "What is known about the church?",
        "answer": f"It was built in 19{n:02d}." if n % 3 else "It seats 800 people.",
        "contexts": ["The church was built in 1912. It seats 800 people."],
    }
    for n in range(60)
]


def audit_of_all(share: float = 0.3, **options: Any) -> dict[str, Any]:
    """Nobody is uncertain: what is judged is the audit."""
    return {
        "mode": "cascade",
        "judge": FluentJudge(),
        "judge_style": "rating",
        "cascade_band": (0.0, 0.0),
        "audit_share": share,
        **options,
    }


def judged_rows(batch: Any) -> list[str]:
    return [
        str(row.sample["id"])
        for row in batch.results
        if (found := row.metrics.faithfulness.judged) is not None and found.is_audit
    ]


def judged_lines(target: Path) -> list[str]:
    rows = [json.loads(line) for line in target.read_text().splitlines()]
    return [row["id"] for row in rows if row["faithfulness_mode"] == "llm"]


def test_the_audit_draws_the_same_rows_whatever_the_input(tmp_path: Path) -> None:
    batch = rag_eval.evaluate_batch(ROWS, ["faithfulness"], **audit_of_all())
    expected = judged_rows(batch)
    assert 8 < len(expected) < 30
    later = rag_eval.evaluate_batch(iter(ROWS), ["faithfulness"], threads=2, **audit_of_all())
    assert judged_rows(later) == expected
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    for source, rows in ((one, ROWS[:25]), (two, ROWS[25:])):
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    target = tmp_path / "scores.jsonl"
    score_file([one, two], target, ["faithfulness"], **audit_of_all())
    assert judged_lines(target) == expected


def test_progress_counts_the_rows_that_nobody_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_eval.scoring.progress._INTERVAL_S", 0)
    seen: list[int] = []

    async def run() -> Any:
        report = {"on_progress": lambda done, total: seen.append(done)}
        return await rag_eval.aevaluate_batch(
            ROWS[:12], ["faithfulness"], **audit_of_all(), **report
        )

    n_judged = len(judged_rows(asyncio.run(run())))
    assert 1 < n_judged < 12
    assert seen[:n_judged] == list(range(12 - n_judged + 1, 13))


def test_a_row_that_is_skipped_keeps_its_place_in_the_draw(tmp_path: Path) -> None:
    whole = rag_eval.evaluate_batch(ROWS, ["faithfulness"], **audit_of_all())
    expected = [name for name in judged_rows(whole) if name != "q4"]
    source = tmp_path / "rows.jsonl"
    rows = [{**row, "answer": 4} if row["id"] == "q4" else row for row in ROWS]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    target = tmp_path / "scores.jsonl"
    score_file(source, target, ["faithfulness"], skip_invalid=True, **audit_of_all())
    assert judged_lines(target) == expected


def test_a_run_that_is_taken_up_audits_what_it_would_have(tmp_path: Path) -> None:
    def write(name: str, rows: list[dict[str, Any]]) -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    many = [{**ROWS[n % 60], "id": str(n)} for n in range(300)]
    bad = [{**row, "answer": 4} if row["id"] == "250" else row for row in many]
    begin, end = write("begin.jsonl", many[:150]), write("end.jsonl", many[150:])
    bad_end = write("bad_end.jsonl", bad[150:])
    whole, resumed = tmp_path / "whole.jsonl", tmp_path / "resumed.jsonl"
    score_file([begin, end], whole, ["faithfulness"], **audit_of_all(0.1))
    options = {"checkpoint_rows": 10, **audit_of_all(0.1)}
    with pytest.raises(InputError, match="are kept in"):
        score_file([begin, bad_end], resumed, ["faithfulness"], **options)
    report = score_file(
        [begin, bad_end], resumed, ["faithfulness"], resume=True, skip_invalid=True, **options
    )
    assert report.n_resumed > 0
    assert judged_lines(resumed) == [name for name in judged_lines(whole) if name != "250"]


# ------------------------------------------------------------------------------ the one scale


def test_rows_that_nobody_judges_carry_a_probability_or_a_verdict() -> None:
    plan = plan_of(
        ["faithfulness", "context_recall"],
        calibration=calibration(),
        cascade_band={"context_recall": (0.4, 0.5)},
    )
    scores = column(0.25, 0.6, 0.9, NAN)
    found = unjudged_scores(plan, "faithfulness", scores)
    assert np.allclose(found[:3], scores[:3])
    assert np.isnan(found[3])
    assert GROUNDED_METRICS["context_recall"].threshold == 0.6
    verdicts = unjudged_scores(plan, "context_recall", scores)
    assert verdicts[:3].tolist() == [0.0, 1.0, 1.0]
    assert np.isnan(verdicts[3])
    assert not is_verdict_only(plan, "faithfulness")
    assert is_verdict_only(plan, "context_recall")


def test_a_row_that_nobody_judges_passes_on_the_shared_scale() -> None:
    """The threshold of a calibration is of native scores, and has no say here."""
    usual = plan_of(["faithfulness"], calibration=calibration(threshold=0.3))
    assert [unjudged_passes(usual, "faithfulness", score) for score in (0.4, 0.5)] == [False, True]
    strict = plan_of(["faithfulness"], calibration=calibration(), thresholds={"faithfulness": 0.9})
    assert not unjudged_passes(strict, "faithfulness", 0.85)
    verdicts = plan_of(["faithfulness"], cascade_band=(0.2, 0.4))
    assert unjudged_passes(verdicts, "faithfulness", 0.6)
    assert not unjudged_passes(verdicts, "faithfulness", 0.59)


@every_row("style", ["claims", "rating"])
def test_the_judges_own_score_passes_by_the_thresholds_of_its_style(style: Any) -> None:
    own = JUDGED_METRICS[style]["faithfulness"].threshold
    given = {"thresholds": {"faithfulness": 0.9}, "judge_style": style}
    cascade = plan_of(["faithfulness"], cascade_band=(0.2, 0.4), **given)
    assert cascade.thresholds["faithfulness"] == 0.9
    assert judge_threshold(cascade, "faithfulness") == own
    judged = plan_of(["faithfulness", "mastra.bias"], mode="llm", judge_style=style)
    assert judge_threshold(judged, "faithfulness") == own
    assert judge_threshold(judged, "mastra.bias") is None
    strict = plan_of(["faithfulness"], mode="llm", **given)
    assert judge_threshold(strict, "faithfulness") == 0.9


def test_verdicts_begin_at_the_threshold_and_nulls_stay() -> None:
    found = cut_at(column(0.5, 0.49, NAN), 0.5)
    assert found[:2].tolist() == [1.0, 0.0]
    assert np.isnan(found[2])


def test_a_column_of_verdicts_has_no_part_in_the_composite() -> None:
    plan = plan_of(
        ["faithfulness", "context_recall"],
        calibration=calibration(),
        cascade_band={"context_recall": (0.4, 0.5)},
        composite_weights={"faithfulness": 2.0},
    )
    assert plan.thresholds == {"faithfulness": 0.5, "context_recall": 0.5}
    assert plan.weights == {"faithfulness": 2.0, "context_recall": 0.0}
    verdicts = verdicts_of(np.array([[0.7, 0.0], [0.7, 1.0], [NAN, 1.0]]), plan.rule)
    assert verdicts.composite[:2].tolist() == [0.7, 0.7]
    assert np.isnan(verdicts.composite[2])
    # A row passes by one that decides; the composite score decides nothing here.
    assert verdicts.passed.tolist() == [False, True, True]


def test_a_metric_without_a_threshold_passes_from_the_middle_of_its_band_on() -> None:
    plan = plan_of(["answer_relevance"], cascade_band=(0.4, 0.8))
    found = unjudged_scores(plan, "answer_relevance", np.array([0.39, 0.59, 0.61, 0.81, NAN]))
    assert found[:4].tolist() == [0.0, 0.0, 1.0, 1.0]
    assert np.isnan(found[4])


def test_rows_of_verdicts_alone_pass_by_these() -> None:
    plan = plan_of(["faithfulness"], cascade_band=(0.2, 0.4))
    assert verdicts_of(np.array([[1.0], [0.0]]), plan.rule).passed.tolist() == [True, False]


def test_the_gate_of_a_mean_says_that_verdicts_have_none() -> None:
    result = rag_eval.evaluate_batch(ROWS[:6], ["faithfulness"], **audit_of_all())
    outcomes = check_gates(result, Gates(min_mean={"faithfulness": 0.0}), 0.05)
    assert not outcomes[0].held
    assert outcomes[0].found is None
    assert outcomes[0].message == (
        "faithfulness has verdicts but no mean (6/6); its mean must be at least 0.00"
    )


def test_columns_that_no_judge_scores_stay_on_their_own_scale(tmp_path: Path) -> None:
    """A calibration of theirs gives probabilities beside the scores, as in any other mode."""
    options: dict[str, Any] = audit_of_all(0.0) | {
        "calibration": [calibration(), calibration("context_relevance")],
        "metric_modes": {"context_relevance": "heuristic"},
    }
    metrics = ["faithfulness", "context_relevance"]
    result = rag_eval.evaluate_batch(ROWS[:3], metrics, **options)
    native = rag_eval.evaluate_batch(ROWS[:3], ["context_relevance"], profile="grounded")
    assert np.array_equal(result.scores[:, 1], native.scores[:, 0])
    source, target = tmp_path / "rows.jsonl", tmp_path / "scores.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in ROWS[:3]))
    score_file(source, target, metrics, **options)
    row = json.loads(target.read_text().splitlines()[0])
    assert row["context_relevance_probability"] == pytest.approx(row["context_relevance"])
    assert "faithfulness_probability" not in row
    assert "context_relevance_mode" not in row


# -------------------------------------------------------------------------------- the audit


def test_the_error_rate_is_of_audited_rows_that_were_judged() -> None:
    """Two audits of three fail, and of the rest every one contradicts a native pass."""
    harsh = FluentJudge(lambda text: 0.0)

    def judge(prompt: str) -> str:
        (answer,) = read_prompt(prompt).texts("answer")
        return harsh(prompt) if "800" in answer else "no JSON"

    options = audit_of_all(1.0) | {"judge": judge}
    result = rag_eval.evaluate_batch(ROWS[:30], ["faithfulness"], **options)
    native = rag_eval.evaluate_batch(ROWS[:30], ["faithfulness"], profile="grounded").scores[:, 0]
    rows = [result.results[n].metrics.faithfulness.judged for n in range(30)]
    judged = np.array([row is not None and not row.failed for row in rows])
    assert judged.tolist() == [n % 3 == 0 for n in range(30)]
    wrong = int((native[judged] >= 0.6).sum())
    assert wrong > 0
    assert result.judging is not None
    found = result.judging.metrics["faithfulness"]
    assert (found.n_audited, found.n_both, found.n_failed) == (30, 10, 20)
    assert found.error_rate == wilson_interval(wrong, 10)
    assert found.n_agree == 10 - wrong


def test_rows_in_the_band_do_not_count_for_the_error_rate() -> None:
    options = audit_of_all(1.0) | {"cascade_band": (0.0, 1.0)}
    result = rag_eval.evaluate_batch(ROWS[:6], ["faithfulness"], **options)
    assert result.judging is not None
    found = result.judging.metrics["faithfulness"]
    assert (found.n_judged, found.n_audited, found.error_rate) == (6, 0, None)
    row = result.results[0].metrics.faithfulness.judged
    assert row is not None
    assert (row.is_audit, row.share) == (False, 1.0)


def test_the_probability_of_an_audit_is_recorded() -> None:
    result = rag_eval.evaluate_batch(ROWS, ["faithfulness"], **audit_of_all(0.3))
    shares = {
        found.share
        for row in result.results
        if (found := row.metrics.faithfulness.judged) is not None
    }
    assert shares == {0.3}


def test_a_native_score_that_stands_in_is_on_the_scale_of_the_cascade() -> None:
    options = audit_of_all(0.0) | {
        "judge": lambda prompt: "no JSON",
        "cascade_band": (0.0, 1.0),
        "on_judge_failure": "heuristic",
    }
    native = rag_eval.evaluate_batch(ROWS[:4], ["faithfulness"], profile="grounded").scores[:, 0]
    verdicts = rag_eval.evaluate_batch(ROWS[:4], ["faithfulness"], **options)
    assert verdicts.scores[:, 0].tolist() == (native >= 0.6).tolist()
    scaled = rag_eval.evaluate_batch(
        ROWS[:4], ["faithfulness"], **options, calibration=calibration()
    )
    assert np.allclose(scaled.scores[:, 0], native)
    assert not np.array_equal(scaled.scores, verdicts.scores)


def test_a_row_without_a_native_score_is_not_audited() -> None:
    rows = [*ROWS[:3], {**ROWS[3], "answer": ""}]
    result = rag_eval.evaluate_batch(rows, ["faithfulness"], **audit_of_all(1.0))
    assert result.judging is not None
    assert result.judging.metrics["faithfulness"].n_audited == 3
    assert result.results[3].metrics.faithfulness.judged is None
    assert result.null_reasons[3, 0] == NullReason.NOTHING_TO_MEASURE


def test_a_file_says_who_scored_each_row(tmp_path: Path) -> None:
    def judge(prompt: str) -> str:
        (answer,) = read_prompt(prompt).texts("answer")
        return "no JSON" if "800" in answer else good(prompt)

    good = FluentJudge()
    source, target = tmp_path / "rows.jsonl", tmp_path / "scores.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in ROWS[:7]))
    native = rag_eval.evaluate_batch(ROWS[:7], ["faithfulness"], profile="grounded").scores[:, 0]
    low = float(np.sort(native)[1])
    options = {"judge": judge, "cascade_band": (low, 1.0), "on_judge_failure": "heuristic"}
    score_file(source, target, ["faithfulness"], **(audit_of_all(0.0) | options))
    modes = [json.loads(line)["faithfulness_mode"] for line in target.read_text().splitlines()]
    assert modes == [
        "heuristic" if score < low else "llm" if n % 3 else "fallback"
        for n, score in enumerate(native.tolist())
    ]
    assert set(modes) >= {"llm", "fallback"}
