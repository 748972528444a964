"""Scored blocks of a run in, one by one; at its end the view of the whole run, out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rag_eval.comparing.run_comparison import RunComparison
from rag_eval.comparing.two_runs import compare
from rag_eval.errors import InputError
from rag_eval.gating.limits import GateOutcome
from rag_eval.inputs.blocks import RowFault
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.options.plan import Plan
from rag_eval.results.batch import BatchSummary
from rag_eval.results.verdicts import judge_rows
from rag_eval.runs.kept_rows import KeptRows
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.scoring.engine import ScoredBlock
from rag_eval.scoring.worst_rows import KeptRow
from rag_eval.views.histograms import histograms
from rag_eval.views.row_choice import RowChoice
from rag_eval.views.run_view import RunView, SliceView, ViewedRow
from rag_eval.views.slicing import slices_of
from rag_eval.views.texts import id_text


class RunWatch:
    """Keeps of a run what its view will need: some rows with their texts, and fields to slice by.

    Scores and ids of all rows are kept only for slices and for a baseline: some 10 bytes a score.

    Parameters
    ----------
    plan : Plan
    slice_by : sequence of str
        Fields of the samples or of their metadata.
    baseline : path, optional
        An earlier run to compare with row by row.
    force : bool
        Compare with a baseline of other settings all the same.
    """

    def __init__(
        self,
        plan: Plan,
        slice_by: Sequence[str] = (),
        baseline: str | Path | None = None,
        *,
        force: bool = False,
    ) -> None:
        self._plan = plan
        self._slice_by = tuple(slice_by)
        self._baseline = baseline
        self._force = force
        self._choice: RowChoice[KeptRow] = RowChoice()
        wanted = bool(slice_by) or baseline is not None
        self._rows = KeptRows(plan, self._slice_by) if wanted else None

    def add(self, scored: ScoredBlock, first_row: int) -> None:
        """Look at the rows of a block, whose first is row ``first_row`` of the run."""
        verdicts = judge_rows(scored.scores, self._plan)

        def row(place: int) -> KeptRow:
            return KeptRow.of(scored, place, first_row, self._plan)

        self._choice.add(first_row, verdicts.composite, verdicts.passed, row)
        if self._rows is not None:
            self._rows.add(scored)

    def view(
        self,
        source: str,
        summary: BatchSummary,
        blocks: Callable[[], Iterable[npt.NDArray[np.float64]]],
        needs: FieldNeeds,
        *,
        gates: Sequence[GateOutcome],
        passed: bool,
        interrupted: bool,
        n_skipped: int,
        faults: Sequence[RowFault],
    ) -> RunView:
        """The view of the rows so far; ``blocks`` gives their scores again."""
        run = None if self._rows is None else self._rows.run(source, signature=summary.signature)
        comparison, notes = self._compared(run)
        rows = [self._viewed(row, needs, summary.evaluated_at) for row in self._choice.chosen()]
        with_composites = ((one, judge_rows(one, self._plan).composite) for one in blocks())
        return RunView(
            source=source,
            summary=summary,
            thresholds={metric: self._plan.thresholds[metric] for metric in summary.metrics},
            gates=tuple(gates),
            passed=passed,
            interrupted=interrupted,
            n_skipped=n_skipped,
            faults=tuple(faults),
            histograms=histograms(summary, with_composites),
            rows=tuple(rows),
            slices=self._slices(run),
            comparison=comparison,
            notes=tuple(notes),
        )

    def _viewed(self, row: KeptRow, needs: FieldNeeds, evaluated_at: str) -> ViewedRow:
        return ViewedRow(
            number=row.number,
            name=row.name,
            id=id_text(row.sample),
            result=row.opened(self._plan, needs, evaluated_at),
            path=row.path,
            line=row.line,
        )

    def _slices(self, run: ScoredRun | None) -> tuple[SliceView, ...]:
        if run is None or not self._slice_by:
            return ()
        passed = run.passed.astype(np.bool_)
        return slices_of(run.metrics, run.scores, run.composite, passed, run.columns)

    def _compared(self, run: ScoredRun | None) -> tuple[RunComparison | None, list[str]]:
        """Row by row; a baseline that is a summary, or has no ids, is compared by gates alone."""
        if run is None or self._baseline is None:
            return None, []
        try:
            return compare(self._baseline, run, slices=self._slice_by, force=self._force), []
        except InputError as error:
            return None, [f"rows are not compared with the baseline: {error}"]
