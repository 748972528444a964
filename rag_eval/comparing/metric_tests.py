"""Columns of paired differences in; one test for each, all on one draw of signs, out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rag_eval.comparing.run_comparison import ComparisonOptions
from rag_eval.comparing.tested_changes import PairedTest
from rag_eval.stats.arrays import Flags, Floats, Whole
from rag_eval.stats.groups import cluster_numbers
from rag_eval.stats.index_sources import Resampling
from rag_eval.stats.paired import McNemarResult, SignFlipResult, mcnemar_test, sign_flips
from rag_eval.stats.sign_patterns import SignPatterns


class RowSigns(NamedTuple):
    """The signs of rows in every pattern, the same for all metrics and slices.

    Attributes
    ----------
    patterns : SignPatterns
        Of rows, or of clusters.
    clusters : int64, shape (R,), or None
        The place of each row's cluster in ``patterns``; None if rows are independent.
    """

    patterns: SignPatterns
    clusters: Whole | None

    def of(self, rows: Whole) -> RowSigns:
        """The signs of some rows."""
        if self.clusters is None:
            return RowSigns(self.patterns.of(rows), None)
        mine, places = np.unique(self.clusters[rows], return_inverse=True)
        return RowSigns(self.patterns.of(mine), places.astype(np.int64))


class FlippedTest(NamedTuple):
    """A test, and how extreme each sign pattern is: for adjusting it among others.

    Attributes
    ----------
    test : PairedTest
        Not adjusted.
    worse, better : float64, shape (P,)
        High is extreme; the pattern found first.
    """

    test: PairedTest
    worse: Floats
    better: Floats


def row_signs(
    better: Floats,
    margins: Sequence[float],
    clusters: Sequence[str | None] | None,
    options: ComparisonOptions,
) -> RowSigns:
    """Signs of the paired rows: all patterns of those that moved where they are few.

    Parameters
    ----------
    better : float64, shape (R, M)
        As for :func:`paired_tests`, of all paired rows.
    """
    groups = cluster_numbers(clusters, len(better))
    n_groups = len(better) if groups is None else int(groups.max(initial=-1)) + 1
    drawn = SignPatterns.drawn(n_groups, options.n_resamples, options.seed)
    # A NaN is no 0 either, and no row of the column.
    moves = (np.nan_to_num(better) != 0) | (~np.isnan(better) & (np.asarray(margins) != 0))
    moved = np.zeros(n_groups, np.bool_)
    rows = np.flatnonzero(moves.any(axis=1))
    moved[rows if groups is None else groups[rows]] = True
    few = np.count_nonzero(moved) <= drawn.n_bits
    return RowSigns(SignPatterns.all_of(moved, drawn.n_bits) if few else drawn, groups)


def paired_tests(
    better: Floats,
    verdicts: Flags,
    margins: Sequence[float],
    signs: RowSigns,
    options: ComparisonOptions,
) -> list[FlippedTest | None]:
    """Test each column.

    Parameters
    ----------
    better : float64, shape (R, M)
        Differences, above 0 if a row got better; NaN where it lacks a score.
    verdicts : bool, shape (M,)
        Columns whose scores are 0 and 1 alone.
    margins : sequence of float, length M
    signs : RowSigns
        Of the same rows.

    Returns
    -------
    list of FlippedTest or None
        McNemar's exact test for verdicts of independent rows without a margin, else a sign-flip
        test of the mean, neither of them adjusted; None for a column without pairs.
    """
    resampling = Resampling(seed=options.seed, n_resamples=options.n_resamples)
    # That a loss is within the margin is no gain: those columns are tested against 0 as well.
    lenient = [column for column, margin in enumerate(margins) if margin]
    found, patterns = sign_flips(
        np.concatenate([better, better[:, lenient]], axis=1),
        signs.clusters,
        signs.patterns,
        np.array([*margins, *[0.0] * len(lenient)]),
        resampling,
        skew_guard=True,
    )
    strict = list(range(len(margins)))
    for place, column in enumerate(lenient, start=len(margins)):
        strict[column] = place
    tests: list[FlippedTest | None] = []
    for column, result in enumerate(found[: len(margins)]):
        if not result.n:
            tests.append(None)
            continue
        if verdicts[column] and signs.clusters is None and not margins[column]:
            test = _mcnemar(_changed(better[:, column]))
        else:
            test = _sign_flip(result, found[strict[column]].p_better)
        tests.append(FlippedTest(test, -patterns[:, column], patterns[:, strict[column]].copy()))
    return tests


def _changed(better: Floats) -> McNemarResult:
    with np.errstate(invalid="ignore"):
        return mcnemar_test(int((better < 0).sum()), int((better > 0).sum()))


def _mcnemar(found: McNemarResult) -> PairedTest:
    return PairedTest(
        name="mcnemar",
        p_worse=found.p_worse,
        p_better=found.p_better,
        p_two_sided=found.p_two_sided,
        n_informative=found.n_worse + found.n_better,
        n_clusters=None,
        smallest_p=found.smallest_p,
        exact=True,
        n_resamples=0,
    )


def _sign_flip(found: SignFlipResult, p_better: float) -> PairedTest:
    return PairedTest(
        name="sign-flip",
        p_worse=found.p_worse,
        p_better=p_better,
        p_two_sided=found.p_two_sided,
        n_informative=found.n_informative,
        n_clusters=found.n_clusters,
        smallest_p=found.smallest_p,
        exact=found.exact,
        n_resamples=found.n_resamples,
    )
