"""Scores of several systems in; all differences of means, with simultaneous intervals, out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from rag_eval.errors import InputError
from rag_eval.stats.arrays import Flags, Floats, Whole
from rag_eval.stats.groups import group_sums, without_rounding
from rag_eval.stats.index_sources import Resampling
from rag_eval.stats.sign_patterns import SignPatterns

# Spread below this share of the largest difference is rounding of differences that are all equal.
_ROUNDING: Final = 1e-12


@dataclass(frozen=True, slots=True)
class PairIntervals:
    """Differences of the means of k systems; every array has the shape (k, k).

    Attributes
    ----------
    n : int
        Rows that every system has a score for.
    differences : float64
        Mean of the row's system less the mean of the column's system; NaN without rows.
    low, high : float64
        All intervals of a family hold at once with the probability of the level. NaN where too few
        rows, or clusters, differ.
    n_differ : int64
        Rows, or clusters, in which the two differ.
    """

    n: int
    differences: Floats
    low: Floats
    high: Floats
    n_differ: Whole

    @property
    def apart(self) -> Flags:
        """Which intervals exclude 0."""
        with np.errstate(invalid="ignore"):
            return (self.low > 0) | (self.high < 0)

    @property
    def too_few(self) -> Flags:
        """Where too few rows, or clusters, differ for an interval."""
        return np.isnan(self.low) & ~np.eye(len(self.low), dtype=np.bool_)


def all_pairs(
    families: Sequence[Floats],
    *,
    clusters: Whole | None = None,
    level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
) -> list[PairIntervals]:
    """Simultaneous intervals of all differences of means, in all of several tables of scores.

    Parameters
    ----------
    families : sequence of float64, shape (R, k)
        Scores of k systems (k may differ) on the same R rows; a row where any of them is NaN is
        left out of that table.
    clusters : int64, shape (R,), optional
        The cluster of each row, from 0 on.
    level : float
        Probability with which all intervals of all tables hold their true differences.
    n_resamples, seed : int

    Returns
    -------
    list of PairIntervals
        One per table.

    Raises
    ------
    InputError
        For scores that are infinite.

    Notes
    -----
    Deviations of each row (or cluster) from the mean difference keep their size and get random
    signs, the same in all tables and pairs; the quantile of the largest absolute t of a pattern
    replaces Student's (max-T, single step). Dependence between metrics and systems is that of the
    data, so that the intervals are narrower than Bonferroni's. Where 2 ** (1 - m) is above
    (1 - level) divided by the number of pairs, with m rows that differ, no test of signs could tell
    the two apart, and there is no interval.

    References
    ----------
    Westfall and Young, Resampling-based multiple testing (1993), for the largest statistic.
    Davidson and Flachaire, The wild bootstrap, tamed at last (2008), for random signs.
    Hsu, Multiple comparisons: theory and methods (1996), chapter 5, for all pairs.
    """
    resampling = Resampling(seed=seed, n_resamples=n_resamples, level=level)
    tables = [_Table(np.asarray(scores, np.float64), clusters) for scores in families]
    n_groups = max((len(table.sums) for table in tables), default=0)
    patterns = SignPatterns.drawn(n_groups, resampling.n_resamples, resampling.seed)
    largest = np.zeros(patterns.n_patterns)
    for table in tables:
        table.add_largest(largest, patterns)
    place = math.ceil(len(largest) * resampling.level) - 1
    quantile = float(np.partition(largest, place)[place])
    alone = math.log2(max(1, sum(len(table.pairs) for table in tables)) / (1 - level))
    return [table.intervals(quantile, least=alone + 1) for table in tables]


class _Table:
    """Scores of some systems on the rows that all of them have."""

    def __init__(self, scores: Floats, clusters: Whole | None) -> None:
        if np.isinf(scores).any():
            raise InputError("scores must be finite, or NaN where there is none")
        there = ~np.isnan(scores).any(axis=1)
        kept = scores[there]
        self.n, self.k = int(kept.shape[0]), int(kept.shape[1])
        self.pairs = list(combinations(range(self.k), 2))
        self.means = kept.mean(axis=0) if self.n else np.full(self.k, math.nan)
        # Signs belong to rows and clusters of the whole run, whatever a table leaves out.
        self.sums = np.zeros((len(scores), self.k))
        self.sums[there] = kept - self.means
        groups = None if clusters is None else clusters[there]
        self.n_groups = self.n if groups is None else len(np.unique(groups))
        self._rows, self._groups = kept, groups
        if clusters is not None:
            self.sums = group_sums(self.sums, clusters)
        size = np.abs(kept).max(initial=1.0)
        self.squares = {
            (a, b): float(square) if square > (_ROUNDING * size) ** 2 * self.n else 0.0
            for a, b in self.pairs
            for square in [np.square(self.sums[:, a] - self.sums[:, b]).sum()]
        }

    def add_largest(self, largest: Floats, patterns: SignPatterns) -> None:
        """Raise the largest absolute t of each sign pattern to those of this table."""
        if self.n_groups < 2:
            return
        flipped = patterns.sums(self.sums)
        for (a, b), square in self.squares.items():
            if square:
                # Of the mean over the spread, which a pattern changes as a new sample would.
                shares = np.square(flipped[:, a] - flipped[:, b]) / (square * self.n_groups)
                with np.errstate(divide="ignore"):
                    found = (self.n_groups - 1) * shares / np.maximum(1 - shares, 0.0)
                np.maximum(largest, np.sqrt(found), out=largest)

    def intervals(self, quantile: float, least: float) -> PairIntervals:
        """The intervals of all pairs with at least ``least`` rows that differ."""
        differences = np.zeros((self.k, self.k)) if self.n else np.full((self.k, self.k), math.nan)
        low, high = np.full((2, self.k, self.k), math.nan)
        n_differ = np.zeros((self.k, self.k), np.int64)
        for (a, b), square in self.squares.items():
            between = float(self.means[a] - self.means[b])
            moved = without_rounding(self._rows[:, [a]] - self._rows[:, [b]])
            n_moved = int(np.count_nonzero(group_sums(moved, self._groups)))
            n_differ[a, b] = n_differ[b, a] = n_moved
            if self.n:
                differences[a, b], differences[b, a] = between, -between
            error = self._standard_error(square)
            if self.n and not moved.any():
                error = differences[a, b] = differences[b, a] = 0.0  # the same scores everywhere
            elif n_moved < least or self.n_groups < 2:
                continue
            bound = quantile * error
            low[a, b], high[a, b] = differences[a, b] - bound, differences[a, b] + bound
            low[b, a], high[b, a] = -high[a, b], -low[a, b]
        return PairIntervals(self.n, differences, low, high, n_differ)

    def _standard_error(self, square: float) -> float:
        if self.n_groups < 2:
            return math.nan
        return math.sqrt(square * self.n_groups / (self.n_groups - 1)) / self.n
