"""A LangChain string evaluator with score and reasoning."""

from __future__ import annotations

from typing import Any

from rag_eval.integrations.scoring import MetricScore, SampleScorer
from rag_eval.integrations.tool_rows import fields, missing_package

try:
    from langchain_classic.evaluation.schema import StringEvaluator
except ImportError:
    try:
        from langchain.evaluation.schema import StringEvaluator  # before 1.0
    except ImportError:
        raise missing_package("langchain", "langchain-classic") from None


class RagStringEvaluator(StringEvaluator):  # type: ignore[misc]  # not in the lint extra
    """One metric as a string evaluator; pass texts or documents as ``contexts=[...]``.

    The default metric reads only prediction, reference and input. The options are those of
    :func:`rag_eval.create_evaluator`, and ``profile`` is ``grounded`` by default.
    """

    evaluation_name: str = ""
    requires_input: bool = False
    requires_reference: bool = False

    def __init__(self, metric: str = "answer_correctness", **options: Any) -> None:
        self._scorer = SampleScorer(metric, options)
        ((self.evaluation_name, spec),) = self._scorer.plan.specs.items()
        # LangChain omits fields that are not required, even if it has them.
        self.requires_input, self.requires_reference = (
            name in spec.fields for name in ("question", "ground_truth")
        )

    def _evaluate_strings(self, **given: Any) -> dict[str, Any]:
        return _told(self._scorer.score(_sample(**given))[0])

    async def _aevaluate_strings(self, **given: Any) -> dict[str, Any]:
        return _told((await self._scorer.ascore(_sample(**given)))[0])


def _sample(
    *,
    prediction: Any,
    reference: Any = None,
    input: Any = None,
    contexts: Any = None,
    **_: Any,
) -> dict[str, Any]:
    return fields(question=input, answer=prediction, contexts=contexts, ground_truth=reference)


def _told(found: MetricScore) -> dict[str, Any]:
    """The result; for a null score the reasoning says why."""
    return {"score": found.score, "reasoning": found.reason, "metadata": found.facts}
