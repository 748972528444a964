"""A LangSmith evaluator that returns feedback per metric.

langsmith is not imported: its evaluators are functions with arguments of these names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rag_eval.integrations.scoring import SampleScorer
from rag_eval.integrations.tool_rows import RowReader


def rag_evaluator(
    metrics: str | Iterable[str] | None = None,
    *,
    fields: Mapping[str, str] | None = None,
    **options: Any,
) -> Callable[..., dict[str, Any]]:
    """An evaluator for ``langsmith.evaluate(..., evaluators=[...])``.

    Parameters
    ----------
    metrics : str or iterable of str, optional
        The seven by default; each is a feedback key.
    fields : mapping, optional
        Our field -> path, such as ``{"contexts": "outputs.docs"}``. By default, the question is
        read from ``inputs``, answer and contexts (texts or documents) from ``outputs``, and the
        ground truth from ``reference_outputs``, under the usual names.
    **options
        Options of :func:`rag_eval.create_evaluator`; ``profile`` is ``grounded`` by default. A
        null has the score None and its reason as the comment.
    """
    scorer = SampleScorer(metrics, options)
    reader = RowReader("langchain", fields)

    def rag_eval(
        inputs: dict[str, Any],
        outputs: dict[str, Any],
        reference_outputs: dict[str, Any] | None = None,
        run: Any = None,
    ) -> dict[str, Any]:
        # A run without an example has its own inputs.
        row = {"inputs": inputs or getattr(run, "inputs", None), "outputs": outputs}
        row["reference_outputs"] = reference_outputs
        return {
            "results": [
                {
                    "key": found.metric,
                    "score": found.score,
                    "comment": found.reason,
                    "metadata": found.facts,
                }
                for found in scorer.score(reader.sample(row))
            ]
        }

    return rag_eval
