"""A batch, a result file or a run in; its view for reports out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rag_eval.comparing.run_comparison import RunComparison
from rag_eval.comparing.two_runs import compare
from rag_eval.errors import InputError, TextsNotKeptError
from rag_eval.gating.limits import GateOutcome, verdict_of
from rag_eval.inputs.blocks import RowFault
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.kernels.verdicts import verdicts_of
from rag_eval.options.plan import Plan
from rag_eval.results.batch import BatchEvalResult, BatchSummary
from rag_eval.results.batch_reading import batch_of_file
from rag_eval.results.reading import ResultFile
from rag_eval.results.row import EvalResult, id_text, row_name
from rag_eval.results.score_rows import metadata_of
from rag_eval.runs.kept_rows import KeptRows
from rag_eval.runs.row_clusters import by_clusters
from rag_eval.runs.run_files import RunSource, sample_of
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import MetricId
from rag_eval.scoring.batch import Results
from rag_eval.scoring.engine import ScoredBlock
from rag_eval.scoring.worst_rows import KeptRow, opened_rows
from rag_eval.views.distributions import histograms, slices_of
from rag_eval.views.old_answers import with_old_answers
from rag_eval.views.result_rows import is_interrupted, n_skipped
from rag_eval.views.row_choice import MOST_ROWS, RowChoice
from rag_eval.views.run_view import RunView, SliceView, ViewedRow


def view_of_batch(
    batch: BatchEvalResult,
    *,
    source: str = "",
    slice_by: Sequence[str] = (),
    cluster_by: str | None = None,
    baseline: RunSource | None = None,
    gates: Iterable[GateOutcome] = (),
    most_rows: int = MOST_ROWS,
    force: bool = False,
) -> RunView:
    """The view of a result in memory.

    Parameters
    ----------
    batch : BatchEvalResult
    source : str
        What its samples are called.
    slice_by : sequence of str
        Fields of the samples or of their metadata.
    cluster_by : str, optional
        A field of theirs, by which intervals are made; see :meth:`BatchEvalResult.by_clusters`.
    baseline : RunSource, optional
        An earlier run to compare with, as for :func:`rag_eval.compare`.
    gates : iterable of GateOutcome
    most_rows : int
        Maximum number of listed rows; a longer batch lists its worst rows and a random sample.
    force : bool
        Compare even if the settings of the baseline differ.

    Raises
    ------
    InputError
        For a baseline that cannot be compared with.
    """
    outcomes = tuple(gates)
    if cluster_by is not None:
        batch = by_clusters(batch, cluster_by)
    found = RunView(
        source=source,
        summary=batch,
        thresholds=thresholds_of(batch),
        gates=outcomes,
        passed=verdict_of(outcomes),
        histograms=histograms(batch, [(batch.scores, batch.composite_scores)]),
        rows=_rows(batch, most_rows),
        slices=slices_of(
            batch.metrics,
            batch.scores,
            batch.composite_scores,
            batch.sample_passed,
            {name: _column(batch, name) for name in slice_by},
            batch.left_out,
        ),
        comparison=None
        if baseline is None
        else compare(baseline, batch, slices=slice_by, cluster_by=cluster_by, force=force),
    )
    return with_old_answers(found, baseline)


def view_of_file(
    path: str | Path,
    *,
    slice_by: Sequence[str] = (),
    cluster_by: str | None = None,
    baseline: RunSource | None = None,
    most_rows: int = MOST_ROWS,
    force: bool = False,
) -> RunView:
    """The view of a result file, of this library or of rag-eval-node-ts; it is read whole.

    Parameters
    ----------
    path : path
        As for :class:`~rag_eval.results.reading.ResultFile`.
    slice_by, cluster_by, baseline, most_rows, force
        As for :func:`view_of_batch`.

    Raises
    ------
    InputError
        When it is not a result file, or the baseline cannot be compared.
    """
    file = ResultFile(path)
    batch = batch_of_file(file)
    found = view_of_batch(
        batch,
        source=file.source,
        slice_by=slice_by,
        cluster_by=cluster_by,
        most_rows=most_rows,
    )
    compared = None
    if baseline is not None:
        compared = compare(baseline, file, slices=slice_by, cluster_by=cluster_by, force=force)
    return replace(
        with_old_answers(found, baseline),
        interrupted=is_interrupted(file),
        n_skipped=n_skipped(file),
        comparison=compared,
    )


def thresholds_of(batch: BatchEvalResult) -> dict[MetricId, float | None]:
    """By the plan of the batch, or by its rows where it was read from a file."""
    if isinstance(batch.results, Results):
        return {metric: batch.results.plan.thresholds[metric] for metric in batch.metrics}
    found: dict[MetricId, float | None] = dict.fromkeys(batch.metrics)
    for result in batch.results:
        for name, metric in result.metrics.items():
            if found.get(name) is None:
                found[name] = metric.threshold
        if None not in found.values():
            break
    return found


def _rows(batch: BatchEvalResult, most: int) -> tuple[ViewedRow, ...]:
    choice: RowChoice[int] = RowChoice(most)
    choice.add(0, batch.composite_scores, np.asarray(batch.sample_passed, np.bool_), int)
    try:
        return tuple(_viewed_row(number, batch.results[number]) for number in choice.chosen())
    except TextsNotKeptError:
        return ()


def _viewed_row(number: int, result: EvalResult) -> ViewedRow:
    known = id_text(result.sample)
    return ViewedRow(number=number, name=row_name(number, known), id=known, result=result)


def _viewed(row: KeptRow, result: EvalResult) -> ViewedRow:
    return ViewedRow(
        number=row.number,
        name=row.name,
        id=id_text(row.sample),
        result=result,
        path=row.path,
        line=row.line,
    )


def _column(batch: BatchEvalResult, name: str) -> list[str | None]:
    values = [metadata_of(sample_of(batch, row), name) for row in range(len(batch))]
    if all(value is None for value in values):
        raise InputError(f"no sample has a field {name!r}, in itself or in its metadata")
    return [None if value is None else str(value) for value in values]


# -------------------------------------------------------------------------- a run, block by block


class RunWatch:
    """Keeps of a run what its view will need: some rows with their texts, and fields to slice by.

    Scores and ids of all rows are kept only for slices: some 10 bytes a score.

    Parameters
    ----------
    plan : Plan
    slice_by : sequence of str
        Fields of the samples or of their metadata.
    """

    def __init__(self, plan: Plan, slice_by: Sequence[str] = ()) -> None:
        self._plan = plan
        self._choice: RowChoice[KeptRow] = RowChoice()
        self._rows = KeptRows(plan, slice_by) if slice_by else None
        self._n_rows = 0

    def add(self, scored: ScoredBlock, first_row: int) -> None:
        """Look at the rows of a block, whose first is row ``first_row`` of the run."""
        verdicts = verdicts_of(scored.scores, self._plan.rule, scored.null_reasons)

        @cache  # one of the worst may be drawn, too
        def row(place: int) -> KeptRow:
            return KeptRow.of(scored, place, first_row, self._plan)

        self._choice.add(first_row, verdicts.composite, verdicts.passed, row)
        self._n_rows = first_row + len(scored.scores)
        if self._rows is not None:
            self._rows.add(scored)

    @property
    def takes_all(self) -> bool:
        """Whether so few rows have come that all of them are kept."""
        return self._n_rows < MOST_ROWS

    def view(
        self,
        source: str,
        summary: BatchSummary,
        blocks: Callable[[], Iterable[npt.NDArray[np.float64]]],
        needs: FieldNeeds,
        *,
        gates: Sequence[GateOutcome],
        passed: bool | None,
        interrupted: bool,
        n_skipped: int,
        faults: Sequence[RowFault],
        comparison: RunComparison | None = None,
        notes: Sequence[str] = (),
    ) -> RunView:
        """The view of the rows so far; ``blocks`` gives their scores again."""
        run = None if self._rows is None else self._rows.run(source, signature=summary.signature)
        kept = self._choice.chosen()
        results = opened_rows(kept, self._plan, needs, summary.evaluated_at, lazily=True)
        with_composites = ((one, verdicts_of(one, self._plan.rule).composite) for one in blocks())
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
            rows=tuple(map(_viewed, kept, results)),
            slices=self._slices(run, summary.left_out),
            comparison=comparison,
            notes=tuple(notes),
        )

    def _slices(
        self, run: ScoredRun | None, left_out: Collection[MetricId]
    ) -> tuple[SliceView, ...]:
        if run is None:
            return ()
        passed = run.passed.astype(np.bool_)
        return slices_of(run.metrics, run.scores, run.composite, passed, run.columns, left_out)
