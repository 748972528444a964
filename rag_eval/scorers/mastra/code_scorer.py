"""What scorers without a judge share: a run in, a score and the findings behind it out."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from rag_eval.samples import NullReason
from rag_eval.scorers.mastra.runs import Run, run_of
from rag_eval.scorers.mastra.scorer import MastraResult

Settings = TypeVar("Settings")


class Finding(NamedTuple):
    """What a scorer found in a run.

    Attributes
    ----------
    score : float
    preprocess_result, analyze_result : mapping or None
        Under Mastra's names.
    reason : str or None
    """

    score: float
    preprocess_result: dict[str, Any] | None = None
    reason: str | None = None
    analyze_result: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class CodeScorer(Generic[Settings]):
    """One of Mastra's scorers that asks no judge, with settings.

    Attributes
    ----------
    id : str
    settings : dataclass
        The options, merged over the defaults.
    """

    id: str
    settings: Settings
    found: Callable[[Run, Settings], Finding] = field(repr=False)

    def run(self, run: Mapping[str, Any]) -> MastraResult:
        """The result of one run.

        Parameters
        ----------
        run : mapping
            See :func:`rag_eval.scorers.mastra.runs.run_of`.

        Raises
        ------
        InputError
            When the run lacks what the scorer reads, or holds what it cannot read.
        """
        read = run_of(run)
        finding = self.found(read, self.settings)
        return MastraResult(
            score=finding.score,
            null_reason=NullReason.MEASURED,
            message="",
            reason=finding.reason,
            run_id=read.run_id or str(uuid.uuid4()),
            preprocess_result=finding.preprocess_result,
            analyze_result=finding.analyze_result,
            run=read.source,
        )
