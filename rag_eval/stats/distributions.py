"""Quantiles and tails of Student's t and of the normal distribution: numbers in, a number out."""

from __future__ import annotations

from statistics import NormalDist

from rag_eval.errors import InputError


def t_quantile(probability: float, df: float) -> float:
    """Where Student's t lies below with a probability.

    Parameters
    ----------
    probability : float
        Above 0 and below 1.
    df : float
        Degrees of freedom, above 0; need not be whole. Infinity gives the normal distribution.

    Returns
    -------
    float

    Raises
    ------
    InputError
        For a number out of range.
    """
    # Its import takes longer than all else here.
    from scipy.special import stdtrit

    if _checked_df(df) == float("inf"):
        return normal_quantile(probability)
    return float(stdtrit(df, _checked_probability(probability)))


def t_cdf(value: float, df: float) -> float:
    """Probability that Student's t is at most ``value``; ``df`` as in :func:`t_quantile`."""
    from scipy.special import stdtr

    if _checked_df(df) == float("inf"):
        return normal_cdf(value)
    return float(stdtr(df, value))


def normal_quantile(probability: float) -> float:
    """Where a standard normal number lies below with a probability above 0 and below 1.

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


def _checked_df(df: float) -> float:
    if not df > 0:
        raise InputError(f"degrees of freedom must be above 0, got {df}")
    return float(df)
