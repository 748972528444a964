"""Failed judgements of a run by reason, each with an example in the words of the judge's server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from rag_eval.plumbing.spelling import camel_fields, counted
from rag_eval.results.judged import JudgedScore
from rag_eval.samples import MetricId

# A server may send megabytes of words; one sentence says what to do.
_MOST_LETTERS: Final = 500


@dataclass(frozen=True, slots=True)
class FailedJudgements:
    """The failed judgements that have one null reason, and what was said about the first.

    Attributes
    ----------
    reason : str
        As score files write it, such as ``judge_failed``.
    n : int
        Judgements, of all metrics.
    metric_id : MetricId
        The metric of the first one.
    row : str
        The row of the first one, as messages call it.
    message : str
        What went wrong with it; empty if that is not known.
    """

    reason: str
    n: int
    metric_id: MetricId
    row: str
    message: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return camel_fields(self, ("reason", "n", "metric_id", "row", "message"))

    def __str__(self) -> str:
        said = f": {self.message}" if self.message else ""
        example = f"for example {self.row}, {self.metric_id}{said}"
        return f"{counted(self.n, 'judgement')} failed with {self.reason}, {example}"


class FailureCounts:
    """Counts failed judgements by reason and keeps the first of each."""

    def __init__(self) -> None:
        self._first: dict[str, tuple[MetricId, str, str]] = {}
        self._n: dict[str, int] = {}

    def add(self, metric: MetricId, found: JudgedScore, row: Callable[[], str]) -> None:
        """Count a failed judgement; ``row`` is called for the first one of a reason."""
        reason = found.failure.name.lower()
        self._n[reason] = self._n.get(reason, 0) + 1
        if reason not in self._first:
            message = found.message
            if len(message) > _MOST_LETTERS:
                message = message[: _MOST_LETTERS - 1] + "…"
            self._first[reason] = (metric, row(), message)

    def found(self) -> tuple[FailedJudgements, ...]:
        """The failures so far, by reason."""
        return tuple(
            FailedJudgements(reason, self._n[reason], *first)
            for reason, first in self._first.items()
        )
