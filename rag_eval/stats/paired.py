"""Tests of paired rows: differences or changed verdicts in, p values for worse and better out.

One test decides for each type of metric: :func:`sign_flip_test` for means, :func:`mcnemar_test` for
pass/fail. Pass/fail with a margin, or in clusters, goes to the sign-flip test too, with differences
of -1, 0 and 1; without either the two agree to the last pattern.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.plumbing.checked_values import from_zero, whole_from_zero
from rag_eval.plumbing.json_records import JsonRecord
from rag_eval.stats.arrays import Flags, Floats, Whole
from rag_eval.stats.groups import cluster_numbers, group_sums, without_rounding
from rag_eval.stats.index_sources import Resampling
from rag_eval.stats.sign_patterns import SignPatterns
from rag_eval.stats.skewness import skewed_p_values

ALPHA: Final = 0.05
"""The level at which :attr:`SignFlipResult.too_few` asks whether a test could reject at all."""

# Above this number, patterns are drawn and not enumerated, whatever n_resamples is.
_MOST_LISTED: Final = 1 << 16
# Sums that are equal in exact arithmetic differ by less, as a share of the sum of absolute values.
_ROUNDING: Final = 1e-12


class _TestResult(JsonRecord):
    __slots__ = ()

    smallest_p: float

    @property
    def too_few(self) -> bool:
        """Whether too few pairs moved to reject anything at 0.05, whatever their differences."""
        return self.smallest_p > ALPHA

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {**super().to_dict(), "tooFew": self.too_few}


@dataclass(frozen=True, slots=True, kw_only=True)
class SignFlipResult(_TestResult):
    """Test of whether a mean paired difference is below, or above, minus the margin.

    Attributes
    ----------
    mean : float
        Mean of all differences, including ties; NaN without pairs.
    margin : float
        0 or above; the mean is tested against its negative.
    n : int
        Number of pairs with both scores.
    n_informative : int
        Pairs whose difference is not 0.
    n_clusters : int or None
        Number of clusters with such pairs; None if rows are independent.
    n_flipped : int
        Number of rows, or clusters, whose shifted sum is not 0: only their signs matter.
    p_worse : float
        p value of "the mean is at least -margin": small if it is lower.
    p_better : float
        p value of "the mean is at most -margin": small if it is higher. Without a margin that is an
        improvement, with one only a loss smaller than the margin.
    p_two_sided : float
        p value of "the mean is -margin".
    smallest_p : float
        Smallest possible one-sided p value with this number of rows and resamples.
    exact : bool
        Whether all sign patterns were used, instead of a random sample.
    n_resamples : int
        Number of sign patterns that the p values are based on.
    seed : int
    """

    mean: float
    margin: float
    n: int
    n_informative: int
    n_clusters: int | None
    n_flipped: int
    p_worse: float
    p_better: float
    p_two_sided: float
    smallest_p: float
    exact: bool
    n_resamples: int
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class McNemarResult(_TestResult):
    """Whether verdicts changed for the worse more often than for the better, or the reverse.

    Attributes
    ----------
    n_worse, n_better : int
        Rows that passed and now fail; that failed and now pass.
    p_worse, p_better, p_two_sided : float
        p values of "worse is at most as likely as better", of the reverse, and of "both are equally
        likely".
    smallest_p : float
        Smallest possible one-sided p value with this number of changed rows.
    """

    n_worse: int
    n_better: int
    p_worse: float
    p_better: float
    p_two_sided: float
    smallest_p: float


def sign_flip_test(
    differences: npt.ArrayLike,
    *,
    clusters: Iterable[object] | None = None,
    margin: float = 0.0,
    n_resamples: int = 9999,
    seed: int = 0,
    skew_guard: bool = False,
) -> SignFlipResult:
    """Test the mean of one column of paired differences; see :func:`sign_flip_tests`.

    Parameters
    ----------
    differences : array_like, shape (R,)
        Positive is better; NaN where a pair lacks a score.
    clusters : iterable of hashable, optional
        The cluster of each row.
    margin : float
    n_resamples, seed : int
    skew_guard : bool

    Returns
    -------
    SignFlipResult
    """
    column = np.asarray(differences, np.float64)
    if column.ndim != 1:
        raise InputError(
            f"differences must be a one-dimensional array, got {column.ndim} dimensions"
        )
    (result,) = sign_flip_tests(
        column[:, np.newaxis],
        clusters=clusters,
        margins=(margin,),
        n_resamples=n_resamples,
        seed=seed,
        skew_guard=skew_guard,
    )
    return result


def sign_flip_tests(
    differences: npt.ArrayLike,
    *,
    clusters: Iterable[object] | None = None,
    margins: Sequence[float] | None = None,
    n_resamples: int = 9999,
    seed: int = 0,
    skew_guard: bool = False,
) -> tuple[SignFlipResult, ...]:
    """Test the mean of paired differences of several metrics, all with the same random signs.

    If the two runs came from the same system, the scores of each row could just as well be swapped,
    so its difference, plus the margin, could have the other sign. The p value is the share of sign
    patterns whose mean is at least as extreme as the observed one.

    Parameters
    ----------
    differences : array_like, shape (R, M)
        Positive is better (the caller flips lower-is-better metrics); NaN if a pair lacks a score,
        which leaves it out of that column.
    clusters : iterable of hashable, optional
        The cluster of each row: all rows of a cluster get the same sign, so they may depend on each
        other in any way.
    margins : sequence of float, length M, optional
        Accepted loss of the mean, 0 or more; 0 by default.
    n_resamples : int
        Number of sign patterns besides the observed one; the next power of two is used (16,384 for
        9,999), and p is the share of extreme ones. If no more exist (and at most 65,536), p is the
        share of all.
    seed : int
    skew_guard : bool
        Raise each p value that is not exact to that of the t test corrected for skewness, where it
        is larger (:func:`~rag_eval.stats.skewness.skewed_p_values`). Decisions about builds use it.

    Returns
    -------
    tuple of SignFlipResult
        One per column. The sign of a row depends only on the seed and its place, so a column has
        the same p values beside any others.

    Raises
    ------
    InputError
        For differences that are infinite, a margin below 0, or clusters that do not fit the rows.

    Notes
    -----
    *Studentised*: flips leave the sum of squares (of the rows, or of the cluster sums) as it is, so
    that t is a rising function of the sum and its p value that of the sum.

    *Zeros*: a difference of 0 stays in n and in the mean; its sign changes nothing.

    *Ties*: patterns whose sum equals the observed one, apart from rounding, count as at least as
    extreme.

    *Guarantee*: exact if differences are symmetric about -margin, as they are when nothing changed;
    with the guard, conservative. If they are skewed, it holds only in large samples, with the guard
    from about 200 rows: ``p_worse`` is too small if many rows lose a little and a few gain a lot,
    and the sample has none of those few. ``benchmarks/statistics/RESULTS.md`` has the error rates.

    References
    ----------
    Fisher, The Design of Experiments (1935), section 21.
    Janssen, Studentized permutation tests for non-i.i.d. hypotheses and the generalized
    Behrens-Fisher problem (1997); Canay, Romano and Shaikh, Randomization tests under an
    approximate symmetry assumption (2017), for clusters.
    """
    columns = np.asarray(differences, np.float64)
    if columns.ndim != 2:
        raise InputError(
            f"differences must be a two-dimensional array, got {columns.ndim} dimensions"
        )
    if np.isinf(columns).any():
        raise InputError("differences must be finite, or NaN where a pair lacks a score")
    resampling = Resampling(seed=seed, n_resamples=n_resamples)
    groups = cluster_numbers(clusters, len(columns))
    n_groups = len(columns) if groups is None else int(groups.max(initial=-1)) + 1
    signs = SignPatterns.drawn(n_groups, n_resamples, seed)
    accepted = _margins(margins, columns.shape[1])
    return sign_flips(columns, groups, signs, accepted, resampling, skew_guard=skew_guard).results


class SignFlips(NamedTuple):
    """Tests of some columns, and what :func:`~rag_eval.stats.max_t.max_t` makes of them.

    Attributes
    ----------
    results : tuple of SignFlipResult
    statistics : float64, shape (P, M)
        Sums under every pattern, the one found first, with variance 1; low is worse.
    """

    results: tuple[SignFlipResult, ...]
    statistics: Floats


def sign_flips(
    columns: Floats,
    groups: Whole | None,
    signs: SignPatterns,
    margins: Floats,
    resampling: Resampling,
    *,
    skew_guard: bool,
) -> SignFlips:
    """The tests of :func:`sign_flip_tests` under the signs given.

    Parameters
    ----------
    columns : float64, shape (R, M)
        Finite, or NaN.
    groups : int64, shape (R,), or None
        The place in ``signs`` of each row's cluster, from 0 on; None if each row is its own.
    margins : float64, shape (M,)
    """
    known = ~np.isnan(columns)
    present = without_rounding(np.where(known, columns, 0.0))
    # The rounding error of 0.79 - 0.8 + 0.01 is not a difference either.
    sums = without_rounding(group_sums(np.where(known, present + margins, 0.0), groups))
    n_flipped = np.count_nonzero(sums, axis=0)
    # 2^m patterns are no more than N where m has fewer bits than N.
    listed = n_flipped < min(resampling.n_resamples, _MOST_LISTED).bit_length()
    in_column = known if groups is None else group_sums(known.astype(np.float64), groups) > 0
    patterns = signs.sums(sums)
    p_values = _p_values(sums, listed, patterns, known=in_column if skew_guard else None)
    results = []
    for column, (worse, better, either) in enumerate(p_values.T.tolist()):
        n, flipped = int(known[:, column].sum()), int(n_flipped[column])
        exact = bool(listed[column])
        n_patterns = 2**flipped if exact else signs.n_patterns
        result = SignFlipResult(
            mean=float(present[:, column].sum()) / n if n else math.nan,
            margin=float(margins[column]),
            n=n,
            n_informative=int(np.count_nonzero(present[:, column])),
            n_clusters=None if groups is None else int(in_column[:, column].sum()),
            n_flipped=flipped,
            p_worse=worse,
            p_better=better,
            p_two_sided=either,
            smallest_p=max(0.5**flipped, 1 / n_patterns),
            exact=exact,
            n_resamples=n_patterns,
            seed=resampling.seed,
        )
        results.append(result)
    spread = np.sqrt(np.square(patterns).mean(axis=0))
    patterns /= np.where(spread > 0, spread, 1.0)
    return SignFlips(tuple(results), patterns)


def _p_values(sums: Floats, listed: Flags, patterns: Floats, *, known: Flags | None) -> Floats:
    """The three p values of each column, (3, M); guarded where told which sums have a value."""
    p_values = _counts(patterns, sums) / len(patterns)
    if known is not None and not listed.all():
        # Symmetry is all that flips know: skewed differences need more than they ask for.
        p_values = np.maximum(p_values, np.where(listed, 0.0, skewed_p_values(sums, known)))
    for column in np.flatnonzero(listed):
        moved = sums[sums[:, column] != 0, column]
        all_sums = np.zeros(1)
        for size in np.abs(moved):
            all_sums = np.concatenate([all_sums - size, all_sums + size])
        counts = _counts(all_sums[:, np.newaxis], moved[:, np.newaxis])[:, 0]
        p_values[:, column] = counts / len(all_sums)
    return p_values


def _counts(patterns: Floats, sums: Floats) -> Whole:
    """Patterns (B, M) at least as low, as high and as far from 0 as the sums of (G, M): (3, M)."""
    found = sums.sum(axis=0)
    nearly = _ROUNDING * np.abs(sums).sum(axis=0)
    return np.stack(
        [
            np.count_nonzero(patterns <= found + nearly, axis=0),
            np.count_nonzero(patterns >= found - nearly, axis=0),
            np.count_nonzero(np.abs(patterns) >= np.abs(found) - nearly, axis=0),
        ]
    )


def _margins(margins: Sequence[float] | None, n_columns: int) -> Floats:
    if margins is None:
        return np.zeros(n_columns)
    if len(margins) != n_columns:
        raise InputError(f"margins must be one per column ({n_columns}), got {len(margins)}")
    return np.array([from_zero(margin, "margin") for margin in margins], np.float64)


def mcnemar_test(n_worse: int, n_better: int) -> McNemarResult:
    """McNemar's exact test of changed verdicts.

    Unchanged verdicts say nothing about which run passes more. Rows must be independent, and the
    question must be whether anything changed; with clusters or a margin use :func:`sign_flip_test`
    on differences of -1, 0 and 1.

    Parameters
    ----------
    n_worse, n_better : int
        Rows that passed and now fail; that failed and now pass.

    Returns
    -------
    McNemarResult
        p values are accurate to about 1e-13 for counts of millions; without a changed verdict all
        are 1.

    Raises
    ------
    InputError
        For a count below 0.

    References
    ----------
    McNemar, Note on the sampling error of the difference between correlated proportions (1947);
    binomial, not chi-square. Doubling the smaller tail is the two-sided p value.
    """
    worse, better = whole_from_zero(n_worse, "n_worse"), whole_from_zero(n_better, "n_better")
    p_worse, p_better = _upper_tail(worse, better), _upper_tail(better, worse)
    return McNemarResult(
        n_worse=worse,
        n_better=better,
        p_worse=p_worse,
        p_better=p_better,
        p_two_sided=min(1.0, 2 * min(p_worse, p_better)),
        smallest_p=0.5 ** min(worse + better, 2000),
    )


def _upper_tail(n_found: int, n_others: int) -> float:
    """Probability of at least this many heads among all tosses."""
    from scipy.special import betainc

    # The binomial tail is a regularised incomplete beta function: no sum, no overflow.
    return float(betainc(n_found, n_others + 1, 0.5)) if n_found else 1.0
