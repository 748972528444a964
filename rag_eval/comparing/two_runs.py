"""Two runs, as files or results, in; what changed between them, with its uncertainty, out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from rag_eval.comparing.means_alone import compare_means
from rag_eval.comparing.metric_changes import Member, metric_changes
from rag_eval.comparing.pairing import PASSED, Edited, row_table
from rag_eval.comparing.run_comparison import ComparisonOptions, RunComparison
from rag_eval.comparing.run_differences import (
    differences_of,
    input_notes,
    odd_score_notes,
    repeat_notes,
    setting_notes,
    slice_notes,
    threshold_differences,
    verdict_differences,
    weight_differences,
)
from rag_eval.comparing.tested_changes import FamilyRule, MetricChange, Slice
from rag_eval.errors import InputError, glance, suggestion
from rag_eval.metrics.ids import COMPOSITE, DIAGNOSTIC_IDS
from rag_eval.metrics.registry import higher_is_better, metric_or_column, place_of
from rag_eval.plumbing.checked_values import from_zero
from rag_eval.results.reading import MissingIdsError
from rag_eval.results.summaries import check_differences
from rag_eval.results.verdicts import NO_VERDICT
from rag_eval.runs.run_files import IN_MEMORY, RunSource, read_run, sources_of
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import MetricId, NullReason

ALL_METRICS: Final = "*"
"""In a mapping of margins or tolerances, the key for all metrics that it does not name."""
TOLERANCE: Final = 0.005
"""Drop of a mean that is too small to matter, by default."""
MOST_SLICES: Final = 100
_EXTRAS: Final = (COMPOSITE, PASSED)


def compare(
    old: RunSource,
    new: RunSource,
    *,
    metrics: Iterable[str] | None = None,
    gating: Iterable[str] | None = None,
    lower_is_better: Iterable[str] = (),
    cluster_by: str | None = None,
    slices: Sequence[str] = (),
    margin: float | Mapping[str, float] = 0.0,
    tolerance: float | Mapping[str, float] = TOLERANCE,
    level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
    epsilon: float = 1e-9,
    alpha: float = 0.05,
    adjust: FamilyRule = "max-t",
    id_field: str = "id",
    edited: Edited = "drop",
    force: bool = False,
) -> RunComparison:
    """Compare two runs row by row and test which changes are more than chance.

    Rows are paired by id; repeats of a row are averaged first. One test decides for each metric: a
    sign-flip test for means, McNemar's exact test for verdicts. Gating metrics, over all rows and
    over each slice, form one family whose p values are adjusted by Westfall and Young's step-down
    max-T method, so the chance of any false alarm is at most ``alpha``. It uses one draw of signs
    for all tests, so that metrics which rise and fall together cost less power than by Holm's
    method. The p values of other metrics are adjusted by the Benjamini-Hochberg method and do not
    affect the verdict.

    Parameters
    ----------
    old, new : path, BatchEvalResult, ScoredRun, or a list of these
        As for :func:`rag_eval.runs.run_files.read_run`; a list holds repeats of one run.
    metrics : iterable of str, optional
        Metrics to compare. Default: all that both runs have, with the ``composite`` score and
        ``passed`` (the verdict on the row), which do not gate.
    gating : iterable of str, optional
        Metrics in the family that decides. Default: all metrics except diagnostics, ``composite``
        and ``passed``.
    lower_is_better : iterable of str
        Lower-is-better metrics that this library does not know and whose file does not say so.
    cluster_by : str, optional
        Field of the samples, or column, whose equal values mark rows that belong together.
    slices : sequence of str
        Fields whose values are also compared one by one. Choose them before you see the data:
        slices that are picked afterwards show chance findings.
    margin : float or mapping of float
        Largest accepted loss of the mean, 0 or more: one for all metrics, or by name, with ``*``
        for all others.
    tolerance : float or mapping of float
        A drop that a test shows but that is no larger is WITHIN TOLERANCE, not REGRESSED, because
        with deterministic scores every change of the wording is significant. Given like a margin.
        Unlike a margin it changes no test and no p value.
    level : float
        Confidence level of the intervals.
    n_resamples, seed : int
        Least number of sign patterns, and the random seed. The number used is the next power of
        two, and larger where a large family needs more to be able to reject; each test reports it.
    epsilon : float
        Scores that differ by at most this are the same.
    alpha : float
        Significance level of the verdicts.
    adjust : {"max-t", "holm"}
        How the p values of gating metrics are adjusted for their number. Holm's method holds for
        tests that depend on each other in any way; max-T for exchangeable runs, as each test does.
    id_field : str
        Name of the field with the ids.
    edited : {"drop", "keep"}
        Whether rows with the same id but another question, ground truth or relevant ids are left
        out: their scores may differ because the input does. Only result files, the store and
        exported baselines know their inputs.
    force : bool
        Compare runs even if their settings differ.

    Returns
    -------
    RunComparison
        Only means, with a note and without tests, for result files whose rows have no ids.

    Raises
    ------
    SignatureMismatchError
        When the runs were scored under different settings, unless ``force`` is true.
    InputError
        For a file that cannot be read, runs without a common id or metric, or options that do not
        fit the runs.
    """
    if isinstance(slices, str):
        raise InputError(f"slices must be a list of fields, got {slices!r}")
    options = ComparisonOptions(
        level=level,
        alpha=alpha,
        n_resamples=n_resamples,
        seed=seed,
        epsilon=from_zero(epsilon, "epsilon"),
        cluster_by=cluster_by,
        slices=tuple(dict.fromkeys(slices)),
        edited=edited,
        adjust=adjust,
    )
    wanted = None if metrics is None else [metric_or_column(metric) for metric in metrics]
    columns = list(dict.fromkeys([*([cluster_by] if cluster_by else []), *slices]))
    sources = sources_of(old, "the first run"), sources_of(new, "the second run")
    try:
        before, after = (read_scores(source, columns, id_field, wanted) for source in sources)
    except MissingIdsError as error:
        means = compare_means(*sources, options, error, force=force)
        return _narrowed(means, wanted, gating, lower_is_better)
    if before.name == after.name == IN_MEMORY:
        before = replace(before, name="the old result")
        after = replace(after, name="the new result")
    names = names_of([before, after], wanted, force=force)
    found = [name for name in names if name not in _EXTRAS]
    deciding = None if gating is None else [metric_or_column(name) for name in gating]
    lost = _lost_metrics(before, after, deciding or ()) if wanted is None else ()
    names = _in_order([*names, *lost]) if lost else names
    notes = setting_notes(before, after, wanted, force=force)
    differences = [
        *differences_of(before, after, found),
        *verdict_differences(before, after, names),
    ]
    check_differences(before.name, after.name, differences, force=force)
    table = row_table(before, after, names, columns, edited)
    falling = falling_of([before, after], names, lower_is_better)
    margins = _by_metric(margin, names, "margin", 0.0)
    tolerances = _by_metric(tolerance, names, "tolerance", TOLERANCE)
    gates = gating_of(deciding, names)
    members = [
        Member(name, name in gates, name not in falling, margins[name], tolerances[name])
        for name in names
    ]
    parts = slices_of(table.columns, slices)
    changes: list[MetricChange] = metric_changes(table, members, parts, options)
    compared = RunComparison(
        old=before.name,
        new=after.name,
        options=options,
        changes=tuple(changes),
        differences=tuple(differences),
        notes=(
            *notes,
            *repeat_notes((before, after), gates),
            *slice_notes(table, slices),
            *odd_score_notes(table),
        ),
        table=table,
        lost_metrics=lost,
    )
    return replace(compared, notes=(*compared.notes, *input_notes(compared)))


def read_scores(
    source: RunSource, columns: Sequence[str], id_field: str, wanted: Sequence[str] | None
) -> ScoredRun:
    """The scores of a run to compare, of all metrics or of those wanted."""
    named = None if wanted is None else [name for name in wanted if name not in _EXTRAS]
    # If only composite scores and verdicts are wanted, all metrics are read.
    return read_run(source, optional_columns=columns, id_field=id_field, metrics=named or None)


# --------------------------------------------------------------------------------------- settings


def names_of(
    runs: Sequence[ScoredRun], wanted: Sequence[str] | None, *, force: bool = False
) -> list[str]:
    """The names to compare, in order.

    By default without composite scores and verdicts that come from other weights or thresholds,
    unless ``force`` is true.
    """
    if wanted is not None:
        return list(dict.fromkeys(wanted))
    shared = [name for name in runs[0].metrics if all(name in run.metrics for run in runs)]
    if not shared:
        named = " and ".join([", ".join(run.name for run in runs[:-1]), runs[-1].name])
        raise InputError(f"{named} have no metric in common")
    # What no run could measure, such as without a ground truth, is no result of the test.
    shown = [metric for metric in shared if not all(_is_missing(run, metric) for run in runs)]
    names = shown or shared
    other = {name for run in runs for name in run.metrics} - set(shared)
    # A diagnostic never affects composite scores; its threshold affects verdicts.
    has_composite = not any(np.isnan(run.composite).all() for run in runs)
    pairs = [] if force else [(runs[0], run) for run in runs[1:]]
    weights = any(weight_differences(*pair) for pair in pairs)
    if has_composite and not weights and other <= set(DIAGNOSTIC_IDS):
        names.append(COMPOSITE)
    thresholds = weights or any(threshold_differences(*pair) for pair in pairs)
    if not other and not thresholds and all((run.passed != NO_VERDICT).any() for run in runs):
        names.append(PASSED)
    return _in_order(names)


def _in_order(names: Iterable[str]) -> list[str]:
    """Metrics in their usual order, then the composite score and the verdict."""
    return sorted(names, key=lambda name: (name in _EXTRAS, place_of(name), name))


def _lost_metrics(
    old: ScoredRun, new: ScoredRun, deciding: Sequence[MetricId]
) -> tuple[MetricId, ...]:
    """Metrics with scores that only the old run has; diagnostics only if they decide."""
    return tuple(
        name
        for name in old.metrics
        if name not in new.metrics
        and (name not in DIAGNOSTIC_IDS or name in deciding)
        and not np.isnan(old.column(name)).all()
    )


def _is_missing(run: ScoredRun, metric: MetricId) -> bool:
    """Whether no row had the fields that the metric needs."""
    reasons = run.null_reasons[:, run.metrics.index(metric)]
    return bool(len(run)) and bool((reasons == NullReason.MISSING_FIELD).all())


def _narrowed(
    means: RunComparison,
    wanted: Sequence[str] | None,
    gating: Iterable[str] | None,
    lower_is_better: Iterable[str],
) -> RunComparison:
    """The means of the requested metrics."""
    names = [change.name for change in means.changes]
    for name in wanted or ():
        check_compared(name, names, "metrics")
    kept = names if wanted is None else wanted
    deciding, falling = gating_of(gating, kept), falling_of([], kept, lower_is_better)
    changes = [
        replace(
            change,
            gating=change.name in deciding,
            higher_is_better=change.higher_is_better and change.name not in falling,
        )
        for change in means.changes
        if change.name in kept
    ]
    return replace(means, changes=tuple(changes))


# --------------------------------------------------------------------------------------- families


def gating_of(given: Iterable[str] | None, names: Sequence[str]) -> set[str]:
    """The metrics that decide."""
    if given is None:
        return {name for name in names if name not in (*DIAGNOSTIC_IDS, *_EXTRAS)}
    found = {metric_or_column(name) for name in given}
    for name in sorted(found):
        check_compared(name, names, "gating")
    return found


def check_compared(name: str, names: Sequence[str], option: str) -> None:
    """Raise an InputError that names the option if its metric is not compared."""
    if name not in names:
        raise InputError(
            f"{option} names {name!r}, which is not compared{suggestion(name, names)} "
            f"(compared: {', '.join(names)})"
        )


def falling_of(runs: Sequence[ScoredRun], names: Sequence[str], given: Iterable[str]) -> set[str]:
    """The lower-is-better metrics."""
    found = {metric_or_column(name) for name in given}
    for name in sorted(found):
        check_compared(name, names, "lower_is_better")
    found.update(*(run.lower_is_better for run in runs))
    return found | {n for n in names if n not in _EXTRAS and not higher_is_better(n)}


def _by_metric(
    given: float | Mapping[str, float], names: Sequence[str], option: str, default: float
) -> dict[str, float]:
    if not isinstance(given, Mapping):
        return dict.fromkeys(names, from_zero(given, option))
    found = dict.fromkeys(names, from_zero(given.get(ALL_METRICS, default), option))
    for name, value in given.items():
        if name == ALL_METRICS:
            continue
        metric = metric_or_column(name)
        check_compared(metric, names, option)
        found[metric] = from_zero(value, f"{option} of {metric}")
    return found


def slices_of(columns: Mapping[str, Sequence[str | None]], fields: Sequence[str]) -> list[Slice]:
    """The slices by each value of some fields."""
    found = []
    for name in dict.fromkeys(fields):
        values = sorted({value for value in columns[name] if value is not None})
        if len(values) > MOST_SLICES:
            raise InputError(
                f"{name} has {len(values):,} values, such as {glance(values[0])}; a field for "
                f"slices can have at most {MOST_SLICES}"
            )
        found += [Slice(name, value) for value in values]
    return found
