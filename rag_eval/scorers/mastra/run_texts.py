"""Runs and samples -> the two texts that some scorers compare: what came in and what went out.

All messages count, whoever speaks: their texts are joined, and an empty one leaves its place. A
sample that lacks a text has no score; of a run it counts as an empty one, as in the package.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from rag_eval.metrics.contract import Column, Fields, Metric, Scored, Scorer
from rag_eval.samples import MetricId, NullReason
from rag_eval.scorers.mastra.runs import Run, RunError, run_of_messages
from rag_eval.scorers.mastra.scorer import code_metric

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

TEXT_FIELDS: Final = ("question", "answer", "messages")
"""What a sample may hold of them."""

SOURCE: Final = "@mastra/evals 1.1.1"

NO_OUTPUT: Final = Scored(None, NullReason.MISSING_FIELD, "Neither an answer nor messages given.")
"""The finding in a sample that does not say what went out."""

_BETWEEN: Final = ", "


class TextPair(NamedTuple):
    """What came in, and what went out."""

    input: str
    output: str


def input_text(run: Run) -> str:
    """The texts of all input messages except system prompts; empty if there are none."""
    return _BETWEEN.join(message.text for message in run.input)


def output_text(run: Run) -> str:
    """The texts of all output messages, including those of tools; empty if there are none."""
    return _BETWEEN.join(message.text for message in run.output)


def sample_texts(fields: Fields) -> TextPair:
    """The two texts of a sample: question and answer, or its messages.

    Raises
    ------
    RunError
        When the sample has none of either kind.
    """
    if "messages" in fields:
        run = run_of_messages(fields["messages"])
        if not run.input:
            raise RunError("No message of the user given.")
        return TextPair(input_text(run), _sample_output(run))
    for name in ("question", "answer"):
        if name not in fields:
            raise RunError(f"No {name} given.")
    return TextPair(fields["question"], fields["answer"])


def sample_output(fields: Fields) -> str:
    """What went out, of a sample that need not say what came in.

    Raises
    ------
    RunError
        When the sample has neither an answer nor messages of the agent.
    """
    if "messages" in fields:
        return _sample_output(run_of_messages(fields["messages"]))
    if "answer" not in fields:
        raise RunError("No answer given.")
    answer: str = fields["answer"]
    return answer


def _sample_output(run: Run) -> str:
    if not run.output:
        raise RunError("No message of the agent given.")
    return output_text(run)


Found: TypeAlias = tuple[float, str, Mapping[str, Any]]
"""A score, a sentence and details."""


def scorer_of_texts(
    find: Callable[[Fields], Found],
    scores_of: Callable[[list[str], list[str]], npt.NDArray[np.float64]] | None = None,
    signed: Mapping[str, Any] = MappingProxyType({}),
) -> Scorer:
    """A scorer of samples, whose score is null if the sample lacks a text.

    Parameters
    ----------
    find : callable
        What is found in a sample; raises a RunError where a text is missing.
    scores_of : callable, optional
        From what came in and what went out, of many samples, to their scores.
    signed : mapping, optional
        See :class:`~rag_eval.metrics.contract.Scorer`.
    """

    def score(fields: Fields) -> Scored:
        try:
            found, explanation, details = find(fields)
        except RunError as error:
            return Scored(None, error.null_reason, str(error))
        return Scored(found, NullReason.MEASURED, explanation, (details,))

    column = None if scores_of is None else functools.partial(_column_of_pairs, scores_of)
    return Scorer(score, column, signed)


def _column_of_pairs(
    scores_of: Callable[[list[str], list[str]], npt.NDArray[np.float64]], rows: Sequence[Fields]
) -> Column:
    import numpy as np

    scores = np.full(len(rows), math.nan)
    reasons = np.full(len(rows), int(NullReason.MISSING_FIELD), np.uint8)
    places, left, right = [], [], []
    for place, row in enumerate(rows):
        try:
            pair = sample_texts(row)
        except RunError:
            continue
        places.append(place)
        left.append(pair.input)
        right.append(pair.output)
    scores[places] = scores_of(left, right)
    reasons[places] = 0
    return scores, reasons


def text_metric(id: MetricId, create: Callable[..., Scorer], summary: str, **more: Any) -> Metric:
    """The contract of a scorer of these texts."""
    nothing = "no message of the user, or none of the agent"
    usual = {"optional": TEXT_FIELDS, "cost": "native", "source": SOURCE, "null_when": nothing}
    return code_metric(id, create, summary, **{**usual, **more})
