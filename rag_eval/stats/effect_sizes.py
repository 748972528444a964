"""Effect sizes: scores of two runs in, numbers without a unit out.

They describe a difference and do not affect verdicts. Differences of pairs have their own (``d_z``,
``g_z``, matched rank-biserial in :mod:`rag_eval.stats.rank_tests`); :func:`cliffs_delta` and
:func:`hedges_g` are for two runs over different rows, and would waste the pairing of the same ones.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from rag_eval.stats.arrays import Floats


def cohens_d_z(differences: npt.ArrayLike) -> float | None:
    """Mean of the paired differences over their standard deviation.

    Parameters
    ----------
    differences : array_like, shape (R,)
        NaN if a pair lacks a score; such pairs are left out.

    Returns
    -------
    float or None
        None with fewer than two pairs or if all differences are equal.

    References
    ----------
    Cohen, Statistical Power Analysis for the Behavioral Sciences (1988), section 2.3.5.
    """
    known = _known(differences)
    spread = _standard_deviation(known)
    return float(known.mean()) / spread if spread else None


def hedges_g_z(differences: npt.ArrayLike) -> float | None:
    """``d_z`` corrected for its bias in small samples.

    Parameters
    ----------
    differences : array_like, shape (R,)
        As for :func:`cohens_d_z`.

    Returns
    -------
    float or None
        None if ``d_z`` is None, and with two pairs, for which the correction does not exist.

    References
    ----------
    Hedges, Distribution theory for Glass's estimator of effect size (1981); the correction with
    gamma functions, not its approximation, for n - 1 degrees of freedom.
    """
    d_z = cohens_d_z(differences)
    factor = _small_sample_factor(len(_known(differences)) - 1)
    return None if d_z is None or factor is None else d_z * factor


def hedges_g(left: npt.ArrayLike, right: npt.ArrayLike) -> float | None:
    """Difference of the means, right minus left, divided by the pooled standard deviation.

    For independent rows only, with the correction for small samples (Hedges 1981).

    Parameters
    ----------
    left, right : array_like, shape (R,) each
        NaN is left out.

    Returns
    -------
    float or None
        None with fewer than two scores on a side or if neither side varies.
    """
    one, other = _known(left), _known(right)
    if min(len(one), len(other)) < 2:
        return None
    n_free = len(one) + len(other) - 2
    squares = sum((len(x) - 1) * _standard_deviation(x) ** 2 for x in (one, other))
    if squares == 0:
        return None
    factor = _small_sample_factor(n_free)
    d = float(other.mean() - one.mean()) / math.sqrt(squares / n_free)
    return None if factor is None else d * factor


def cliffs_delta(left: npt.ArrayLike, right: npt.ArrayLike) -> float | None:
    """Probability that a score on the right is above one on the left, minus that of the reverse.

    For independent rows only.

    Parameters
    ----------
    left, right : array_like, shape (R,) each
        NaN is left out.

    Returns
    -------
    float or None
        From -1 to 1; None if a side has no score.

    References
    ----------
    Cliff, Dominance statistics: ordinal analyses to answer ordinal questions (1993).
    """
    one, other = np.sort(_known(left)), _known(right)
    if not len(one) or not len(other):
        return None
    below = np.searchsorted(one, other, side="left")
    above = len(one) - np.searchsorted(one, other, side="right")
    return int(np.sum(below - above)) / (len(one) * len(other))


def _known(values: npt.ArrayLike) -> Floats:
    column = np.asarray(values, np.float64)
    return column[~np.isnan(column)]


def _standard_deviation(values: Floats) -> float:
    """Over n - 1; 0 if there is none, and where all values are equal."""
    # With a rounded mean, a constant column would seem to vary.
    if len(values) < 2 or values.min() == values.max():
        return 0.0
    return float(values.std(ddof=1))


def _small_sample_factor(n_free: int) -> float | None:
    """None for one degree of freedom, where the expectation of d does not exist."""
    if n_free < 2:
        return None
    ratio = math.lgamma(n_free / 2) - math.lgamma((n_free - 1) / 2)
    return math.exp(ratio) / math.sqrt(n_free / 2)
