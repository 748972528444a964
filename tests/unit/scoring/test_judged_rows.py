"""Judged rows: what of several judgements becomes a score, and what a reader is told."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import rag_eval
from rag_eval.errors import InputError
from rag_eval.judge.loop_thread import Job, run_jobs
from rag_eval.judge.replies import JudgeReply, Tally
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.results.judged import JudgedScore
from rag_eval.samples import EvalSample, NullReason
from rag_eval.scoring import judged_rows
from rag_eval.scoring.judgements import OneJudgement, combined
from tests.fluent_judge import FluentJudge, read_prompt
from tests.judging import reply_with
from tests.tables import every_row

MEASURED = NullReason.MEASURED
SAMPLE: dict[str, Any] = {
    "id": "q1",
    "question": "What is known about the church?",
    "answer": "The church was built in 1912. Its bell weighs 2 tons.",
    "contexts": ["The church was built in 1912.", "It rained."],
    "ground_truth": "It was built in 1912.",
}


def no_json(prompt: str) -> str:
    return "I would rather not."


def one(score: float | None, reason: NullReason = MEASURED, message: str = "") -> OneJudgement:
    return OneJudgement(score, reason, message, explanation=f"said {score}")


def of(
    *judgements: OneJudgement,
    repeat: int = 1,
    threshold: float | None = 0.5,
    higher_is_better: bool = True,
) -> JudgedScore:
    return combined(
        judgements,
        repeat=repeat,
        threshold=threshold,
        higher_is_better=higher_is_better,
        native_score=None,
        is_audit=False,
        share=1.0,
        tally=Tally(),
    )


# ------------------------------------------------------------------------- several judgements


def test_every_judge_counts_alike_however_many_of_its_repeats_failed() -> None:
    failed = one(None, NullReason.JUDGE_UNPARSED, "no JSON")
    found = of(one(1.0), one(0.0), one(1.0), failed, repeat=2)
    assert found.by_judge == ((1.0, 0.0), (1.0, None))
    assert found.score == found.judge_score == 0.75
    assert found.null_reason == found.failure == MEASURED
    assert found.is_partial
    assert not found.failed
    assert found.message == "no JSON"
    assert found.explanation == "said 1.0"


def test_a_judgement_that_finds_nothing_to_score_counts_before_one_that_failed() -> None:
    failed = one(None, NullReason.JUDGE_REFUSED, "refused")
    nothing = one(None, NullReason.NOTHING_TO_MEASURE, "claims nothing")
    for judgements in ((failed, nothing), (nothing, failed)):
        found = of(*judgements)
        assert found.null_reason == NullReason.NOTHING_TO_MEASURE
        assert not found.failed
        assert not found.is_partial
    both = of(failed, one(None, NullReason.JUDGE_TIMED_OUT))
    assert both.failure == both.null_reason == NullReason.JUDGE_REFUSED


def test_what_a_stop_cut_short_is_no_score() -> None:
    """Taken up again, the row would get another one."""
    found = of(one(1.0), one(None, NullReason.JUDGE_INTERRUPTED, "stopped"), repeat=2)
    assert found.score is None
    assert found.judge_score is None
    assert found.failure == NullReason.JUDGE_INTERRUPTED


def test_judges_that_contradict_each_other_are_not_flaky() -> None:
    apart = of(one(1.0), one(1.0), one(0.0), one(0.0), repeat=2)
    assert not apart.flaky
    assert apart.spread == pytest.approx(3**-0.5)
    assert of(one(1.0), one(1.0), one(1.0), one(0.0), repeat=2).flaky


def test_flaky_is_a_matter_of_the_threshold_and_the_direction() -> None:
    scores = one(0.5), one(0.6)
    assert not of(*scores, repeat=2).flaky
    assert of(*scores, repeat=2, threshold=0.55).flaky
    # Lower is better: 0.5 passes, 0.6 does not, where higher would pass both.
    assert of(*scores, repeat=2, higher_is_better=False).flaky
    assert not of(*scores, repeat=2, threshold=None).flaky


def test_the_callers_threshold_says_what_is_flaky() -> None:
    levels = iter([0.6, 1.0] * 2)

    def judge(prompt: str) -> str:
        return reply_with(prompt, reason="so", rating=1 + round(4 * next(levels)))

    options: dict[str, Any] = {"mode": "llm", "judge": judge, "judge_style": "rating"}
    usual = rag_eval.evaluate(SAMPLE, ["faithfulness"], judge_repeat=2, concurrency=1, **options)
    strict = rag_eval.evaluate(
        SAMPLE,
        ["faithfulness"],
        judge_repeat=2,
        concurrency=1,
        thresholds={"faithfulness": 0.9},
        **options,
    )
    found = [row.metrics.faithfulness.judged for row in (usual, strict)]
    assert [row is not None and row.flaky for row in found] == [False, True]


def test_few_rows_have_few_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: one row had a worker for each call that could be in flight."""
    widths = []

    async def noted(jobs: Iterator[Job], width: int) -> None:
        widths.append(width)
        await run_jobs(jobs, width)

    monkeypatch.setattr(judged_rows, "run_jobs", noted)
    options: dict[str, Any] = {"mode": "llm", "judge": FluentJudge(), "concurrency": 9_000}
    assert rag_eval.evaluate_batch([SAMPLE] * 2, ["faithfulness"], **options).n_rows == 2
    assert widths == [3]


# --------------------------------------------------------------------------- what a reader gets


def test_a_scorer_without_a_reason_still_says_what_its_score_is() -> None:
    quiet = rag_eval.evaluate(
        SAMPLE,
        ["mastra.faithfulness"],
        judge=FluentJudge(),
        scorer_options={"mastra.faithfulness": {"with_reason": False}},
    ).metrics["mastra.faithfulness"]
    assert quiet.score is not None
    assert quiet.explanation == (
        f"The judge's verdicts give a score of {quiet.score:.2f}; no reason was requested."
    )

    def tongue_tied(prompt: str) -> str | JudgeReply:
        if read_prompt(prompt).step.endswith("_reason"):
            return JudgeReply("", finish_reason="refusal")
        return FluentJudge()(prompt)

    mute = rag_eval.evaluate(SAMPLE, ["mastra.faithfulness"], judge=tongue_tied)
    assert mute.metrics["mastra.faithfulness"].score == quiet.score
    assert mute.metrics["mastra.faithfulness"].explanation == (
        f"The judge's verdicts give a score of {quiet.score:.2f}; no reason: the judge refused."
    )


def test_every_judged_metric_is_explained_and_can_be_written() -> None:
    metrics = [*METRIC_IDS, "omk.faithfulness", "mastra.bias", "mastra.faithfulness"]
    for style in ("claims", "rating"):
        result = rag_eval.evaluate(
            SAMPLE, metrics, mode="llm", judge=FluentJudge(), judge_style=style
        )
        assert all(found.explanation for found in result.metrics.values())
        written = json.loads(json.dumps(result.to_dict(details=True), allow_nan=False))
        for entry in written["metrics"].values():
            assert entry["judge"]["verdicts"]
            assert not [name for name in entry["judge"] if "_" in name]


def test_a_low_rating_is_a_signal_and_a_fair_one_is_none() -> None:
    def severities(level: float) -> list[str]:
        result = rag_eval.evaluate(
            SAMPLE,
            ["answer_relevance"],
            mode="llm",
            judge=FluentJudge(lambda text: level),
            judge_style="rating",
        )
        return [signal.severity for signal in result.metrics.answer_relevance.signals]

    assert [severities(level) for level in (0.0, 0.3, 0.5)] == [["critical"], ["warning"], []]


def test_a_native_score_that_stands_in_is_explained_as_such() -> None:
    native = rag_eval.evaluate(SAMPLE, ["faithfulness"]).metrics.faithfulness
    found = rag_eval.evaluate(
        SAMPLE, ["faithfulness"], mode="llm", judge=no_json, on_judge_failure="heuristic"
    ).metrics.faithfulness
    assert (found.score, found.explanation) == (native.score, native.explanation)
    assert found.signals[:-1] == native.signals
    assert found.signals[-1].message.endswith("; the native score is used instead")
    assert found.signals[-1].id == "faithfulness-judge-unparsed"


def test_a_failed_judgement_is_explained_by_its_failure() -> None:
    found = rag_eval.evaluate(SAMPLE, ["faithfulness"], mode="llm", judge=no_json)
    assert found.metrics.faithfulness.score is None
    assert found.metrics.faithfulness.explanation == "the reply holds no JSON object"
    assert found.metrics.faithfulness.passed is None


# ----------------------------------------------------------------------------- rows of all kinds


@every_row("metric", ["mastra.bias", "mastra.answer_relevancy", "omk.answer_relevancy"])
def test_what_has_no_answer_is_not_put_to_a_judge(metric: str) -> None:
    judge = FluentJudge()
    result = rag_eval.evaluate_batch(
        [{"question": "Why so?"}], [metric], judge=judge, allow_missing=True
    )
    assert result.null_reasons.tolist() == [[NullReason.MISSING_FIELD]]
    assert judge.n_calls == 0
    assert "answer" in result.results[0].metrics[metric].explanation
    assert result.judging is not None
    assert result.judging.n_failed == 0


def test_a_text_of_a_wrong_type_names_its_row() -> None:
    rows = [SAMPLE, {**SAMPLE, "id": "q2", "question": 3}]
    with pytest.raises(InputError, match=r'^sample 1 \("q2"\): question must be a string, got int'):
        rag_eval.evaluate_batch(rows, ["omk.answer_relevancy"], judge=FluentJudge())


def test_rows_can_be_samples_with_several_ground_truths() -> None:
    metrics = ["faithfulness", "context_recall", "omk.semantic_similarity"]
    truths = ["Nobody knows.", "It was built in 1912."]
    options: dict[str, Any] = {"mode": "llm", "profile": "grounded", "judge": FluentJudge()}
    as_dict = rag_eval.evaluate_batch([{**SAMPLE, "ground_truth": truths}], metrics, **options)
    sample = EvalSample(**{**SAMPLE, "ground_truth": truths})
    as_sample = rag_eval.evaluate_batch([sample], metrics, **options)
    assert not np.isnan(as_dict.scores).any()
    assert np.array_equal(as_dict.scores, as_sample.scores)


def test_a_metric_named_twice_in_two_spellings_is_judged_once() -> None:
    judge = FluentJudge()
    result = rag_eval.evaluate_batch(
        [SAMPLE],
        ["answerRelevance", "answer_relevance", "contextRecall"],
        mode="hybrid",
        judge=judge,
    )
    assert result.metrics == ("answer_relevance", "context_recall")
    assert judge.steps == {"answer_statements": 1}
    scores = result.scores[0]
    assert result.composite_scores[0] == pytest.approx((2 * scores[0] + scores[1]) / 3)


def test_no_rows_are_a_result_without_calls() -> None:
    judge = FluentJudge()
    result = rag_eval.evaluate_batch([], mode="llm", judges=[judge, judge])
    assert judge.n_calls == 0
    assert result.scores.shape == (0, 7)
    assert result.judging is not None
    assert result.judging.agreement == {}
    assert json.loads(result.to_json() or "")["judging"]["metrics"]["faithfulness"]["nRows"] == 0


class Unhashable:
    """A judge that is equal to nothing and has no hash."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return False

    def __call__(self, prompt: str) -> str:
        return FluentJudge()(prompt)


@every_row(
    "judge",
    [functools.partial(FluentJudge()), Unhashable(), lambda prompt: FluentJudge()(prompt)],
    ids=["partial", "unhashable", "lambda"],
)
def test_a_judge_is_whatever_can_be_called(judge: Any) -> None:
    expected = rag_eval.evaluate(SAMPLE, ["faithfulness"], mode="llm", judge=FluentJudge())
    found = rag_eval.evaluate(SAMPLE, ["faithfulness"], mode="llm", judges=[judge, judge])
    assert found.metrics.faithfulness.score == expected.metrics.faithfulness.score


# ------------------------------------------------------------------------------- callbacks


class StopHereError(Exception):
    """What a caller's own function raises."""


def stop_here(completed: int, total: int | None) -> None:
    raise StopHereError


@every_row("is_async", [False, True])
def test_what_on_progress_raises_ends_the_run_and_its_calls(is_async: bool) -> None:
    judge = FluentJudge()
    rows = [{**SAMPLE, "answer": f"The bell weighs {n} tons."} for n in range(3000)]

    options: dict[str, Any] = {"mode": "llm", "judge": judge, "on_progress": stop_here}

    def run() -> None:
        if is_async:
            asyncio.run(rag_eval.aevaluate_batch(rows, ["answer_relevance"], **options))
        rag_eval.evaluate_batch(rows, ["answer_relevance"], **options)

    with pytest.raises(StopHereError):
        run()
    assert judge.n_calls < len(rows)


def test_frames_of_judged_rows_are_like_those_of_kernels() -> None:
    result = rag_eval.evaluate_batch(
        [SAMPLE], ["faithfulness", "mastra.bias"], mode="llm", judge=FluentJudge()
    )
    frame = result.to_pandas()
    scored = ["faithfulness", "mastra.bias", "composite_score", "passed"]
    assert list(frame.columns) == ["id", *scored]
    assert frame["faithfulness"].tolist() == result.scores[:, 0].tolist()
