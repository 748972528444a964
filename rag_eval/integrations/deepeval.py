"""A deepeval metric with score, reason and success."""

from __future__ import annotations

from typing import Any

from rag_eval.integrations.scoring import MetricScore, SampleScorer
from rag_eval.integrations.tool_rows import fields, missing_package

try:
    from deepeval.errors import MissingTestCaseParamsError
    from deepeval.metrics import BaseMetric
except ImportError:
    raise missing_package("deepeval", "deepeval") from None


class RagMetric(BaseMetric):  # type: ignore[misc]  # the package is not in the lint extra
    """One metric by its id, with the options of ``create_evaluator``, in its own direction.

    A missing field raises deepeval's own error. If there is nothing to measure, score and success
    are None. A failed judge is an error of the metric. deepeval copies a metric by ``options``.
    """

    def __init__(
        self, metric: str = "faithfulness", threshold: Any = None, options: Any = None, **more: Any
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
        success: bool | None = self.success
        return success

    @property
    def __name__(self) -> str:
        return f"rag_eval {self.metric}"


def _sample(case: Any) -> dict[str, Any]:
    texts = {"question": case.input, "answer": case.actual_output}
    return fields(contexts=case.retrieval_context, ground_truth=case.expected_output, **texts)


def _told(metric: RagMetric, found: MetricScore) -> float | None:
    if found.null_reason == "missing_field":
        raise MissingTestCaseParamsError(f"{found.metric}: {found.reason}")
    metric.score, metric.reason = found.score, found.reason
    metric.error = found.reason if found.null_reason.startswith("judge") else None
    metric.success = False if metric.error else found.passed
    return found.score
