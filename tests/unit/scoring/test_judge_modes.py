"""Modes of judging: who scores which metric of which row, and what results say about it."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rag_eval
from rag_eval.calibration.fitting import calibrate
from rag_eval.calibration.result import Calibration
from rag_eval.errors import (
    InputError,
    SignatureMismatchError,
    UnsupportedModeError,
)
from rag_eval.gating.limits import Gates, check_gates
from rag_eval.jobs.file_scoring import score_file
from rag_eval.jobs.record_batches import BatchScorer
from rag_eval.judge.loop_thread import run_jobs
from rag_eval.judge.metrics.catalogue import JUDGED_METRICS
from rag_eval.judge.replies import JudgeReply
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.metrics.seven import GROUNDED_METRICS
from rag_eval.samples import NullReason
from tests.fluent_judge import FluentJudge
from tests.tables import every_row

FACTS = (
    "The Kiruna church was built in 1912.",
    "It seats 800 people on wooden benches.",
    "The bell weighs 2 tons.",
    "Its roof is covered with copper plates.",
    "A school stands beside the church.",
)


def sample(n: int) -> dict[str, Any]:
    """A row of which more or less of the answer is in the contexts."""
    said = [FACTS[(n + place) % len(FACTS)] for place in range(1 + n % 3)]
    invented = [f"Visitor number {n} came from Lisbon."] if n % 2 else []
    return {
        "id": f"q{n}",
        "question": "What is known about the Kiruna church?",
        "answer": " ".join([*said, *invented]),
        "contexts": [" ".join(FACTS[: 1 + n % 4]), f"The weather on day {n} was fine."],
        "ground_truth": FACTS[n % len(FACTS)],
    }


SAMPLES = [sample(n) for n in range(40)]


def labels_of(n: int) -> bool:
    return n % 2 == 0


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    scored = rag_eval.evaluate_batch(SAMPLES, ["faithfulness"], profile="grounded")
    labels = [labels_of(n) for n in range(len(SAMPLES))]
    return calibrate(scored, labels, metric="faithfulness", refit=False)


# ------------------------------------------------------------------------------- llm and hybrid


def test_a_judge_scores_all_seven() -> None:
    judge = FluentJudge()
    result = rag_eval.evaluate(SAMPLES[1], mode="llm", judge=judge)
    assert list(result.metrics) == list(METRIC_IDS)
    for metric, found in result.metrics.items():
        assert found.mode == "llm"
        assert found.judged is not None
        assert found.score == found.judged.judge_score
        assert found.threshold == JUDGED_METRICS["claims"][metric].threshold
    assert result.cost.llm_calls == judge.n_calls
    assert sum(found.llm_calls for found in result.metrics.values()) == judge.n_calls
    assert result.cost.estimated_input_tokens > 0


def test_claims_of_the_answer_are_extracted_once_for_both_metrics() -> None:
    judge = FluentJudge()
    rag_eval.evaluate(SAMPLES[1], ["faithfulness", "hallucination_rate"], mode="llm", judge=judge)
    assert judge.steps == {"extract_claims": 1, "verify_claims": 1}


def test_hybrid_judges_three_and_leaves_the_rest_to_kernels() -> None:
    native = rag_eval.evaluate(SAMPLES[3])
    mixed = rag_eval.evaluate(SAMPLES[3], mode="hybrid", judge=FluentJudge())
    judged = {metric for metric, found in mixed.metrics.items() if found.mode == "llm"}
    assert judged == {"faithfulness", "answer_relevance", "hallucination_rate"}
    for metric in set(METRIC_IDS) - judged:
        assert mixed.metrics[metric].score == native.metrics[metric].score
        assert mixed.metrics[metric].explanation == native.metrics[metric].explanation
    for metric in judged:
        found = mixed.metrics[metric].judged
        assert found is not None
        assert found.native_score == native.metrics[metric].score


def test_metric_modes_say_who_scores_what() -> None:
    judge = FluentJudge()
    result = rag_eval.evaluate(
        SAMPLES[2], mode="hybrid", metric_modes={"contextRecall": "llm"}, judge=judge
    )
    modes = {metric: found.mode for metric, found in result.metrics.items()}
    assert [metric for metric, mode in modes.items() if mode == "llm"] == ["context_recall"]
    alone = rag_eval.evaluate(SAMPLES[2], metric_modes={"context_recall": "llm"}, judge=judge)
    assert alone.metrics.context_recall.score == result.metrics.context_recall.score
    less = rag_eval.evaluate(
        SAMPLES[2], mode="llm", metric_modes={"faithfulness": "heuristic"}, judge=judge
    )
    assert less.metrics.faithfulness.mode == "heuristic"
    assert less.metrics.context_recall.mode == "llm"


@every_row(
    ("options", "message"),
    [
        (
            {"mode": "llm"},
            "mode 'llm' needs a judge. Add --judge openai:MODEL or set RAG_EVAL_JUDGE",
        ),
        ({"mode": "fast"}, "mode must be 'heuristic', 'llm', 'hybrid' or 'cascade', got 'fast'"),
        ({"mode": "llm", "judge": 7}, "judge must be a function from prompt to reply"),
        ({"mode": "llm", "judges": []}, "judges must be a list of judges"),
        ({"mode": "llm", "judge": str, "judges": [str]}, "give either judge or judges, not both"),
        ({"mode": "llm", "judge": str, "judge_style": "vibes"}, "judge_style must be 'claims'"),
        ({"mode": "llm", "judge": str, "judge_repeat": 0}, "judge_repeat must be a whole number"),
        ({"mode": "llm", "judge": str, "concurrency": 0}, "concurrency must be a whole number"),
        ({"mode": "llm", "judge": str, "cascade_band": (0.1, 0.2)}, "needs mode='cascade'"),
        ({"mode": "llm", "judge": str, "audit_share": 2}, "audit_share must be between 0 and 1"),
        ({"mode": "llm", "judge": str, "budget_usd": 1}, "price"),
        ({"judge_repeat": 3}, "judge_repeat has no effect in mode 'heuristic'"),
        ({"metric_modes": {"faithfulness": "maybe"}}, "must be 'heuristic' or 'llm'"),
        (
            {"mode": "llm", "judge": str, "on_judge_failure": "zero"},
            "on_judge_failure must be 'null' or 'heuristic'",
        ),
        ({"mode": "cascade", "judge": str, "profile": "overlap"}, "needs --profile grounded"),
        (
            {"mode": "cascade", "judge": str},
            "cannot tell which scores of faithfulness are inconclusive",
        ),
        (
            {"mode": "cascade", "judge": str, "cascade_band": (0.7, 0.2)},
            "cascade_band must be ",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_any_call(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        rag_eval.evaluate_batch(SAMPLES[:1], **options)


def test_a_mode_without_a_judge_is_unsupported() -> None:
    with pytest.raises(UnsupportedModeError):
        rag_eval.evaluate(SAMPLES[0], mode="hybrid")


def test_diagnostics_cannot_be_judged() -> None:
    with pytest.raises(InputError, match="no judge can score this diagnostic"):
        rag_eval.evaluate(
            SAMPLES[0],
            ["self_knowledge"],
            profile="grounded",
            metric_modes={"self_knowledge": "llm"},
            judge=FluentJudge(),
        )


@every_row("style", ["claims", "rating"])
def test_every_way_in_gives_the_same_bits(style: Any, tmp_path: Path) -> None:
    options: dict[str, Any] = {"mode": "llm", "judge_style": style}
    batch = rag_eval.evaluate_batch(SAMPLES[:9], judge=FluentJudge(), concurrency=1, **options)
    wide = rag_eval.evaluate_batch(iter(SAMPLES[:9]), judge=FluentJudge(), concurrency=7, **options)
    later = asyncio.run(
        rag_eval.aevaluate_batch(SAMPLES[:9], judge=FluentJudge(), threads=1, **options)
    )
    for other in (wide, later):
        assert np.array_equal(batch.scores, other.scores, equal_nan=True)
        assert np.array_equal(batch.null_reasons, other.null_reasons)
        assert batch.total_cost == other.total_cost
    one = rag_eval.evaluate(SAMPLES[4], judge=FluentJudge(), **options)
    assert [found.score for found in one.metrics.values()] == [
        None if math.isnan(score) else score for score in batch.scores[4]
    ]
    source, target = tmp_path / "rows.jsonl", tmp_path / "scores.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in SAMPLES[:9]))
    score_file(source, target, judge=FluentJudge(), **options)
    rows = [json.loads(line) for line in target.read_text().splitlines()]
    assert [row["faithfulness"] for row in rows] == batch.scores[:, 0].tolist()
    assert {row["faithfulness_mode"] for row in rows} == {"llm"}


def test_aevaluate_gives_what_evaluate_gives() -> None:
    options: dict[str, Any] = {"mode": "hybrid", "judge": FluentJudge()}
    now = rag_eval.evaluate(SAMPLES[5], **options)
    later = asyncio.run(rag_eval.aevaluate(SAMPLES[5], **options))
    assert {m: f.score for m, f in now.metrics.items()} == {
        m: f.score for m, f in later.metrics.items()
    }
    evaluator = rag_eval.create_evaluator(**options)
    kept = asyncio.run(evaluator.aevaluate(SAMPLES[5]))
    assert kept.metrics.faithfulness.score == now.metrics.faithfulness.score
    batch = asyncio.run(evaluator.aevaluate_batch(SAMPLES[5:6]))
    assert batch.results[0].metrics.faithfulness.score == now.metrics.faithfulness.score


def test_rows_open_with_verdicts_and_reasons() -> None:
    batch = rag_eval.evaluate_batch(
        SAMPLES[:3], ["faithfulness"], mode="llm", judge=FluentJudge(lambda text: 0.0)
    )
    found = batch.results[1].metrics.faithfulness
    assert found.score == 0.0
    assert found.judged is not None
    assert {verdict["verdict"] for verdict in found.judged.details} == {"contradicted"}
    assert {signal.severity for signal in found.signals} == {"critical"}
    assert all(signal.evidence for signal in found.signals)
    written = json.loads(json.dumps(batch.to_dict(details=True)))
    assert written["results"][1]["metrics"]["faithfulness"]["judge"]["verdicts"]
    assert written["judging"]["metrics"]["faithfulness"]["nJudged"] == 3


# ------------------------------------------------------------------------------------ signatures


def test_what_can_change_a_verdict_is_in_the_signature() -> None:
    def signature(**options: Any) -> Any:
        return rag_eval.evaluate(
            SAMPLES[0], ["faithfulness"], mode="llm", **{"judge": FluentJudge(), **options}
        ).signature

    usual = signature()
    assert usual.options["judges"] == [{"provider": "callable", "model": "fluent"}]
    others = [
        signature(judge_style="rating"),
        signature(judge_repeat=2),
        signature(length_debias=False),
        signature(judge=FluentJudge(judge_name="another")),
        signature(prompt_overrides={"faithfulness": {"verify_claims": "So? $claim $chunk"}}),
        signature(on_judge_failure="heuristic"),
    ]
    assert len({str(one) for one in [usual, *others]}) == len(others) + 1
    for other in others:
        assert usual.differences(other, ["faithfulness"])


def test_kernels_alone_sign_as_before() -> None:
    signature = rag_eval.evaluate(SAMPLES[0], judge=FluentJudge()).signature
    assert signature is not None
    assert not {"mode", "judges", "judgePrompts"} & set(signature.options)


def test_a_judged_run_is_not_compared_with_one_of_kernels() -> None:
    native = rag_eval.evaluate_batch(SAMPLES[:3])
    with pytest.raises(SignatureMismatchError, match="mode"):
        rag_eval.evaluate_batch(
            SAMPLES[:3], mode="llm", judge=FluentJudge(), baseline_result=native
        )


# --------------------------------------------------------------------------------------- cascade


def test_a_cascade_judges_the_band_and_nothing_else(calibration: Calibration) -> None:
    native = rag_eval.evaluate_batch(SAMPLES, ["faithfulness"], profile="grounded").scores[:, 0]
    low, high = 0.4, 0.8
    inside = (native >= low) & (native <= high)
    assert 0 < inside.sum() < len(SAMPLES)
    judge = FluentJudge()
    result = rag_eval.evaluate_batch(
        SAMPLES,
        ["faithfulness"],
        mode="cascade",
        judge=judge,
        judge_style="rating",
        cascade_band=(low, high),
        audit_share=0,
        calibration=calibration,
    )
    assert judge.n_calls == inside.sum()
    judged = {row for row in range(len(SAMPLES)) if result.results[row].cost.llm_calls}
    assert judged == set(np.flatnonzero(inside))
    # Judged rows carry a verdict, the others the calibrated probability.
    assert set(result.scores[inside, 0]) <= {0.0, 1.0}
    expected = calibration.probabilities(native[~inside])
    assert np.array_equal(result.scores[~inside, 0], expected)
    assert result.judging is not None
    found = result.judging.metrics["faithfulness"]
    assert (found.n_rows, found.n_judged) == (len(SAMPLES), inside.sum())
    assert found.calls_saved == (~inside).sum()
    assert found.tokens_saved > 0
    assert not math.isnan(result.aggregates.faithfulness.mean)
    unjudged = result.results[int(np.flatnonzero(~inside)[0])].metrics.faithfulness
    assert (unjudged.mode, unjudged.threshold) == ("heuristic", 0.5)


def test_the_band_of_a_calibration_is_where_it_is_unsure(calibration: Calibration) -> None:
    native = rag_eval.evaluate_batch(SAMPLES, ["faithfulness"], profile="grounded").scores[:, 0]
    probabilities = calibration.probabilities(native)
    unsure = (probabilities >= 0.2) & (probabilities <= 0.8)
    result = rag_eval.evaluate_batch(
        SAMPLES,
        ["faithfulness"],
        mode="cascade",
        judge=FluentJudge(),
        audit_share=0,
        calibration=calibration,
    )
    assert result.judging is not None
    assert result.judging.metrics["faithfulness"].n_judged == unsure.sum()


def test_without_a_calibration_there_are_verdicts_and_no_mean() -> None:
    result = rag_eval.evaluate_batch(
        SAMPLES,
        ["faithfulness"],
        mode="cascade",
        judge=FluentJudge(),
        cascade_band=(0.4, 0.8),
        audit_share=0,
    )
    assert set(result.scores[:, 0]) <= {0.0, 1.0}
    native = rag_eval.evaluate_batch(SAMPLES, ["faithfulness"], profile="grounded").scores[:, 0]
    threshold = GROUNDED_METRICS["faithfulness"].threshold
    assert threshold is not None
    sure = (native < 0.4) | (native > 0.8)
    assert np.array_equal(result.scores[sure, 0], (native[sure] >= threshold).astype(float))
    aggregate = result.aggregates.faithfulness
    assert math.isnan(aggregate.mean)
    assert aggregate.pass_rate == (result.scores[:, 0] == 1).mean()
    written = json.loads(result.to_json() or "")
    assert written["aggregates"]["faithfulness"]["mean"] is None


def test_audited_rows_give_the_error_rate_of_what_was_not_judged() -> None:
    options: dict[str, Any] = {
        "metrics": ["faithfulness"],
        "mode": "cascade",
        "judge_style": "rating",
        "cascade_band": (0.45, 0.46),
    }
    everything = rag_eval.evaluate_batch(
        SAMPLES, judge=FluentJudge(lambda text: 1.0), audit_share=1.0, **options
    )
    assert everything.judging is not None
    found = everything.judging.metrics["faithfulness"]
    assert found.n_audited == found.n_judged == len(SAMPLES)
    native = rag_eval.evaluate_batch(SAMPLES, ["faithfulness"], profile="grounded").scores[:, 0]
    wrong = (native < (GROUNDED_METRICS["faithfulness"].threshold or 0)).sum()
    assert found.error_rate is not None
    assert found.error_rate.estimate == wrong / len(SAMPLES)
    row = everything.results[0].metrics.faithfulness.judged
    assert row is not None
    assert (row.is_audit, row.share) == (True, 1.0)

    def audited(seed: int) -> set[int]:
        part = rag_eval.evaluate_batch(
            SAMPLES, judge=FluentJudge(), audit_share=0.3, judge_seed=seed, **options
        )
        return {row for row in range(len(SAMPLES)) if part.results[row].cost.llm_calls}

    assert audited(0) == audited(0)
    assert 0 < len(audited(0)) < len(SAMPLES)
    assert audited(0) != audited(1)


def test_an_audit_that_fails_leaves_the_row_as_it_was() -> None:
    options: dict[str, Any] = {"mode": "cascade", "cascade_band": (0.45, 0.46)}
    alone = rag_eval.evaluate_batch(
        SAMPLES[:5], ["faithfulness"], judge=garbage, audit_share=0.0, **options
    )
    failed = rag_eval.evaluate_batch(
        SAMPLES[:5], ["faithfulness"], judge=garbage, audit_share=1.0, **options
    )
    assert np.array_equal(failed.scores, alone.scores)
    assert not np.isnan(failed.scores).any()
    assert failed.judging is not None
    found = failed.judging.metrics["faithfulness"]
    assert (found.n_failed, found.n_fallback, found.error_rate) == (5, 0, None)
    row = failed.results[0].metrics.faithfulness
    assert row.mode == "heuristic"
    assert row.explanation == alone.results[0].metrics.faithfulness.explanation


def test_a_null_native_score_is_not_judged_in_a_cascade() -> None:
    rows = [*SAMPLES[:4], {**SAMPLES[4], "answer": ""}]
    judge = FluentJudge()
    result = rag_eval.evaluate_batch(
        rows,
        ["faithfulness"],
        mode="cascade",
        judge=judge,
        judge_style="rating",
        cascade_band=(0.0, 1.0),
    )
    assert judge.n_calls == 4
    assert result.null_reasons[4, 0] == NullReason.NOTHING_TO_MEASURE


# -------------------------------------------------------------------------------------- failures


def garbage(prompt: str) -> str:
    return "I would rather talk about the weather."


def refusing(prompt: str) -> JudgeReply:
    return JudgeReply("", finish_reason="refusal")


def truncated(prompt: str) -> JudgeReply:
    return JudgeReply('{"mark": "', finish_reason="length")


def broken(prompt: str) -> str:
    raise ValueError("no model here")


@every_row(
    ("judge", "reason"),
    [
        (garbage, NullReason.JUDGE_UNPARSED),
        (refusing, NullReason.JUDGE_REFUSED),
        (truncated, NullReason.JUDGE_TRUNCATED),
        (broken, NullReason.JUDGE_FAILED),
    ],
)
def test_every_failure_is_a_null_with_its_own_reason(judge: Any, reason: NullReason) -> None:
    result = rag_eval.evaluate_batch(SAMPLES[:3], ["faithfulness"], mode="llm", judge=judge)
    assert np.isnan(result.scores).all()
    assert set(result.null_reasons[:, 0]) == {reason}
    assert result.judging is not None
    found = result.judging.metrics["faithfulness"]
    assert found.failures == {reason.name.lower(): 3}
    signals = result.results[0].metrics.faithfulness.signals
    assert "the judge failed" in signals[0].message
    (gate,) = [
        gate
        for gate in check_gates(result, Gates(min_pass_rate=0.0), 0.05)
        if gate.gate == "max_judge_failures"
    ]
    assert not gate.held
    assert gate.message == "share of failed judgements 1.00 (3/3) is above 0.00"


def test_the_native_score_stands_in_when_it_is_asked_for() -> None:
    native = rag_eval.evaluate_batch(SAMPLES[:3], ["faithfulness"])
    result = rag_eval.evaluate_batch(
        SAMPLES[:3], ["faithfulness"], mode="llm", judge=garbage, on_judge_failure="heuristic"
    )
    assert np.array_equal(result.scores, native.scores)
    found = result.results[0].metrics.faithfulness
    assert found.mode == "heuristic"
    assert found.judged is not None
    assert found.judged.is_fallback
    assert result.judging is not None
    assert result.judging.metrics["faithfulness"].n_fallback == 3
    gates = check_gates(result, Gates(min_pass_rate=0.0, max_judge_failures=0.5), 0.05)
    assert not all(gate.held for gate in gates)


def test_one_bad_row_does_not_harm_the_others() -> None:
    good = FluentJudge(lambda text: 1.0)

    def judge(prompt: str) -> str:
        return garbage(prompt) if "Visitor number 3 " in prompt else good(prompt)

    result = rag_eval.evaluate_batch(SAMPLES[:8], ["faithfulness"], mode="llm", judge=judge)
    assert np.flatnonzero(result.null_reasons[:, 0]).tolist() == [3]


def test_a_call_that_takes_too_long_is_a_null() -> None:
    async def slow(prompt: str) -> str:
        await asyncio.Event().wait()
        return ""

    result = rag_eval.evaluate_batch(
        SAMPLES[:1], ["answer_relevance"], mode="llm", judge=slow, call_timeout_s=0.05, retries=0
    )
    assert result.null_reasons[0, 0] == NullReason.JUDGE_TIMED_OUT


def test_the_calls_of_a_run_can_be_limited() -> None:
    judge = FluentJudge()
    result = rag_eval.evaluate_batch(
        SAMPLES, ["answer_relevance"], mode="llm", judge=judge, max_calls=10, concurrency=3
    )
    assert judge.n_calls == 10
    assert (result.null_reasons[:, 0] == NullReason.JUDGE_BUDGET).sum() == len(SAMPLES) - 10
    assert result.judging is not None
    assert result.judging.budget_reached


# -------------------------------------------------------------------------- repeats and ensembles


def test_repeats_are_averaged_within_a_row() -> None:
    levels = iter([1.0, 0.0, 1.0, 1.0])
    result = rag_eval.evaluate(
        SAMPLES[0],
        ["faithfulness"],
        mode="llm",
        judge=FluentJudge(lambda text: next(levels)),
        judge_style="rating",
        judge_repeat=4,
        concurrency=1,
    )
    found = result.metrics.faithfulness
    assert found.judged is not None
    assert found.score == 0.75
    assert found.judged.spread == pytest.approx(0.5)
    assert found.judged.flaky
    assert sorted(found.judged.by_judge[0], key=str) == [0.0, 1.0, 1.0, 1.0]
    assert found.llm_calls == 4


def test_judges_of_an_ensemble_count_alike_and_are_compared() -> None:
    judges = [FluentJudge(lambda text: 1.0, "kind"), FluentJudge(judge_name="fickle")]
    result = rag_eval.evaluate_batch(
        SAMPLES, ["faithfulness"], mode="llm", judges=judges, judge_style="rating"
    )
    alone = rag_eval.evaluate_batch(
        SAMPLES, ["faithfulness"], mode="llm", judge=judges[1], judge_style="rating"
    )
    assert np.allclose(result.scores, (1 + alone.scores) / 2, rtol=0, atol=1e-15)
    assert result.judging is not None
    assert result.judging.judges == ("callable:kind", "callable:fickle")
    agreement = result.judging.agreement["faithfulness"]
    assert agreement.n_complete == len(SAMPLES)
    assert agreement.mean_abs_diff == pytest.approx(float((1 - alone.scores).mean()))


# --------------------------------------------------------------------------------------- prompts


def test_a_prompt_of_the_callers_own_is_sent() -> None:
    prompts: list[str] = []
    inner = FluentJudge()

    def judge(prompt: str) -> str:
        prompts.append(prompt)
        return garbage(prompt)

    rag_eval.evaluate(
        SAMPLES[0],
        ["answer_relevance"],
        mode="llm",
        judge=judge,
        prompt_overrides={"answerRelevance": "Does $answer answer $question, in cents ($$)?"},
    )
    assert "\n\nDoes [[begin answer" in prompts[0]
    assert "in cents ($)?" in prompts[0]
    assert inner.n_calls == 0


@every_row(
    ("overrides", "message"),
    [
        ({"faithfulness": "No variables."}, r"lacks the variable \$"),
        ({"faithfulness": {"verify_claims": "$chunk $claim $answer"}}, r"has no variable \$answer"),
        ({"faithfulness": {"verify": "x"}}, "did you mean 'verify_claims'"),
        ({"faithfulness": {"verify_claims": "100 % of $"}}, r"must be written \$\$"),
        ({"faithfulness": 3}, "must be a string or a mapping of steps"),
        ({"context_recall": "x"}, "which is not judged"),
    ],
)
def test_prompts_that_cannot_be_filled_are_refused(overrides: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        rag_eval.evaluate(
            SAMPLES[0],
            ["faithfulness"],
            mode="llm",
            judge=FluentJudge(),
            prompt_overrides=overrides,
        )


def test_length_neutrality_can_be_left_out() -> None:
    prompts: list[str] = []

    def judge(prompt: str) -> str:
        prompts.append(prompt)
        return garbage(prompt)

    for debias in (True, False):
        rag_eval.evaluate(
            SAMPLES[0],
            ["answer_relevance"],
            mode="llm",
            judge=judge,
            length_debias=debias,
        )
    assert ["Length is no merit" in prompt for prompt in prompts] == [True, True, False, False]


# ---------------------------------------------------------------------- scorers of other tools


def test_scorers_of_other_tools_stand_beside_the_seven() -> None:
    metrics = ["faithfulness", "mastra.faithfulness", "mastra.bias", "omk.faithfulness"]
    result = rag_eval.evaluate_batch(SAMPLES[:4], metrics, judge=FluentJudge())
    assert result.metrics == tuple(metrics)
    assert not np.isnan(result.scores).any()
    row = result.results[0]
    assert row.metrics["faithfulness"].mode == "heuristic"
    assert row.metrics["mastra.bias"].mode == "llm"
    assert row.metrics["omk.faithfulness"].threshold == 0.5
    assert row.metrics["mastra.faithfulness"].passed is None


def test_scorers_take_options() -> None:
    judge = FluentJudge()
    result = rag_eval.evaluate(
        SAMPLES[0],
        ["mastra.noise_sensitivity"],
        judge=judge,
        scorer_options={
            "mastra.noiseSensitivity": {
                "baseline_response": "It was built in 1912.",
                "noisyQuery": "What, er, is known?",
                "with_reason": False,
            }
        },
    )
    assert result.metrics["mastra.noise_sensitivity"].score is not None
    assert judge.n_calls == 1
    with pytest.raises(InputError, match=r"baseline_response|baselineResponse"):
        rag_eval.evaluate(SAMPLES[0], ["mastra.noise_sensitivity"], judge=judge)
    with pytest.raises(InputError, match="is not a scorer among the metrics"):
        rag_eval.evaluate(SAMPLES[0], judge=judge, scorer_options={"mastra.bias": {}})


def test_what_a_scorer_lacks_is_a_null() -> None:
    rows = [{"question": "Why?", "answer": "So.", "contexts": ["So."]}]
    result = rag_eval.evaluate_batch(
        rows, ["mastra.context_recall"], judge=FluentJudge(), allow_missing=True
    )
    assert np.isnan(result.scores).all()
    assert result.null_reasons[0, 0] in (
        NullReason.MISSING_FIELD,
        NullReason.NOTHING_TO_MEASURE,
    )


def test_a_scorer_needs_a_judge() -> None:
    with pytest.raises(UnsupportedModeError, match=r"mastra\.bias"):
        rag_eval.evaluate(SAMPLES[0], ["mastra.bias"])
    with pytest.raises(InputError, match="only a judge can score this metric"):
        rag_eval.evaluate(
            SAMPLES[0], ["mastra.bias"], judge=str, metric_modes={"mastra.bias": "heuristic"}
        )


# --------------------------------------------------------------------------------------- the rest


def test_engines_refuse_a_judge_with_the_reason() -> None:
    with pytest.raises(UnsupportedModeError, match="cannot share its limits and budget"):
        BatchScorer(mode="llm")  # type: ignore[call-arg]
    with pytest.raises(UnsupportedModeError, match=r"mastra\.bias"):
        BatchScorer(["mastra.bias"])


def test_progress_counts_rows_while_they_are_judged() -> None:
    seen: list[tuple[int, int | None]] = []
    rag_eval.evaluate_batch(
        SAMPLES,
        ["faithfulness"],
        mode="llm",
        judge=FluentJudge(),
        on_progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[-1] == (len(SAMPLES), len(SAMPLES))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_jobs_of_a_batch_are_made_when_they_begin() -> None:
    made: list[int] = []
    running: list[int] = []

    def jobs() -> Any:
        for n in range(50):
            made.append(n)

            async def job() -> None:
                running.append(1)
                assert len(made) - len(running) <= 3
                await asyncio.sleep(0)

            yield job

    asyncio.run(run_jobs(jobs(), 3))
    assert len(running) == 50
