"""What a user's type checker must accept and refuse; read by pyright and mypy, never run."""

from __future__ import annotations

from typing import assert_type

import numpy as np
import numpy.typing as npt

import rag_eval
from rag_eval import (
    BatchEvalResult,
    CostTracker,
    EvalResult,
    EvalSample,
    EvalSignal,
    Evaluator,
    HeuristicOptions,
    MetricAggregate,
    MetricId,
    MetricRegression,
    MetricResult,
    MetricThresholds,
)
from rag_eval.calibration import Refit
from rag_eval.calibration.result import Calibration
from rag_eval.comparing import MetricChange, RunComparison
from rag_eval.judge import Verifier

sample = EvalSample(question="q", answer="a", contexts=["c"], ground_truth="t", id="1")
row: dict[str, object] = {"question": "q", "answer": "a", "contexts": ["c"]}

result = rag_eval.evaluate(sample, ["faithfulness"], thresholds={"faithfulness": 0.8})
assert_type(result, EvalResult)
assert_type(result.metrics.faithfulness, MetricResult)
assert_type(result.metrics["faithfulness"], MetricResult)
assert_type(result.metrics.faithfulness.score, float | None)
assert_type(result.metrics.faithfulness.signals, tuple[EvalSignal, ...])
assert_type(result.cost, CostTracker)

batch = rag_eval.evaluate_batch([sample, row], heuristic={"ngram_sizes": [1, 2]}, threads=2)
assert_type(batch, BatchEvalResult)
assert_type(batch.scores, npt.NDArray[np.float64])
assert_type(batch.aggregates.faithfulness, MetricAggregate)
assert_type(batch.results[0], EvalResult)
assert_type(batch.regressions, list[MetricRegression] | None)
assert_type(batch.metrics, tuple[MetricId, ...])
assert_type(BatchEvalResult.from_json("{}"), BatchEvalResult)

evaluator = rag_eval.create_evaluator(metrics=["faithfulness"], composite_threshold=0.5)
assert_type(evaluator, Evaluator)
assert_type(evaluator.evaluate_batch(row for _ in range(3)), BatchEvalResult)

assert_type(rag_eval.score_faithfulness(sample, ngram_sizes=[1]), MetricResult)
assert_type(rag_eval.compute_metric("faithfulness", row), MetricResult)
assert_type(rag_eval.tokenize("a b"), list[str])
assert_type(rag_eval.ngram_overlap("a", "b"), float)

calibration = rag_eval.calibrate(batch, [True, False], metric="faithfulness", precision=0.9)
assert_type(calibration, Calibration)
assert_type(rag_eval.calibrate([0.1, None], np.array([0, 1]), metric="faithfulness"), Calibration)
assert_type(calibration.threshold, float)
assert_type(calibration.threshold_interval.low, float | None)
assert_type(calibration.probabilities([0.5, 0.75]), npt.NDArray[np.float64])
assert_type(calibration.probability(0.5), float | None)
assert_type(calibration.weights, dict[str, float] | None)
assert_type(
    rag_eval.calibrate(batch, [1, 0], metric="faithfulness", refit=False).refit, Refit | None
)

comparison = rag_eval.compare("old.json", batch, slices=["topic"], margin={"faithfulness": 0.01})
assert_type(comparison, RunComparison)
assert_type(comparison.change("faithfulness"), MetricChange)
assert_type(comparison.regressions, tuple[MetricChange, ...])
assert_type(comparison.change("faithfulness").difference.low, float | None)

thresholds: MetricThresholds = {"faithfulness": 0.5, "hallucination_rate": 0.9}
heuristic: HeuristicOptions = {"claim_support_threshold": 0.2}
rag_eval.evaluate(row, thresholds=thresholds, heuristic=heuristic)

# Mistakes that a checker has to catch: an unneeded ignore is an error, so each must be one.
rag_eval.evaluate(sample, theresholds={})  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
rag_eval.evaluate(sample, thresholds={"faithfulness": "high"})  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType]
rag_eval.evaluate_batch(sample)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
rag_eval.calibrate(batch, [True], method="spline")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
rag_eval.compare("old.json", "new.json", margin="0.01")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
rag_eval.tokenize(5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
batch.scores = batch.scores  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


def verify(premises: tuple[str, ...], claim: str) -> float:
    return float(claim in premises)


by_verifier = rag_eval.evaluate(
    sample, ["faithfulness"], mode="llm", judge=Verifier(verify, name="same", cost_per_claim=0.1)
)
assert_type(by_verifier, EvalResult)
by_model = rag_eval.evaluate(
    sample, ["faithfulness"], mode="cascade", verifier="models/my-nli", verifier_band=(0.1, 0.9)
)
assert_type(by_model, EvalResult)
Verifier(verify)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
