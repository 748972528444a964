"""Files of scored rows (several are repeats) or a result in memory in; a run out."""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError, kind_of, suggestion
from rag_eval.kernels.verdicts import verdicts_of
from rag_eval.metrics.registry import higher_is_better, metric_or_column
from rag_eval.plumbing.descriptors import is_standard_input
from rag_eval.results.batch import BatchEvalResult
from rag_eval.results.batch_reading import repeats_of
from rag_eval.results.reading import ResultFile
from rag_eval.results.row import sample_dict
from rag_eval.results.score_columns import ScoreColumns
from rag_eval.results.score_files import ScoreFile
from rag_eval.results.score_rows import metadata_of
from rag_eval.results.verdicts import NO_VERDICT
from rag_eval.runs.dataset_hash import UNKNOWN, known_digests, row_digests
from rag_eval.runs.repeated_runs import joined
from rag_eval.runs.run_rows import RunRows, check_columns
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import MetricId
from rag_eval.scoring.batch import Results
from rag_eval.stats.repeat_noise import RepeatMoments, add_row

RunSource: TypeAlias = str | Path | ResultFile | ScoredRun | BatchEvalResult | Sequence[Any]
"""A file, a glob pattern, a run, a result in memory, or a list of these (repeats of one run)."""

IN_MEMORY: Final = "the result"
"""The name of a run that is no file."""


def read_run(
    source: RunSource,
    *,
    columns: Sequence[str] = (),
    optional_columns: Sequence[str] = (),
    id_field: str = "id",
    metrics: Sequence[str] | None = None,
    repeats: bool = False,
) -> ScoredRun:
    """Read the scores of a run, without the scored texts.

    Parameters
    ----------
    source : path, ScoredRun, BatchEvalResult, or a list of these
        A result file (``.json``) or rows of results (``.jsonl``), of this library or of
        rag-eval-node-ts, a score file (``.jsonl``, ``.csv``, ``.parquet``, ``.arrow``), a committed
        baseline, or any table with a column of ids and columns named after metrics; text files may
        end in ``.gz`` or ``.zst``, and ``-`` is standard input. A pattern such as ``runs/*.jsonl``
        stands for all matching files. Several files are repeats of one run; their rows are
        concatenated.
    columns : sequence of str
        Metadata to keep, for clusters and slices: fields of a sample or of its ``metadata``, or
        columns of a table. Values become strings.
    optional_columns : sequence of str
        The same, but no row has to have them.
    id_field : str
        Name of the field with the ids.
    metrics : sequence of str, optional
        Metrics to read, in this order. Default: all. A column of a table that is named here may
        have any name.
    repeats : bool
        Whether an id may occur more than once in one file.

    Returns
    -------
    ScoredRun
        Rows in the order of the file.

    Raises
    ------
    InputError
        With the file, row and field; for a repeated id with both rows.
    MissingIdsError
        When rows have no ids, so that the run cannot be compared row by row.
    """
    wanted = None if metrics is None else tuple(dict.fromkeys(map(metric_or_column, metrics)))
    kept = tuple(dict.fromkeys([*columns, *optional_columns]))
    found = [
        _one_run(one, _Wanted(kept, frozenset(optional_columns), id_field, wanted, repeats))
        for one in sources_of(source)
    ]
    return found[0] if len(found) == 1 else joined(found)


def sources_of(source: RunSource, what: str = "a run") -> list[Any]:
    """The files or runs that a source stands for; a pattern gives its matching files.

    Messages call the source ``what``.

    Raises
    ------
    InputError
        When there are none.
    """
    if isinstance(source, (ScoredRun, BatchEvalResult, ResultFile)):
        return [source]
    if isinstance(source, (str, Path)):
        text = str(source)
        if is_standard_input(text):
            return [ResultFile(source)]  # which can be read again
        if not glob.has_magic(text) or Path(text).exists():
            return [source]
        found = sorted(glob.glob(text, recursive=True))  # noqa: PTH207  # may be absolute
        if not found:
            raise InputError(f"no file matches {text}")
        return list(found)
    if not isinstance(source, (list, tuple)) or any(isinstance(one, Mapping) for one in source):
        raise InputError(
            f"{what} must be a file name or a result, got {kind_of(source)}. To make a result from "
            "samples: evaluate_batch(samples)"
        )
    if not source:
        raise InputError("give at least one run")
    return [one for item in source for one in sources_of(item, what)]


class _Wanted(NamedTuple):
    """What to read from each source."""

    columns: tuple[str, ...]
    optional: frozenset[str]
    id_field: str
    metrics: tuple[MetricId, ...] | None
    repeats: bool

    @property
    def needed(self) -> list[str]:
        """Columns that at least one row has to have."""
        return [name for name in self.columns if name not in self.optional]


def _one_run(source: Any, wanted: _Wanted) -> ScoredRun:
    if isinstance(source, ScoredRun):
        there = source.columns
        check_columns(wanted.needed, there, there, there, source.name)
        return _narrowed(source, wanted.metrics)
    if isinstance(source, BatchEvalResult):
        return run_of_result(
            source,
            columns=wanted.needed,
            optional_columns=wanted.columns,
            id_field=wanted.id_field,
            metrics=wanted.metrics,
            repeats=wanted.repeats,
        )
    return _read_file(source, wanted)


def _narrowed(run: ScoredRun, metrics: tuple[MetricId, ...] | None) -> ScoredRun:
    """A run with the requested metrics only, in that order."""
    if metrics is None or metrics == run.metrics:
        return run
    for metric in metrics:
        run.column(metric)  # or an error
    places = [run.metrics.index(metric) for metric in metrics]
    return replace(
        run,
        metrics=metrics,
        scores=run.scores[:, places],
        null_reasons=run.null_reasons[:, places],
        metric_passed=run.metric_passed[:, places],
        lower_is_better=run.lower_is_better.intersection(metrics),
    )


def _read_file(path: str | Path | ResultFile, wanted: _Wanted) -> ScoredRun:
    file = ScoreFile(
        path,
        metrics=wanted.metrics,
        columns=wanted.columns,
        id_field=wanted.id_field,
        digests=row_digests,
    )
    digests: list[Sequence[int]] = []
    rows = RunRows(file.source, id_field=wanted.id_field, repeats=wanted.repeats)
    scores = ScoreColumns()
    for row in file.rows():
        rows.add(row.id, file.columns, row.values, row.place, as_kept=file.is_baseline)
        scores.add(row)
        digests.append(row.digests or UNKNOWN)
    if not rows.ids:
        scores = ScoreColumns(len(file.metrics))
    columns = {name: rows.columns[name] for name in file.columns}
    check_columns(wanted.needed, columns, file.seen, file.fields, file.source)
    for metric in wanted.metrics or ():
        if metric not in file.metrics:
            names = [*file.metrics, *file.unread]
            raise InputError(
                f"{file.source} has no scores of the metric {metric!r}{suggestion(metric, names)} "
                f"(metrics: {', '.join(names) or 'none'})"
            )
    values, null_reasons, verdicts = scores.matrices()
    run = ScoredRun(
        name=file.source,
        ids=rows.ids,
        metrics=tuple(file.metrics),
        scores=values,
        null_reasons=null_reasons,
        metric_passed=verdicts,
        composite=np.array(scores.composite),
        passed=np.array(scores.passed),
        columns=columns,
        signature=file.signature,
        settings=file.settings,
        dataset_hash=file.dataset_hash,
        digests=known_digests(digests),
        lower_is_better=file.lower_is_better,
        n_judgements=file.n_judgements,
        n_failed_judgements=file.n_failed_judgements,
        repeats=file.repeats,
    )
    return _narrowed(run, wanted.metrics)


# --------------------------------------------------------------------------------------- results


def run_of_result(
    result: BatchEvalResult,
    *,
    name: str = IN_MEMORY,
    columns: Sequence[str] = (),
    optional_columns: Sequence[str] = (),
    id_field: str = "id",
    metrics: Sequence[MetricId] | None = None,
    repeats: bool = False,
) -> ScoredRun:
    """The scores of a result in memory, under the ids of its samples.

    Parameters
    ----------
    result : BatchEvalResult
    name : str
        Name of the run in messages.
    columns, optional_columns, id_field, metrics, repeats
        As for :func:`read_run`.

    Raises
    ------
    InputError
        When a metric or a column is missing, or an id is repeated.
    MissingIdsError
        When a sample has no id.
    TextsNotKeptError
        When the samples, and so their ids, were not kept.
    """
    kept = tuple(dict.fromkeys([*columns, *optional_columns]))
    into = RunRows(name, id_field=id_field, repeats=repeats)
    digests: list[Sequence[int]] = []
    for row in range(len(result)):
        sample = sample_of(result, row)
        values = [metadata_of(sample, column) for column in kept]
        into.add(sample.get(id_field), kept, values, f"sample {row}")
        digests.append(row_digests(sample))
    found = {column: into.columns[column] for column in kept}
    check_columns(columns, found, (), sample_of(result, 0) if len(result) else (), name)
    run = ScoredRun(
        name=name,
        ids=into.ids,
        metrics=tuple(result.metrics),
        scores=np.asarray(result.scores, np.float64),
        null_reasons=np.asarray(result.null_reasons, np.uint8),
        metric_passed=known_verdicts(result),
        composite=np.asarray(result.composite_scores, np.float64),
        passed=np.asarray(result.sample_passed, np.int8),
        columns=found,
        signature=result.signature,
        settings=result.settings,
        digests=known_digests(digests),
        lower_is_better=frozenset(m for m in result.metrics if not higher_is_better(m)),
        n_judgements=0 if result.judging is None else result.judging.n_wanted,
        n_failed_judgements=0 if result.judging is None else result.judging.n_failed,
        repeats=_repeats_of(result),
    )
    return _narrowed(run, None if metrics is None else tuple(metrics))


def _repeats_of(result: BatchEvalResult) -> dict[MetricId, RepeatMoments]:
    if result.judging is not None:
        return result.judging.repeats
    if isinstance(result.results, Results):
        return {}
    found: dict[MetricId, RepeatMoments] = {}
    for row in result.results:
        add_row(found, repeats_of(row))
    return found


def sample_of(result: BatchEvalResult, row: int) -> Mapping[str, Any]:
    """A sample as it is echoed, without computing its explanation."""
    rows = result.results
    sample = rows.sample(row) if isinstance(rows, Results) else rows[row].sample
    return sample_dict(sample)


def known_verdicts(result: BatchEvalResult) -> npt.NDArray[np.int8]:
    """Verdicts per row and metric, where known."""
    found = np.full(result.scores.shape, NO_VERDICT, np.int8)
    rows = result.results
    if isinstance(rows, Results):
        plan = rows.plan
        measured = ~np.isnan(result.scores)
        for column, metric in enumerate(plan.columns):
            measured[:, column] &= plan.thresholds[metric] is not None
        found[measured] = verdicts_of(result.scores, plan.rule).metric_passed[measured]
        return found
    for row, one in enumerate(rows):
        for column, metric in enumerate(result.metrics):
            passed = one.metrics[metric].passed if metric in one.metrics else None
            if passed is not None:
                found[row, column] = passed
    return found
