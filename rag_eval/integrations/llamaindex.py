"""A LlamaIndex evaluator that returns an EvaluationResult for one metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rag_eval.integrations.scoring import SampleScorer
from rag_eval.integrations.tool_rows import fields, missing_package

try:
    from llama_index.core.evaluation import BaseEvaluator, EvaluationResult
except ImportError:
    raise missing_package("llamaindex", "llama-index-core") from None


class RagEvaluator(BaseEvaluator):  # type: ignore[misc]  # the package is not in the lint extra
    """One metric as an evaluator; needs no model.

    Parameters
    ----------
    metric : str, default "faithfulness"
    **options
        Options of :func:`rag_eval.create_evaluator`; ``profile`` is ``grounded`` by default.
    """

    def __init__(self, metric: str = "faithfulness", **options: Any) -> None:
        self._scorer = SampleScorer(metric, options)

    async def aevaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[str] | None = None,
        reference: str | Sequence[str] | None = None,
        **kwargs: Any,
    ) -> EvaluationResult:
        """Score one response; a null is an invalid result with its reason."""
        given = fields(question=query, answer=response, contexts=contexts, ground_truth=reference)
        (found,) = await self._scorer.ascore(given)
        return EvaluationResult(
            query=query,
            contexts=contexts,
            response=response,
            score=found.score,
            passing=found.passed,
            feedback=found.reason,
            invalid_result=found.score is None,
            invalid_reason=f"{found.null_reason}: {found.reason}" if found.score is None else None,
        )

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: Any) -> None:
        pass
