"""Which columns a file of scores has, and the values of a block under them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.inputs.blocks import SampleBlock, values_or_metadata
from rag_eval.kernels.verdicts import verdicts_of
from rag_eval.options.plan import Plan
from rag_eval.results.digest_texts import DIGESTS
from rag_eval.results.judged import JudgedRowScores, JudgedScore
from rag_eval.samples import MetricId, NullReason
from rag_eval.scoring.engine import ScoredBlock
from rag_eval.scoring.faulty_rows import origin_of

REASON_NAMES: Final = tuple(
    None if reason == NullReason.MEASURED else reason.name.lower() for reason in NullReason
)
ID: Final = "id"


@dataclass(frozen=True, slots=True)
class ScoreColumns:
    """The columns of a file of scores.

    In this order: the id of each row, or its number where it has none; columns of the input;
    digests, if wanted; per metric its score; per metric why it is null; the composite score;
    whether the row passed; per calibrated metric the probability that the row is good; and per
    judged metric who scored the row: ``llm``, ``heuristic``, or ``fallback`` where the judge failed
    and the native score stands in. The scores of metrics that a cascade judges are probabilities
    themselves.

    Attributes
    ----------
    plan : Plan
    extra : tuple of str
        Columns of the input, under their own names.
    prefix : str
        Comes before the names of all but the id and the columns of the input.
    digests : callable or None
        Makes the digests of the rows of a block, as texts.
    """

    plan: Plan
    extra: tuple[str, ...] = ()
    prefix: str = ""
    digests: Callable[[SampleBlock], list[str]] | None = None
    _seen: set[str] = field(default_factory=set, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        plan: Plan,
        extra: Sequence[str],
        prefix: str,
        digests: Callable[[SampleBlock], list[str]] | None = None,
    ) -> ScoreColumns:
        """The columns of a plan.

        Raises
        ------
        InputError
            When two columns would have one name.
        """
        columns = cls(plan, tuple(extra), prefix, digests)
        for name in extra:
            if list(extra).count(name) > 1:
                raise InputError(f"column {name!r} is requested twice")
            if name == ID:
                raise InputError(
                    f"column {name!r} of the input has the name of a column of the scores; the "
                    "ids are always included"
                )
            columns.check_apart(name, "--prefix")
        return columns

    def check_apart(self, name: str, option: str) -> None:
        """Raise an InputError, with the option to use, when a score has a column's name."""
        if name in self.score_names:
            raise InputError(
                f"column {name!r} of the input has the name of a column of the scores; give the "
                f"scores a prefix ({option})"
            )

    @property
    def score_names(self) -> list[str]:
        """The names of the columns after those of the input."""
        metrics = self.plan.columns
        names = [
            *([] if self.digests is None else [DIGESTS]),
            *metrics,
            *(f"{metric}_null_reason" for metric in metrics),
            "composite_score",
            "passed",
            *(f"{metric}_probability" for metric in self.calibrated),
            *(f"{metric}_mode" for metric in self.judged),
        ]
        return [self.prefix + name for name in names]

    @property
    def names(self) -> list[str]:
        """The names of all columns, in order."""
        return [ID, *self.extra, *self.score_names]

    @property
    def calibrated(self) -> list[Any]:
        """The metrics with a probability beside the score, in order."""
        plan = self.plan
        return [
            metric
            for metric in plan.columns
            if metric in plan.calibrations and metric not in self.judged
        ]

    @property
    def judged(self) -> tuple[MetricId, ...]:
        """The metrics that a judge scores, in order."""
        return () if self.plan.judging is None else self.plan.judging.judged

    def values_of(self, scored: ScoredBlock, name: str) -> list[Any]:
        """The values of a column of the input, or of the metadata, in a block."""
        values = values_or_metadata(scored.rows, name)
        self.note_values(name, name not in self._seen and any(v is not None for v in values))
        return values

    def note_values(self, name: str, n_values: int) -> None:
        """Note that a column of the input has some values."""
        if n_values:
            self._seen.add(name)

    def notes(self) -> list[str]:
        """Columns of the input that no row had: in JSON lines that is not an error of a row."""
        unseen = [name for name in self.extra if name not in self._seen]
        return [f"column {name!r} is null in every row" for name in unseen]

    def scores_of(
        self,
        scores: npt.NDArray[np.float64],
        null_reasons: npt.NDArray[np.uint8],
        judged: Sequence[JudgedRowScores] | None = None,
    ) -> RowScores:
        """What of the scores of some rows goes into the columns."""
        verdicts = verdicts_of(scores, self.plan.rule, null_reasons)
        probabilities = [
            np.array(self.plan.calibrations[metric].probabilities(scores[:, column]), np.float64)
            for column, metric in enumerate(self.plan.columns)
            if metric in self.calibrated
        ]
        modes = [[_mode(row.get(metric)) for row in judged or ()] for metric in self.judged]
        return RowScores(
            scores, null_reasons, verdicts.composite, verdicts.passed, probabilities, modes
        )


@dataclass(frozen=True, slots=True)
class RowScores:
    """Scores, null reasons, composite scores, verdicts, probabilities and modes of some rows."""

    scores: npt.NDArray[np.float64]
    null_reasons: npt.NDArray[np.uint8]
    composite: npt.NDArray[np.float64]
    passed: npt.NDArray[np.bool_]
    probabilities: list[npt.NDArray[np.float64]]
    modes: list[list[str]]

    def lists(self) -> list[list[Any]]:
        """A list of Python values per column, None where null."""
        reasons = self.null_reasons
        return [
            *(_numbers(column) for column in self.scores.T),
            *(_reasons(column) for column in reasons.T),
            _numbers(self.composite),
            self.passed.tolist(),
            *(_numbers(column) for column in self.probabilities),
            *self.modes,
        ]


def _mode(found: JudgedScore | None) -> str:
    if found is None:
        return "heuristic"
    return "fallback" if found.is_fallback else found.mode


def _numbers(column: npt.NDArray[np.float64]) -> list[float | None]:
    values: list[float | None] = column.tolist()
    for index in np.flatnonzero(np.isnan(column)).tolist():
        values[index] = None
    return values


def _reasons(column: npt.NDArray[np.uint8]) -> list[str | None]:
    if not column.any():
        return [None] * len(column)
    return [REASON_NAMES[reason] for reason in column.tolist()]


def row_ids(scored: ScoredBlock) -> list[Any]:
    """The id of each row, or its number in the input, from 0, where it has none."""
    ordinals = origin_of(scored.rows).ordinals
    return [
        ordinal if found is None else found
        for found, ordinal in zip(scored.rows.ids(), ordinals, strict=True)
    ]


def block_lists(columns: ScoreColumns, scored: ScoredBlock) -> list[list[Any]]:
    """The values of a block as one list per column."""
    scores = columns.scores_of(scored.scores, scored.null_reasons, scored.judged)
    extra = [columns.values_of(scored, name) for name in columns.extra]
    digests = [] if columns.digests is None else [columns.digests(scored.rows)]
    return [row_ids(scored), *extra, *digests, *scores.lists()]
