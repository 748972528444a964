"""deepeval: a test case in; score, reason and success of one metric of it out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rag_eval.integrations.scoring import MetricScore, SampleScorer
from rag_eval.integrations.tool_package import missing_package
from rag_eval.integrations.tool_rows import fields

try:
    from deepeval.errors import MissingTestCaseParamsError
    from deepeval.metrics import BaseMetric
except ImportError:
    raise missing_package("deepeval", "deepeval") from None


class RagMetric(BaseMetric):  # type: ignore[misc]  # the package is not in the lint extra
    """One metric by its id, with the options of ``create_evaluator``; needs no model.

    Threshold and success are in the metric's direction. A field that is missing is deepeval's own
    error; with nothing to measure there is neither score nor success, and a judge that failed is
    an error of the metric. ``options`` is also where deepeval looks when it copies a metric.
    """

    def __init__(
        self,
        metric: str = "faithfulness",
        threshold: float | None = None,
        options: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        self.metric, self.options = metric, {**(options or {}), **more}
        limits = {} if threshold is None else {"thresholds": {metric: threshold}}
        self.scorer = SampleScorer(metric, {**self.options, **limits})
        (self.threshold,) = self.scorer.plan.thresholds.values()

    async def a_measure(self, test_case: Any, *args: Any, **kwargs: Any) -> float | None:
        return _told(self, (await self.scorer.ascore(_sample(test_case)))[0])

    def measure(self, test_case: Any, *args: Any, **kwargs: Any) -> float | None:
        return _told(self, self.scorer.score(_sample(test_case))[0])

    def is_successful(self) -> bool | None:
        return self.success

    @property
    def __name__(self) -> str:
        return f"rag_eval {self.metric}"


def _sample(case: Any) -> dict[str, Any]:
    texts = {"answer": case.actual_output, "ground_truth": case.expected_output}
    return fields(question=case.input, contexts=case.retrieval_context, **texts)


def _told(metric: RagMetric, found: MetricScore) -> float | None:
    if found.null_reason == "missing_field":
        raise MissingTestCaseParamsError(f"{found.metric}: {found.reason}")
    metric.score, metric.reason = found.score, found.reason
    metric.error = found.reason if found.null_reason.startswith("judge") else None
    metric.success = False if metric.error else found.passed
    return found.score
