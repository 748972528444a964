"""Planning a comparison: spread and number of pairs in, the smallest detectable difference out.

This is for planning: the spread comes from an earlier pair of runs or is assumed. The power of a
finished comparison, computed from the difference it found, says nothing new.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from rag_eval.errors import InputError
from rag_eval.plumbing.checked_values import from_zero, number, positive, whole_from_zero
from rag_eval.stats.distributions import normal_cdf, normal_quantile, t_quantile

_MOST_ROWS: Final = 10**12
# Above, t and the normal agree to six digits, and the series of the noncentral t grow long.
_LARGE: Final = 100_000


def minimum_detectable_effect(
    sd_of_differences: float,
    n: int,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    one_sided: bool = True,
) -> float:
    """The smallest mean difference of pairs that a test detects with a given power.

    It is computed for the t test on paired differences, to which the sign-flip test is equivalent
    in large samples. If most pairs tie, it is a little optimistic: fewer than five changed pairs
    cannot reject at 0.05.

    Parameters
    ----------
    sd_of_differences : float
        Standard deviation of the paired differences, ties among them, 0 or above.
    n : int
        Number of pairs; for clustered rows the number of clusters, with the standard deviation of
        cluster means.
    alpha : float
        Significance level of the test; for the strictest step of Holm's method over m tests, alpha
        / m.
    power : float
        The power, above alpha and below 1.
    one_sided : bool
        A two-sided test detects an effect if it rejects in its direction.

    Returns
    -------
    float
        In units of the score, above 0; inf for fewer than two pairs; NaN for a standard deviation
        of 0, which says nothing about other pairs.

    Raises
    ------
    InputError
        For an option outside its range.

    References
    ----------
    Cohen, Statistical Power Analysis for the Behavioral Sciences (1988), section 2.3; power by the
    noncentral t distribution.
    """
    tail = _tail(alpha, power, one_sided)
    spread = from_zero(sd_of_differences, "sd_of_differences")
    if whole_from_zero(n, "n") < 2:
        return math.inf
    if spread == 0:
        return math.nan
    guess = normal_quantile(1 - tail) + normal_quantile(power)
    critical = t_quantile(1 - tail, n - 1)
    shift = _crossing(lambda nc: _power_of(nc, n - 1, critical) >= power, guess)
    return shift * spread / math.sqrt(n)


def rows_needed(
    effect: float,
    sd_of_differences: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    one_sided: bool = True,
) -> int:
    """Number of pairs that a test needs to detect a mean difference with a given power.

    Parameters
    ----------
    effect : float
        The mean difference to detect, not 0; its sign does not matter.
    sd_of_differences : float
        Standard deviation of the paired differences, ties among them, above 0.
    alpha, power, one_sided
        As for :func:`minimum_detectable_effect`.

    Returns
    -------
    int
        The smallest number with that power, at least 2.

    Raises
    ------
    InputError
        For an option outside its range, or for more than 10**12 pairs.
    """
    tail = _tail(alpha, power, one_sided)
    ratio = positive(abs(number(effect, "effect")), "effect") / positive(
        sd_of_differences, "sd_of_differences"
    )
    guess = ((normal_quantile(1 - tail) + normal_quantile(power)) / ratio) ** 2
    if guess > _MOST_ROWS:
        raise InputError(
            f"effect {effect:g} is too small for a standard deviation of {sd_of_differences:g}"
        )

    def enough(n: int) -> bool:
        critical = t_quantile(1 - tail, n - 1)
        return _power_of(ratio * math.sqrt(n), n - 1, critical) >= power

    low, high = 1, max(2, math.ceil(guess))
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def verdict_rows_needed(
    effect: float,
    discordant: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    one_sided: bool = True,
) -> int:
    """Pairs of verdicts that McNemar's exact test needs to detect a change of the pass rate.

    Parameters
    ----------
    effect : float
        The change of the pass rate to detect, not 0; its sign does not matter.
    discordant : float
        Expected share of rows whose verdict changes in either direction; at least the size of the
        effect.
    alpha, power, one_sided
        As for :func:`minimum_detectable_effect`.

    Returns
    -------
    int

    Raises
    ------
    InputError
        For an option outside its range.

    Notes
    -----
    Connor's normal approximation, and 1 / effect rows more because the exact test is discrete
    (as the continuity correction of Casagrande, Pike and Smith for two independent shares).

    References
    ----------
    Connor, Sample size for testing differences in proportions for the paired-sample design (1987).
    """
    tail = _tail(alpha, power, one_sided)
    size = positive(abs(number(effect, "effect")), "effect")
    share = positive(discordant, "discordant")
    if not size <= share <= 1:
        raise InputError(
            f"discordant must be from the effect's size ({size:g}) to 1, got {discordant:g}"
        )
    reach = normal_quantile(1 - tail) * math.sqrt(share)
    reach += normal_quantile(power) * math.sqrt(share - size * size)
    return math.ceil((reach / size) ** 2 + 1 / size)


def _tail(alpha: float, power: float, one_sided: bool) -> float:
    """The share of each tail in which the test rejects, of options that are in their ranges."""
    if not 0 < number(alpha, "alpha") < 1:
        raise InputError(f"alpha must be between 0 and 1, got {alpha:g}")
    if not alpha < number(power, "power") < 1:
        raise InputError(f"power must be between alpha ({alpha:g}) and 1, got {power:g}")
    return alpha / (1 if one_sided else 2)


def _power_of(shift: float, n_free: int, critical: float) -> float:
    """Chance that t, shifted so far, is above its critical value.

    To be below the other one of a two-sided test is to find the opposite of what is there.
    """
    from scipy.special import nctdtr

    if n_free > _LARGE:
        return normal_cdf(shift - critical)
    return 1 - float(nctdtr(n_free, shift, critical))


def _crossing(reached: Callable[[float], bool], guess: float) -> float:
    """Where a rising condition first holds, above 0, to the last bits."""
    low, high = 0.0, max(guess, 1e-3)
    while not reached(high):
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
