"""Quantiles and tails of Student's t and of the normal distribution: numbers in, a number out.

Intervals of means take :func:`student_quantile`: every table of a run needs one, and importing
``scipy.special`` takes longer than scoring a small file. Comparisons and planning, which load SciPy
anyway, take :func:`t_quantile`. The two differ from the 11th digit on, and either one in the place
of the other would change intervals that are on record.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import Final

from rag_eval.errors import InputError

_MOST_STEPS: Final = 10_000
# Above, logarithms of gamma functions are so large that their difference has few digits left.
_MANY: Final = 1_000
_TINY: Final = 1e-300


def t_quantile(probability: float, df: float) -> float:
    """The quantile of Student's t for a probability.

    Parameters
    ----------
    probability : float
        Above 0 and below 1.
    df : float
        Degrees of freedom, above 0; need not be whole.

    Returns
    -------
    float

    Raises
    ------
    InputError
        For a probability out of range.
    """
    # Importing it takes longer than everything else here.
    from scipy.special import stdtrit

    return float(stdtrit(df, _checked_probability(probability)))


def normal_quantile(probability: float) -> float:
    """The quantile of the standard normal distribution for a probability above 0 and below 1.

    Raises
    ------
    InputError
        For a probability out of range.
    """
    return NormalDist().inv_cdf(_checked_probability(probability))


def normal_cdf(value: float) -> float:
    """Probability that a standard normal number is at most ``value``."""
    # NormalDist().cdf() loses the digits of a small probability.
    from scipy.special import ndtr

    return float(ndtr(value))


def _checked_probability(probability: float) -> float:
    if not 0 < probability < 1:
        raise InputError(f"probability must be above 0 and below 1, got {probability}")
    return float(probability)


# ------------------------------------------------------------------------------------ without SciPy


@lru_cache(maxsize=512)
def student_quantile(share: float, df: float) -> float:
    """The quantile of Student's t, to about 10 digits.

    Parameters
    ----------
    share : float
        From 0.5 to below 1.
    df : float
        Degrees of freedom, above 0; need not be whole.
    """
    tail = 1 - share
    value = NormalDist().inv_cdf(share)
    if df > _MANY:
        return _expanded(value, df)
    # The tail is convex, and the normal quantile is below: Newton's steps only ever rise.
    for _ in range(_MOST_STEPS):
        step = (_upper_tail(value, df) - tail) / _density(value, df)
        value += step
        if step <= 1e-14 * value:
            return value
    return value


def _expanded(z: float, df: float) -> float:
    """Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.5."""
    square = z * z
    first = (square + 1) / 4
    second = ((5 * square + 16) * square + 3) / 96
    third = (((3 * square + 19) * square + 17) * square - 15) / 384
    return z + z * (first + (second + third / df) / df) / df


def _density(value: float, df: float) -> float:
    log_scale = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - math.log(df * math.pi) / 2
    return math.exp(log_scale - (df + 1) / 2 * math.log1p(value * value / df))


def _upper_tail(value: float, df: float) -> float:
    squared = value * value
    return _incomplete_beta(df / 2, 0.5, df / (df + squared), squared / (df + squared)) / 2


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """The regularised incomplete beta function; ``rest`` is 1 - x without its rounding.

    NIST Digital Library of Mathematical Functions, 8.17.22, by Lentz's method.
    """
    if rest == 0:
        return 1.0
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side only
        return 1 - _incomplete_beta(b, a, rest, x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(log_front + a * math.log(x) + b * math.log(rest)) / a
    return front * _beta_fraction(a, b, x)


def _beta_fraction(a: float, b: float, x: float) -> float:
    ratio, down = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value = down
    for m in range(1, _MOST_STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            down = 1 / _not_zero(1 + term * down)
            ratio = _not_zero(1 + term / ratio)
            value *= down * ratio
        if abs(down * ratio - 1) < 1e-15:
            break
    return value


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
