"""Factuality and tone through the calls for samples: judged, and without a judge where it fails."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rag_eval
from rag_eval.errors import InputError
from rag_eval.results.row import MetricResult
from rag_eval.samples import NullReason
from tests.fluent_judge import FluentJudge
from tests.tables import every_row

FACTUALITY = "regtrace.factuality"
TONE = "regtrace.tone"
BOTH = (FACTUALITY, TONE)
SAMPLES = [
    {
        "id": f"q{n}",
        "question": "What is the capital of France?",
        "answer": f"Paris is the capital. It has {n} rivers.",
        "contexts": ["Paris is the capital of France."],
        "ground_truth": "Paris is the capital.",
    }
    for n in range(6)
]
STAND_INS = {
    FACTUALITY: {"evaluationType": "deterministic", "confidence": 0.5},
    TONE: {"evaluationType": "deterministic", "confidence": 0.7},
}
JUDGED = {"evaluationType": "llm_judged", "confidence": 0.75}


def kind(text: str) -> float:
    """A judge to whom all claims of numbers are wrong, and the tone a little off."""
    return 0.0 if "rivers" in text and "capital" not in text else 0.79 if "rivers" in text else 1.0


class Broken:
    """A judge that is down for some rows, or for all."""

    judge_name = "broken"

    def __init__(self, *marks: str) -> None:
        self._marks = marks
        self._judge = FluentJudge(kind)

    def __call__(self, prompt: str) -> str:
        if not self._marks or any(mark in prompt for mark in self._marks):
            raise RuntimeError("the server is down")
        return self._judge(prompt)


def scored(sample: Any, *metrics: str, **options: Any) -> dict[str, MetricResult]:
    return dict(rag_eval.evaluate(sample, metrics or BOTH, **options).metrics)


# ------------------------------------------------------------------------------- who is asked


def test_a_judge_scores_both_and_its_findings_are_kept() -> None:
    judge = FluentJudge(kind)
    found = scored(SAMPLES[3], mode="llm", judge=judge)
    native = scored(SAMPLES[3])
    factual = found[FACTUALITY]
    assert (factual.score, factual.passed, factual.mode, factual.llm_calls) == (
        0.5,
        False,
        "llm",
        2,
    )
    assert found[TONE].score == 0.75
    assert judge.n_calls == 3
    for metric, result in found.items():
        assert result.judged is not None
        assert result.judged.native_score == native[metric].score
        assert result.judged.judge_score == result.score
        assert result.details == result.judged.details
        assert result.details is not None
        assert result.details[-1] == JUDGED
    assert factual.details is not None
    assert [(one["actual"], one["passed"]) for one in factual.details[:-1]] == [
        ("Paris is the capital.", True),
        ("It has 3 rivers.", False),
    ]
    assert [signal.message for signal in factual.signals] == ["contradicted: so"]
    assert factual.signals[0].evidence == "It has 3 rivers."


def test_a_batch_in_any_call_has_the_scores_of_its_rows() -> None:
    options: dict[str, Any] = {"mode": "llm", "judge": FluentJudge(kind)}
    alone = [scored(sample, **options) for sample in SAMPLES]
    expected = [[row[metric].score for metric in BOTH] for row in alone]
    batch = rag_eval.evaluate_batch(SAMPLES, BOTH, **options, threads=2)
    later = asyncio.run(rag_eval.aevaluate_batch(SAMPLES, BOTH, **options))
    table = rag_eval.evaluate_batch(pa.Table.from_pylist(SAMPLES), BOTH, **options)
    for result in (batch, later, table):
        np.testing.assert_array_equal(result.scores, expected)
        for row, found in zip(result.results, alone, strict=True):
            for metric in BOTH:
                assert row.metrics[metric].to_dict(details=True) == found[metric].to_dict(
                    details=True
                )


@every_row(
    ("options", "judged"),
    [
        ({"metric_modes": {FACTUALITY: "llm"}}, {FACTUALITY}),
        ({"mode": "hybrid", "metric_modes": {TONE: "llm"}}, {TONE}),
        ({"mode": "hybrid"}, {"faithfulness"}),
        ({"mode": "llm", "metric_modes": {TONE: "heuristic"}}, {FACTUALITY, "faithfulness"}),
    ],
)
def test_modes_say_who_is_asked(options: dict[str, Any], judged: set[str]) -> None:
    metrics = ("faithfulness", *BOTH)
    native = scored(SAMPLES[0], *metrics)
    found = scored(SAMPLES[0], *metrics, **options, judge=FluentJudge(kind))
    assert {metric for metric, one in found.items() if one.mode == "llm"} == judged
    for metric in set(metrics) - judged:
        assert found[metric] == native[metric]


def test_without_a_mode_no_judge_is_asked() -> None:
    judge = FluentJudge()
    assert scored(SAMPLES[0], judge=judge) == scored(SAMPLES[0])
    assert judge.n_calls == 0


def test_a_row_that_lacks_a_field_or_has_nothing_to_judge_costs_nothing() -> None:
    judge = FluentJudge()
    rows = [{"question": "q"}, {"answer": "An answer."}]
    batch = rag_eval.evaluate_batch(rows, BOTH, mode="llm", judge=judge)
    assert judge.n_calls == 0
    assert np.isnan(batch.scores).all()
    lacking, nothing = batch.null_reasons.tolist()
    assert set(lacking) == {NullReason.MISSING_FIELD}
    assert set(nothing) == {NullReason.NOTHING_TO_MEASURE}
    assert "No answer given." in batch.results[0].metrics[TONE].explanation


# ------------------------------------------------------------------------------------- cascade


def test_scorers_keep_their_scores_beside_a_cascade() -> None:
    metrics = ("faithfulness", "mastra.completeness", FACTUALITY)
    options: dict[str, Any] = {"profile": "grounded", "judge": FluentJudge(kind)}
    cascade = rag_eval.evaluate_batch(
        SAMPLES, metrics, mode="cascade", cascade_band=(0, 1), **options
    )
    native = rag_eval.evaluate_batch(SAMPLES, metrics, profile="grounded")
    np.testing.assert_array_equal(cascade.scores[:, 1:], native.scores[:, 1:])
    assert cascade.judging is not None
    assert set(cascade.judging.metrics) == {"faithfulness"}
    opened = cascade.results[2].metrics
    assert opened["faithfulness"].mode == "llm"
    assert opened[FACTUALITY] == native.results[2].metrics[FACTUALITY]
    assert set(cascade.notes) >= set(native.notes)


@every_row(
    ("options", "message"),
    [
        (
            {"metric_modes": {TONE: "llm"}},
            "cannot score regtrace.tone: a judge cannot score only some",
        ),
        ({"cascade_band": {TONE: (0, 1)}}, "cascade_band names regtrace.tone, which is not judged"),
        ({"metrics": [TONE]}, "mode='cascade' judges none of the requested metrics"),
    ],
)
def test_a_cascade_cannot_judge_them(options: dict[str, Any], message: str) -> None:
    options = {"metrics": ["faithfulness", TONE], "cascade_band": (0, 1), **options}
    with pytest.raises(InputError, match=message):
        rag_eval.evaluate_batch(
            SAMPLES, profile="grounded", mode="cascade", judge=FluentJudge(), **options
        )


# ------------------------------------------------------------------------------------ fallback


@every_row("on_failure", ["null", "heuristic"])
def test_where_the_judge_fails_the_scorer_itself_stands_in(on_failure: Any) -> None:
    native = scored(SAMPLES[1])
    found = scored(SAMPLES[1], mode="llm", judge=Broken(), retries=0, on_judge_failure=on_failure)
    for metric, one in found.items():
        plain = native[metric]
        assert (one.score, one.passed, one.mode) == (plain.score, plain.passed, "heuristic")
        assert one.null_reason == NullReason.MEASURED
        assert one.details == (*(plain.details or ()), STAND_INS[metric])
        assert one.explanation == plain.explanation
        assert one.signals[:-1] == plain.signals
        assert one.signals[-1].id == f"{metric}-judge-failed"
        assert "the server is down; the native score is used instead" in one.signals[-1].message
        assert one.judged is not None
        assert one.judged.is_fallback
        assert one.judged.failure == NullReason.JUDGE_FAILED
        assert one.to_dict()["judge"]["fallback"] is True


def test_one_bad_row_of_a_batch_falls_back_and_is_counted() -> None:
    batch = rag_eval.evaluate_batch(
        SAMPLES, BOTH, mode="llm", judge=Broken("has 4 rivers"), retries=0
    )
    native = rag_eval.evaluate_batch(SAMPLES, BOTH)
    assert batch.scores[4].tolist() == native.scores[4].tolist() != [0.5, 0.75]
    assert batch.scores[3].tolist() == [0.5, 0.75]
    assert [row.metrics[TONE].mode for row in batch.results] == [*["llm"] * 4, "heuristic", "llm"]
    assert batch.results[4].metrics[FACTUALITY].details[-1] == STAND_INS[FACTUALITY]  # type: ignore[index]
    assert batch.judging is not None
    for metric, calls in ((FACTUALITY, 11), (TONE, 6)):
        report = batch.judging.metrics[metric].to_dict()
        assert (report["nJudged"], report["nFallback"], report["nNull"]) == (6, 1, 0)
        assert report["failures"] == {"judge_failed": 1}
        assert report["llmCalls"] == calls


def test_a_failure_without_any_score_is_null_with_its_reason() -> None:
    sample = {"answer": "Hello there.", "ground_truth": "Hei, hyvää päivää.", "language": "fi"}
    assert scored(sample, TONE)[TONE].score is None
    found = scored(sample, TONE, mode="llm", judge=Broken(), retries=0)[TONE]
    assert (found.score, found.null_reason) == (None, NullReason.JUDGE_FAILED)
    assert found.details == ()
    assert "the server is down" in found.explanation


def test_calls_that_a_limit_forbids_fall_back() -> None:
    judge = FluentJudge(kind)
    batch = rag_eval.evaluate_batch(
        SAMPLES, BOTH, mode="llm", judge=judge, max_calls=3, concurrency=1
    )
    native = rag_eval.evaluate_batch(SAMPLES, BOTH)
    assert judge.n_calls == 3
    np.testing.assert_array_equal(batch.scores[1:], native.scores[1:])
    last = batch.results[-1].metrics[FACTUALITY]
    assert last.judged is not None
    assert last.judged.failure == NullReason.JUDGE_BUDGET
    assert last.details is not None
    assert last.details[-1] == STAND_INS[FACTUALITY]


# ------------------------------------------------------------- several judges, options, signature


def test_judges_and_repeats_are_means_and_the_first_gives_the_findings() -> None:
    judges = [FluentJudge(lambda text: 1.0), FluentJudge(lambda text: 0.0, judge_name="stern")]
    found = scored(SAMPLES[0], mode="llm", judges=judges, judge_repeat=2)
    for one in found.values():
        assert one.score == 0.5
        assert one.judged is not None
        assert one.judged.by_judge == ((1.0, 1.0), (0.0, 0.0))
        assert one.details is not None
        assert all(finding.get("passed", True) for finding in one.details)
    assert sum(one.llm_calls for one in found.values()) == 12
    assert [judge.n_calls for judge in judges] == [6, 6]


def test_one_of_two_judges_is_enough() -> None:
    found = scored(SAMPLES[0], mode="llm", judges=[Broken(), FluentJudge(kind)], retries=0)
    assert {one.mode for one in found.values()} == {"llm"}
    assert found[FACTUALITY].details is not None
    assert found[FACTUALITY].details[-1] == JUDGED
    assert found[TONE].judged is not None
    assert found[TONE].judged.by_judge == ((None,), (0.75,))


def test_options_of_the_scorer_reach_the_judged_rule() -> None:
    judge = FluentJudge(lambda text: 0.5)
    strict = scored(SAMPLES[0], mode="llm", judge=judge)
    options = {FACTUALITY: {"mode": "lenient"}, TONE: {"subDimensions": ["formality"]}}
    found = scored(SAMPLES[0], mode="llm", judge=judge, scorer_options=options)
    assert (strict[FACTUALITY].score, found[FACTUALITY].score) == (0.0, 1.0)
    assert [one.get("check") for one in found[TONE].details or ()] == ["tone.formality", None]


def test_the_signature_tells_judged_scores_from_others() -> None:
    def signed(**options: Any) -> dict[str, Any]:
        signature = rag_eval.evaluate(SAMPLES[0], BOTH, **options).signature
        assert signature is not None
        return dict(signature.to_dict()["options"])

    judge = FluentJudge()
    plain = signed()
    judged = signed(mode="llm", judge=judge)
    assert plain == {"scorers": {FACTUALITY: {"version": 1}, TONE: {"version": 1}}, **plain}
    assert "judged" not in plain
    assert judged["scorers"] == plain["scorers"]
    assert judged["judged"] == list(BOTH)
    assert set(judged["judgePrompts"]) == set(BOTH)
    assert judged["judges"] == [{"provider": "callable", "model": "fluent"}]
    body = "Hear $model_text, then $answer: $dimension"
    other = signed(mode="llm", judge=judge, prompt_overrides={TONE: body})
    assert other["judgePrompts"][TONE] != judged["judgePrompts"][TONE]
    assert other["judgePrompts"][FACTUALITY] == judged["judgePrompts"][FACTUALITY]


def test_a_prompt_of_the_callers_own_is_sent() -> None:
    judge = Listening()
    body = "MY OWN WORDS $expected_output $context_document $claim"
    scored(
        SAMPLES[0],
        FACTUALITY,
        mode="llm",
        judge=judge,
        prompt_overrides={FACTUALITY: {"factuality_verdicts": body}},
        retries=0,
    )
    assert ["MY OWN WORDS" in prompt for prompt in judge.prompts] == [False, True, True]
    with pytest.raises(InputError, match="has no variable \\$claims; did you mean 'claim'"):
        scored(SAMPLES[0], mode="llm", judge=judge, prompt_overrides={FACTUALITY: "See $claims"})


class Listening:
    """A judge that knows no prompt but those of the library, and keeps what it hears."""

    judge_name = "listening"

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        if "MY OWN WORDS" in prompt:
            return "no JSON"
        return FluentJudge()(prompt)


def test_replies_are_kept_and_not_asked_for_again(tmp_path: Path) -> None:
    judge = FluentJudge(kind)
    options: dict[str, Any] = {"mode": "llm", "judge": judge, "judge_cache": tmp_path / "kept"}
    first = rag_eval.evaluate_batch(SAMPLES, BOTH, **options)
    n_calls = judge.n_calls
    again = rag_eval.evaluate_batch(SAMPLES, BOTH, **options)
    assert judge.n_calls == n_calls
    np.testing.assert_array_equal(first.scores, again.scores)
    assert again.results[0].metrics[TONE].details == first.results[0].metrics[TONE].details


def test_a_file_of_judged_results_is_read_back_with_its_findings(tmp_path: Path) -> None:
    batch = rag_eval.evaluate_batch(SAMPLES, BOTH, mode="llm", judge=FluentJudge(kind))
    batch.to_json(tmp_path / "out.json")
    read = rag_eval.BatchEvalResult.from_json(tmp_path / "out.json")
    np.testing.assert_array_equal(read.scores, batch.scores)
    assert read.signature == batch.signature
    for row, found in zip(batch.results, read.results, strict=True):
        for metric in BOTH:
            assert found.metrics[metric].details == row.metrics[metric].details
            assert found.metrics[metric].mode == "llm"
