"""A table of paired rows in; the tested change of each metric and slice out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np

from rag_eval.comparing.metric_tests import FlippedTest, paired_tests, row_signs
from rag_eval.comparing.null_changes import NullChange, lost_scores, null_change
from rag_eval.comparing.pairing import RowTable
from rag_eval.comparing.row_changes import row_statuses, status_counts
from rag_eval.comparing.run_comparison import ComparisonOptions, settled
from rag_eval.comparing.statuses import Status
from rag_eval.comparing.tested_changes import Adjustment, MetricChange, PairedTest, Slice
from rag_eval.errors import InputError, glance
from rag_eval.results.summaries import MeanScore
from rag_eval.stats.arrays import Flags, Floats
from rag_eval.stats.differences import difference_interval
from rag_eval.stats.intervals import Interval
from rag_eval.stats.max_t import critical_t, max_t
from rag_eval.stats.mean_intervals import mean_interval
from rag_eval.stats.multiplicity import benjamini_hochberg, holm
from rag_eval.stats.power import minimum_detectable_effect

# A test can still reject with one extreme pattern fewer than this among those drawn.
_PATTERNS_TO_REJECT: Final = 2


class Member(NamedTuple):
    """A metric and how it is compared."""

    name: str
    gating: bool
    higher_is_better: bool
    margin: float
    tolerance: float


class _Part(NamedTuple):
    """The rows of one slice, or all; its columns are those of the scores, then of the nulls."""

    slice: Slice | None
    rows: Flags
    clusters: list[str | None] | None
    tested: Floats
    verdicts: Flags


def metric_changes(
    table: RowTable, members: Sequence[Member], slices: Sequence[Slice], options: ComparisonOptions
) -> list[MetricChange]:
    """The change of each metric, over all rows and then in each slice."""
    clusters = None if options.cluster_by is None else _clusters(table, options.cluster_by)
    wholes = [None, *slices]
    options = _enough_patterns(members, len(wholes), options)
    parts = [_part(table, members, found, clusters, options) for found in wholes]
    found = _tests(table, parts, members, options)
    adjusted = [[None if one is None else one.test for one in each] for each in found]
    strictest = options.alpha
    for gating in (True, False):
        family = _family(found, members, options, gating=gating)
        _adjust(adjusted, family, options.adjust if gating else "benjamini-hochberg")
        if gating:
            strictest = _strictest_alpha([one for *_, one in family], options)
    return [
        _change(table, member, part, column, tests, strictest, options)
        for part, tests in zip(parts, adjusted, strict=True)
        for column, member in enumerate(members)
    ]


def _enough_patterns(
    members: Sequence[Member], n_parts: int, options: ComparisonOptions
) -> ComparisonOptions:
    """The options, with enough sign patterns for the family that decides to reject.

    A drawn p value is at least 1 / (1 + patterns), and by Holm's method with k tests the first has
    to be below alpha / k: with too few patterns not even the largest loss would be found.
    """
    # The scores and the nulls of each metric.
    n_tests = 2 * n_parts * sum(member.gating for member in members)
    n_steps = max(1, n_tests) if options.adjust == "holm" else 1
    least = math.ceil(_PATTERNS_TO_REJECT * n_steps / options.alpha)
    return replace(options, n_resamples=max(options.n_resamples, least))


def _clusters(table: RowTable, name: str) -> list[str | None]:
    values = table.columns[name]
    paired = table.in_both.tolist()
    for place, value in enumerate(values):
        if value is None and paired[place]:
            raise InputError(
                f"row {glance(table.ids[place])} has no {name}: with cluster_by every row needs one"
            )
    return values


def _part(
    table: RowTable,
    members: Sequence[Member],
    within: Slice | None,
    clusters: list[str | None] | None,
    options: ComparisonOptions,
) -> _Part:
    rows = np.ones(len(table.ids), np.bool_)
    if within is not None:
        rows = table.rows_with(within.field, within.value)
    paired = np.flatnonzero(rows & table.in_both)
    old, new = table.old[paired], table.new[paired]
    turns = np.array([1.0 if member.higher_is_better else -1.0 for member in members])
    better = settled((new - old) * turns, options)
    with np.errstate(invalid="ignore"):
        binary = np.isnan(better) | (((old == 0) | (old == 1)) & ((new == 0) | (new == 1)))
    mine = None if clusters is None else [clusters[place] for place in paired.tolist()]
    lost = np.stack([lost_scores(table, member.name, paired) for member in members], axis=1)
    verdicts = np.concatenate([binary.all(axis=0), (lost == np.round(lost)).all(axis=0)])
    return _Part(within, rows, mine, np.concatenate([better, lost], axis=1), verdicts)


def _tests(
    table: RowTable,
    parts: Sequence[_Part],
    members: Sequence[Member],
    options: ComparisonOptions,
) -> list[list[FlippedTest | None]]:
    """The tests of each part, all on one draw of signs."""
    margins = [*(member.margin for member in members), *[0.0] * len(members)]
    signs = row_signs(parts[0].tested, margins, parts[0].clusters, options)
    found = []
    for part in parts:
        rows = np.flatnonzero(part.rows[table.in_both])
        found.append(paired_tests(part.tested, part.verdicts, margins, signs.of(rows), options))
    return found


def _family(
    found: Sequence[Sequence[FlippedTest | None]],
    members: Sequence[Member],
    options: ComparisonOptions,
    *,
    gating: bool,
) -> list[tuple[int, int, FlippedTest]]:
    """Part, column and test of what is adjusted together: gating metrics, or all others.

    A test of nulls that could not reject whatever it found is left out: most metrics never lose a
    score, and must not make the tests of scores weaker. By Tarone's rule that changes no error.

    References
    ----------
    Tarone, A modified Bonferroni method for discrete data (1990).
    """
    family = [
        (part, column, one)
        for part, each in enumerate(found)
        for column, (one, member) in enumerate(zip(each, [*members, *members], strict=True))
        if one is not None and member.gating == gating
    ]
    by_number = not gating or options.adjust == "holm"
    limit = options.alpha / max(1, len(family)) if by_number else options.alpha
    return [
        (part, column, one)
        for part, column, one in family
        if column < len(members) or one.test.smallest_p <= limit
    ]


def _adjust(
    tests: Sequence[list[PairedTest | None]],
    family: Sequence[tuple[int, int, FlippedTest]],
    name: Adjustment,
) -> None:
    """Put adjusted p values into the tests of a family."""
    flips = [one for *_, one in family]
    worse = _adjusted([one.test.p_worse for one in flips], [one.worse for one in flips], name)
    better = _adjusted([one.test.p_better for one in flips], [one.better for one in flips], name)
    for (part, column, one), p_worse, p_better in zip(family, worse, better, strict=True):
        tests[part][column] = replace(
            one.test, adjusted_p_worse=p_worse, adjusted_p_better=p_better, adjustment=name
        )


def _adjusted(
    p_values: Sequence[float], statistics: Sequence[Floats], name: Adjustment
) -> Sequence[float]:
    if name == "max-t":
        return max_t(statistics, p_values)
    adjust = holm if name == "holm" else benjamini_hochberg
    return [p for p in adjust(p_values) if p is not None]


def _strictest_alpha(flips: Sequence[FlippedTest], options: ComparisonOptions) -> float:
    """The level of a single test at the first step, where no other metric got worse."""
    if not flips:
        return options.alpha
    by_number = options.alpha / len(flips)
    if options.adjust == "holm":
        return by_number
    # Of both sides, so that it is the same for swapped runs.
    sides = [one.worse for one in flips], [one.better for one in flips]
    limit = sum(critical_t(side, options.alpha) for side in sides) / 2
    return min(options.alpha, max(by_number, NormalDist().cdf(-limit)))


def _change(
    table: RowTable,
    member: Member,
    part: _Part,
    column: int,
    tests: Sequence[PairedTest | None],
    strictest: float,
    options: ComparisonOptions,
) -> MetricChange:
    better, test, null_test = part.tested[:, column], tests[column], tests[len(tests) // 2 + column]
    nulls = null_change(table, member.name, part.rows)
    if null_test is not None:
        nulls = replace(nulls, p_worse=null_test.p_worse)
        if not math.isnan(null_test.adjusted_p_worse):
            nulls = replace(nulls, adjusted_p_worse=null_test.adjusted_p_worse)
    old, new = (scores[part.rows] for scores in table.column(member.name))
    in_old, in_new = table.in_old[part.rows], table.in_new[part.rows]
    bounded = table.holds_shares(member.name)
    turn = 1.0 if member.higher_is_better else -1.0
    # Minus 0 would be shown as a loss.
    difference = _difference(better * turn + 0.0, part.clusters, bounded, options.level)
    whole = part.slice is None
    counts = {}
    if whole:
        statuses = row_statuses(table, member.name, member.higher_is_better, options.epsilon)
        counts = status_counts(statuses)
    means = _mean(old, in_old), _mean(new, in_new)
    lost_all = bool(means[0].n) and not means[1].n
    loss = -turn * difference.estimate
    return MetricChange(
        name=member.name,
        slice=part.slice,
        gating=member.gating,
        higher_is_better=member.higher_is_better,
        margin=member.margin,
        tolerance=member.tolerance,
        old=means[0],
        new=means[1],
        old_interval=_interval(table, old, in_old, part.rows, bounded, options),
        new_interval=_interval(table, new, in_new, part.rows, bounded, options),
        difference=difference,
        n_pairs=int((~np.isnan(better)).sum()),
        test=test,
        verdict=_verdict(
            test,
            options.alpha,
            is_large=loss > member.tolerance + options.epsilon,
            nulls=nulls,
            lost_all=lost_all,
        ),
        detectable=_detectable(
            better, part.clusters, strictest if member.gating else options.alpha, bounded
        ),
        nulls=nulls,
        rows=counts,
    )


def _difference(
    differences: Floats, clusters: list[str | None] | None, bounded: bool, level: float
) -> Interval:
    if not bounded:
        return difference_interval(differences, clusters=clusters, level=level, largest=None)
    found = difference_interval(differences, clusters=clusters, level=level, largest=1.0)
    if found.low is None or found.high is None:
        return found
    # Means of scores from 0 to 1 cannot differ by more.
    return replace(found, low=max(found.low, -1.0), high=min(found.high, 1.0))


def _mean(scores: Floats, there: Flags) -> MeanScore:
    measured = scores[~np.isnan(scores)]
    mean = float(measured.mean()) if len(measured) else math.nan
    return MeanScore(mean, len(measured), int(there.sum()))


def _interval(
    table: RowTable,
    scores: Floats,
    there: Flags,
    rows: Flags,
    bounded: bool,
    options: ComparisonOptions,
) -> Interval | None:
    measured = there & ~np.isnan(scores)
    groups = None
    if options.cluster_by is not None:
        values = table.columns[options.cluster_by]
        places = np.flatnonzero(rows)[measured].tolist()
        groups = [values[place] for place in places]
        if any(group is None for group in groups):
            return None  # a row of one run only, which is in no cluster
    known, bounds = scores[measured], None
    if bounded:
        known, bounds = np.clip(known, 0.0, 1.0), (0.0, 1.0)
    return mean_interval(known, bounds=bounds, groups=groups, level=options.level)


def _verdict(
    test: PairedTest | None,
    alpha: float,
    *,
    is_large: bool,
    nulls: NullChange,
    lost_all: bool,
) -> Status:
    fell = test is not None and test.adjusted_p_worse <= alpha
    if fell and is_large:
        return Status.REGRESSED
    if nulls.n_lost or lost_all:
        return Status.MISSING_SCORES
    if test is None:
        return Status.NOT_COMPARABLE
    if fell:
        return Status.WITHIN_TOLERANCE
    if test.adjusted_p_better <= alpha:
        return Status.IMPROVED
    if not test.n_informative and not nulls.n_gained:
        return Status.NO_CHANGE
    return Status.TOO_FEW_ROWS if test.smallest_p > alpha else Status.INCONCLUSIVE


def _detectable(
    better: Floats, clusters: Sequence[str | None] | None, alpha: float, bounded: bool
) -> float | None:
    """The smallest loss that as many rows detect; None if no loss of theirs can be detected."""
    known = ~np.isnan(better)
    values = better[known]
    if clusters is not None:
        names = [clusters[place] for place in np.flatnonzero(known).tolist()]
        _, numbers = np.unique(np.array(names, object), return_inverse=True)
        values = np.bincount(numbers, values) / np.bincount(numbers)
    # Even if all of them change, no sign-flip test has a p value below 1 / 2 ** n.
    if len(values) < 2 or not values.any() or 0.5 ** len(values) > alpha:
        return None
    effect = minimum_detectable_effect(float(values.std(ddof=1)), len(values), alpha=alpha)
    return None if not math.isfinite(effect) or (bounded and effect > 1) else effect
