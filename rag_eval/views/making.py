"""A batch or a result file in; the view of it that reports are made of, out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rag_eval.comparing.run_comparison import RunComparison
from rag_eval.comparing.two_runs import compare
from rag_eval.errors import InputError, TextsNotKeptError
from rag_eval.gating.limits import GateOutcome, pass_rate_outcome
from rag_eval.results.batch import BatchEvalResult
from rag_eval.results.row import EvalResult
from rag_eval.runs.row_readers import metadata_of
from rag_eval.runs.run_files import RunSource, sample_of
from rag_eval.samples import MetricId
from rag_eval.scoring.batch import Results
from rag_eval.views.histograms import histograms
from rag_eval.views.result_rows import ResultFile, whole_batch
from rag_eval.views.row_choice import MOST_ROWS, RowChoice
from rag_eval.views.run_view import RunView, ViewedRow
from rag_eval.views.slicing import slices_of
from rag_eval.views.texts import id_text, row_name


def view_of_batch(
    batch: BatchEvalResult,
    *,
    source: str = "",
    slice_by: Sequence[str] = (),
    baseline: RunSource | None = None,
    gates: Iterable[GateOutcome] | None = None,
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
    baseline : RunSource, optional
        An earlier run to compare with, as for :func:`rag_eval.compare`.
    gates : iterable of GateOutcome, optional
        By default the one that every sample passes.
    most_rows : int
        Of a longer batch the worst half of so many rows is listed, and others drawn at random.
    force : bool
        Compare with a baseline of other settings all the same.

    Raises
    ------
    InputError
        For a baseline that cannot be compared with.
    """
    outcomes = tuple(gates) if gates is not None else (_default_gate(batch),)
    compared = None if baseline is None else _compared(baseline, batch, slice_by, force)
    return RunView(
        source=source,
        summary=batch,
        thresholds=thresholds_of(batch),
        gates=outcomes,
        passed=all(gate.held for gate in outcomes),
        histograms=histograms(batch, [(batch.scores, batch.composite_scores)]),
        rows=_rows(batch, most_rows),
        slices=slices_of(
            batch.metrics,
            batch.scores,
            batch.composite_scores,
            batch.sample_passed,
            {name: _column(batch, name) for name in slice_by},
        ),
        comparison=compared,
    )


def view_of_file(
    path: str | Path,
    *,
    slice_by: Sequence[str] = (),
    baseline: RunSource | None = None,
    most_rows: int = MOST_ROWS,
    force: bool = False,
) -> RunView:
    """The view of a result file, of this library or of rag-eval-node-ts; it is read whole.

    Parameters
    ----------
    path : path
        ``.json`` or ``.jsonl``, also packed.
    slice_by, baseline, most_rows, force
        As for :func:`view_of_batch`.

    Raises
    ------
    InputError
        When it is no result file, or the baseline cannot be compared with.
    """
    file = ResultFile(path)
    batch = whole_batch(file)
    found = view_of_batch(batch, source=str(path), slice_by=slice_by, most_rows=most_rows)
    return replace(
        found,
        passed=found.passed and not file.is_interrupted,
        interrupted=file.is_interrupted,
        n_skipped=file.n_skipped,
        comparison=None if baseline is None else _compared(baseline, path, slice_by, force),
    )


def _default_gate(batch: BatchEvalResult) -> GateOutcome:
    return pass_rate_outcome(batch.n_passed, batch.n_rows, 1.0)


def _compared(
    baseline: RunSource, run: RunSource, slice_by: Sequence[str], force: bool
) -> RunComparison:
    return compare(baseline, run, slices=slice_by, force=force)


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
        return tuple(viewed_row(number, batch.results[number]) for number in choice.chosen())
    except TextsNotKeptError:
        return ()


def viewed_row(number: int, result: EvalResult) -> ViewedRow:
    """A row of a result in memory under its number."""
    known = id_text(result.sample)
    return ViewedRow(number=number, name=row_name(number, known), id=known, result=result)


def _column(batch: BatchEvalResult, name: str) -> list[str | None]:
    values = [metadata_of(sample_of(batch, row), name) for row in range(len(batch))]
    if all(value is None for value in values):
        raise InputError(f"no sample has a field {name!r}, nor has its metadata")
    return [None if value is None else str(value) for value in values]
