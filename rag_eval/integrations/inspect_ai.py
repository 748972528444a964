"""An inspect_ai scorer that returns a Score with a value per metric."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from rag_eval.integrations.scoring import SampleScorer
from rag_eval.integrations.tool_rows import RowReader, missing_package

try:
    from inspect_ai.scorer import Score, Target, mean, scorer, stderr
    from inspect_ai.solver import TaskState
except ImportError:
    raise missing_package("inspect_ai", "inspect-ai") from None


@scorer(metrics={"*": [mean(), stderr()]})  # type: ignore[untyped-decorator]
def rag_scorer(
    metrics: str | Iterable[str] | None = None,
    *,
    fields: Mapping[str, str] | None = None,
    **options: Any,
) -> Callable[[TaskState, Target], Awaitable[Score]]:
    """A scorer for ``Task(scorer=rag_scorer(["faithfulness"]))``.

    Parameters
    ----------
    metrics : str or iterable of str, optional
        The seven by default; each is a key of the value, which is NaN (not scored) for a null.
    fields : mapping, optional
        Our field -> path. By default, contexts are ``metadata.contexts`` (``retrieved_contexts``,
        ``context``), the question is the input, the answer is the completion, and each text of
        the target is an acceptable ground truth.
    **options
        Options of :func:`rag_eval.create_evaluator`; ``profile`` is ``grounded`` by default.
    """
    samples, reader = SampleScorer(metrics, options), RowReader("inspect", fields)

    async def score(state: TaskState, target: Target) -> Score:
        output = {"completion": state.output.completion}
        row = {"input": state.input_text, "output": output, "metadata": state.metadata}
        truths = [text for text in target if text]
        if truths:
            row["target"] = truths if len(truths) > 1 else truths[0]
        found = await samples.ascore(reader.sample(row))
        return Score(
            value={one.metric: math.nan if one.score is None else one.score for one in found},
            answer=state.output.completion,
            explanation="\n".join(f"{one.metric}: {one.reason}" for one in found),
            metadata={one.metric: one.facts for one in found},
        )

    return score
