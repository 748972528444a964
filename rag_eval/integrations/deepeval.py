"""deepeval: a test case in; score, reason and success of one metric of it out."""

from __future__ import annotations

from typing import Any

from rag_eval.integrations.scoring import SampleScorer
from rag_eval.integrations.tool_package import missing_package
from rag_eval.integrations.tool_rows import fields

try:
    from deepeval.errors import MissingTestCaseParamsError
    from deepeval.metrics import BaseMetric
    from deepeval.test_case import LLMTestCase
except ImportError:
    raise missing_package("deepeval", "deepeval") from None


class RagMetric(BaseMetric):  # type: ignore[misc]  # the package is not in the lint extra
    """``RagMetric("faithfulness", 0.7, profile="grounded")``; needs no model.

    Threshold and success are in the direction of the metric. Without the fields that it reads
    there is deepeval's own error (or skip); with nothing to measure neither score nor verdict; and
    a judge that failed is an error of the metric. Options are those of ``create_evaluator``.
    """

    def __init__(
        self, metric: str = "faithfulness", threshold: float | None = None, **options: Any
    ) -> None:
        limits = {} if threshold is None else {"thresholds": {metric: threshold}}
        self._scorer = SampleScorer(metric, {**options, **limits})
        self.metric, self.threshold, self._options = metric, threshold, options

    async def a_measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float | None:
        """Score a test case in the event loop of the caller."""
        return self._take(test_case, await self._scorer.ascore(_sample(test_case)))

    def measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float | None:
        """Score a test case."""
        return self._take(test_case, self._scorer.score(_sample(test_case)))
