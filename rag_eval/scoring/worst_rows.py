"""Rows of a long run that are kept while all others are dropped: the N that score lowest."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rag_eval.inputs.row_texts import read_rows
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.kernels.columns import KeptRows as KernelRows
from rag_eval.kernels.verdicts import verdicts_of
from rag_eval.metrics.contract import Fields
from rag_eval.options.plan import Plan
from rag_eval.results.judged import JudgedRowScores
from rag_eval.results.row import EvalResult
from rag_eval.scoring.engine import ScoredBlock
from rag_eval.scoring.explaining import explained_rows, scored_rows
from rag_eval.scoring.faulty_rows import origin_of
from rag_eval.scoring.scorer_columns import row_fields

_BLOCK_ROWS: Final = 256


@dataclass(frozen=True, slots=True)
class KeptRow:
    """A row with everything needed to explain it later.

    Attributes
    ----------
    number : int
        Among all rows of the run, from 0.
    name : str
        Its place and id.
    path, line : str, int or None
        The file, and the line in a file of lines, from 1.
    details : KernelRows or None
        What kernels kept of it; None where they only scored it.
    """

    number: int
    name: str
    path: str
    line: int | None
    sample: Any
    scores: npt.NDArray[np.float64]
    judged: JudgedRowScores | None
    fields: Fields | None
    absent: frozenset[str]
    details: KernelRows | None

    @classmethod
    def of(cls, scored: ScoredBlock, index: int, first_row: int, plan: Plan) -> KeptRow:
        """The row at ``index`` of a block whose first is row ``first_row`` of the run."""
        block = scored.rows
        origin = origin_of(block)
        sample = block.sample(index)
        return cls(
            number=first_row + index,
            name=origin.place(origin.numbers[index], sample),
            path=origin.source,
            line=origin.numbers[index] if origin.unit == "line" else None,
            sample=sample,
            # A view would keep the scores of the whole block.
            scores=scored.scores[index].copy(),
            judged=None if scored.judged is None else scored.judged[index],
            fields=row_fields(block, index, plan),
            absent=block.absent,
            details=None if scored.details is None else scored.details.alone(index),
        )


def opened_rows(
    rows: Sequence[KeptRow],
    plan: Plan,
    needs: FieldNeeds,
    evaluated_at: str,
    *,
    lazily: bool = False,
) -> Iterator[EvalResult]:
    """The results of rows with explanations and signals, in their order.

    They are packed, judged and, without details, scored together, which takes a third of the time;
    ``lazily`` is as for :func:`~rag_eval.scoring.explaining.explained_rows`.
    """
    for (absent, is_scored), some in groupby(rows, lambda row: (row.absent, bool(row.details))):
        while block := list(islice(some, _BLOCK_ROWS)):
            samples = [row.sample for row in block]
            batch = read_rows(samples, 0, needs.without(absent)).pack()
            judged, fields = [row.judged or {} for row in block], [row.fields for row in block]
            kept = [row.details[0] for row in block if row.details is not None]
            found = scored_rows(samples, batch, plan, judged, fields, kept if is_scored else None)
            for row, one in zip(block, found, strict=True):
                one.same_as(row.number, row.scores)
            yield from explained_rows(found, evaluated_at, lazily=lazily)


@dataclass(frozen=True, slots=True)
class WorstRow:
    """One of the rows with the lowest composite scores; ``name`` is its place and id."""

    name: str
    result: EvalResult
    details: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The result in the schema of result files, with details if asked for, and its place."""
        return {"row": self.name, **self.result.to_dict(self.details)}


class WorstRows:
    """Keeps the samples of the N lowest composite scores; of equal ones the earlier.

    Rows without a composite score are not among them: nothing of them was measured.
    """

    def __init__(self, plan: Plan, n_rows: int, details: bool = False) -> None:
        self._plan = plan
        self._n_rows = n_rows
        self._details = details
        # The best of the worst is on top; no two rows have one number.
        self._heap: list[tuple[float, int, KeptRow]] = []

    def add(self, scored: ScoredBlock, first_row: int) -> None:
        """Consider the rows of a block, whose first is row ``first_row`` of the run."""
        if not self._n_rows:
            return
        composite = verdicts_of(scored.scores, self._plan.rule).composite
        for index in np.flatnonzero(composite < self._limit()).tolist():
            value = float(composite[index])
            if value >= self._limit():
                continue
            row = KeptRow.of(scored, index, first_row, self._plan)
            entry = (-value, -row.number, row)
            if len(self._heap) < self._n_rows:
                heapq.heappush(self._heap, entry)
            else:
                heapq.heapreplace(self._heap, entry)

    def _limit(self) -> float:
        return np.inf if len(self._heap) < self._n_rows else -self._heap[0][0]

    def opened(self, needs: FieldNeeds, evaluated_at: str) -> list[WorstRow]:
        """The rows with their explanations and signals, the worst first."""
        kept = [row for _, _, row in sorted(self._heap, key=_place, reverse=True)]
        results = opened_rows(kept, self._plan, needs, evaluated_at)
        return [
            WorstRow(row.name, result, self._details)
            for row, result in zip(kept, results, strict=True)
        ]


def _place(entry: tuple[float, int, KeptRow]) -> tuple[float, int]:
    return entry[:2]
