"""The N rows of a long run that score lowest, kept while all others are dropped."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.engine import ScoredBlock
from rag_eval.explaining import explain_row
from rag_eval.judged_scores import JudgedRowScores
from rag_eval.options import Plan
from rag_eval.results import EvalResult
from rag_eval.scorer_fields import row_fields
from rag_eval.scorers.contract import Fields
from rag_eval.sources import FieldNeeds, pack_block, read_rows
from rag_eval.validation import origin_of

_Scored: TypeAlias = "tuple[npt.NDArray[np.float64], JudgedRowScores | None, Fields | None]"


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
        # The best of the worst is on top: (-composite, -row, name, sample, scores and judgements).
        self._heap: list[tuple[float, int, str, Any, _Scored]] = []

    def add(self, scored: ScoredBlock, composite: npt.NDArray[np.float64], first_row: int) -> None:
        """Consider the rows of a block, whose first is row ``first_row`` of the run."""
        if not self._n_rows:
            return
        block = scored.rows
        origin = origin_of(block)
        for index in np.flatnonzero(composite < self._limit()).tolist():
            value = float(composite[index])
            if value >= self._limit():
                continue
            sample = block.sample(index)
            name = origin.place(origin.numbers[index], sample)
            judged = None if scored.judged is None else scored.judged[index]
            kept = (scored.scores[index], judged, row_fields(block, index, self._plan))
            entry = (-value, -first_row - index, name, sample, kept)
            if len(self._heap) < self._n_rows:
                heapq.heappush(self._heap, entry)
            else:
                heapq.heapreplace(self._heap, entry)

    def _limit(self) -> float:
        return np.inf if len(self._heap) < self._n_rows else -self._heap[0][0]

    def _sorted(self) -> list[tuple[float, int, str, Any, _Scored]]:
        # No two rows have one number: samples are never compared.
        return sorted(self._heap, reverse=True)

    def opened(self, needs: FieldNeeds, evaluated_at: str) -> list[WorstRow]:
        """The rows with their explanations and signals, the worst first."""
        opened = []
        for _, row, name, sample, (scores, judged, fields) in self._sorted():
            batch = pack_block(read_rows([sample], 0, needs), needs)
            result = explain_row(
                sample,
                batch,
                0,
                self._plan,
                evaluated_at,
                scored=(-row, scores),
                judged=judged,
                fields=fields,
            )
            opened.append(WorstRow(name, result, self._details))
        return opened
