"""Two result files whose rows have no ids in; their means side by side, without a test, out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rag_eval.comparing.run_comparison import ComparisonOptions, RunComparison
from rag_eval.comparing.tested_changes import MetricChange
from rag_eval.metrics.ids import COMPOSITE, DIAGNOSTIC_IDS
from rag_eval.results.reading import MissingIdsError, ResultFile, SummaryAloneError
from rag_eval.results.summaries import MeanChange, compare_files
from rag_eval.stats.moment_intervals import unbounded

_NOT_GATING: Final = (*DIAGNOSTIC_IDS, COMPOSITE)


def compare_means(
    old: Sequence[object],
    new: Sequence[object],
    options: ComparisonOptions,
    error: MissingIdsError,
    *,
    force: bool,
) -> RunComparison:
    """Compare the summaries of two result files.

    Raises
    ------
    MissingIdsError
        ``error``, when these are not two result files or rows are needed.
    InputError
        As for :func:`rag_eval.results.summaries.compare_files`.
    """
    files = [source for source in (*old, *new) if isinstance(source, (str, Path, ResultFile))]
    if options.cluster_by or options.slices or not len(files) == len(old) + len(new) == 2:
        raise error
    # Rows without ids: a result file may still hold means, a table of scores does not.
    is_summary = isinstance(error, SummaryAloneError)
    if not is_summary and not all(ResultFile.of(file).may_say_more for file in files):
        raise error
    found = compare_files(*files, force=force)
    return RunComparison(
        old=found.old.name,
        new=found.new.name,
        options=options,
        changes=tuple(_change(change, options.level) for change in found.changes),
        differences=tuple(found.differences),
        notes=(f"only means are compared, without a test: {error}", *found.notes),
        table=None,
    )


def _change(change: MeanChange, level: float) -> MetricChange:
    return MetricChange(
        name=change.name,
        gating=change.name not in _NOT_GATING,
        higher_is_better=change.higher_is_better,
        old=change.old,
        new=change.new,
        difference=unbounded(change.delta, level, 0),
    )
