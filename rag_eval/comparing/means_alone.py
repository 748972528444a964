"""Two result files whose rows have no ids in; their means side by side, without a test, out."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rag_eval.comparing.run_comparison import ComparisonOptions, RunComparison
from rag_eval.comparing.tested_changes import MetricChange
from rag_eval.inputs.byte_files import plain_name
from rag_eval.metrics.ids import DIAGNOSTIC_IDS
from rag_eval.results.summaries import COMPOSITE, MeanChange, compare_files
from rag_eval.runs.run_files import RunSource, sources_of
from rag_eval.runs.run_rows import MissingIdsError
from rag_eval.stats.intervals import Interval

_NOT_GATING: Final = (*DIAGNOSTIC_IDS, COMPOSITE)


def compare_means(
    old: RunSource,
    new: RunSource,
    options: ComparisonOptions,
    error: MissingIdsError,
    *,
    force: bool,
) -> RunComparison:
    """Compare what the summaries of two result files say.

    Raises
    ------
    MissingIdsError
        The one given, when they are no two result files, or rows are needed.
    InputError
        As for :func:`rag_eval.results.summaries.compare_files`.
    """
    files = [sources_of(source) for source in (old, new)]
    if options.cluster_by or options.slices or not all(map(_is_result_file, files)):
        raise error
    found = compare_files(files[0][0], files[1][0], force=force)
    return RunComparison(
        old=found.old.name,
        new=found.new.name,
        options=options,
        changes=tuple(_change(change, options.level) for change in found.changes),
        differences=tuple(found.differences),
        notes=(f"means alone are compared, without a test: {error}", *found.notes),
        table=None,
    )


def _is_result_file(files: list[object]) -> bool:
    (first, *others) = files
    return not others and isinstance(first, (str, Path)) and plain_name(first).endswith(".json")


def _change(change: MeanChange, level: float) -> MetricChange:
    unknown = Interval(
        estimate=change.delta,
        low=None,
        high=None,
        level=level,
        n_resamples=0,
        n_groups=0,
        too_few=True,
    )
    return MetricChange(
        name=change.name,
        slice=None,
        gating=change.name not in _NOT_GATING,
        higher_is_better=change.higher_is_better,
        margin=0.0,
        old=change.old,
        new=change.new,
        old_interval=None,
        new_interval=None,
        difference=unknown,
        n_pairs=0,
        test=None,
        verdict="not compared",
        detectable=None,
        nulls=None,
        rows={},
    )
