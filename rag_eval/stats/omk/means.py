"""Statistics of repeats as omk computes them: averages of runs in, intervals and tests out.

Critical values come from tables of three decimals, and p values are known by class alone; exact
ones are in :mod:`rag_eval.stats.distributions`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rag_eval.plumbing.javascript_numbers import fixed_number, plain_sum
from rag_eval.plumbing.json_records import JsonRecord

_DECIMALS: Final = 4

# Two-sided critical values of Student's t for 1 to 30 degrees of freedom (Fisher and Yates,
# Statistical Tables, table III), and those of the normal distribution above.
_T_5_PERCENT: Final = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
_T_1_PERCENT: Final = (
    *(63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169),
    *(3.106, 3.055, 3.012, 2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845),
    *(2.831, 2.819, 2.807, 2.797, 2.787, 2.779, 2.771, 2.763, 2.756, 2.750),
)
_T_1_PER_MILLE: Final = (
    *(636.619, 31.599, 12.924, 8.610, 6.869, 5.959, 5.408, 5.041, 4.781, 4.587),
    *(4.437, 4.318, 4.221, 4.140, 4.073, 4.015, 3.965, 3.922, 3.883, 3.850),
    *(3.819, 3.792, 3.768, 3.745, 3.725, 3.707, 3.690, 3.674, 3.659, 3.646),
)
_BUCKETS: Final = (
    ("<0.001", _T_1_PER_MILLE, 3.291),
    ("<0.01", _T_1_PERCENT, 2.576),
    ("<0.05", _T_5_PERCENT, 1.96),
)
_NOT_SIGNIFICANT: Final = "≥0.05"

# Below so many values in all, omk leads with Hedges' g.
_FEW: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TInterval(JsonRecord):
    """A mean and its 95 % interval by Student's t; numbers of four decimals.

    Below two values the bounds are the mean itself, not rounded, and ``stddev`` is 0.
    """

    mean: float
    lower: float
    upper: float
    stddev: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WelchTest(JsonRecord):
    """A t test of two means without equal variances.

    Attributes
    ----------
    t_statistic : float
        To four decimals; positive where the first mean is higher.
    df : int
        Degrees of freedom by Satterthwaite, rounded down, at least 1; 0 below two values.
    significant : bool
        At 5 %, two-sided, by the table.
    """

    t_statistic: float
    df: int
    significant: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OmkEffectSize(JsonRecord):
    """How far two means are apart in standard deviations; numbers of four decimals.

    Attributes
    ----------
    cohens_d : float
        By the pooled standard deviation; 0 if there is none.
    hedges_g : float
        The same less its bias for few values.
    primary : {"d", "g", "none"}
        The one to read: ``g`` below 20 values in all, none where values do not vary or a side has
        fewer than two.
    magnitude : str
        Of the primary: "negligible", from 0.2 "small", from 0.5 "medium", from 0.8 "large"; or
        "none".
    pooled_stddev : float
    n1, n2 : int
    """

    cohens_d: float = 0.0
    hedges_g: float = 0.0
    primary: Literal["d", "g", "none"] = "none"
    magnitude: Literal["none", "negligible", "small", "medium", "large"] = "none"
    pooled_stddev: float = 0.0
    n1: int
    n2: int


def mean(values: Sequence[float]) -> float:
    """The mean; 0 of nothing."""
    return _sum(values) / len(values) if len(values) else 0.0


def plain_mean(values: Sequence[float]) -> float:
    """The mean of one value or more, added one by one: so omk averages the scores of judges."""
    return plain_sum(values) / len(values)


def stddev(values: Sequence[float]) -> float:
    """The standard deviation of a sample (n - 1); 0 below two values."""
    return math.sqrt(_variance(values))


def t_interval(values: Sequence[float]) -> TInterval:
    """The 95 % prediction range of the mean of further runs."""
    center, spread = mean(values), stddev(values)
    if len(values) < 2:
        return TInterval(mean=center, lower=center, upper=center, stddev=0.0)
    reach = _critical(_T_5_PERCENT, 1.96, len(values) - 1) * (spread / math.sqrt(len(values)))
    return TInterval(
        mean=fixed_number(center, _DECIMALS),
        lower=fixed_number(center - reach, _DECIMALS),
        upper=fixed_number(center + reach, _DECIMALS),
        stddev=fixed_number(spread, _DECIMALS),
    )


def welch_t_test(a: Sequence[float], b: Sequence[float]) -> WelchTest:
    """Whether two means differ.

    Without variance on both sides t is 0, and the means differ if they are not equal. With fewer
    than two values on a side: zeros, not significant.

    References
    ----------
    Welch, The generalization of Student's problem when several different population variances are
    involved (1947).
    """
    if len(a) < 2 or len(b) < 2:
        return WelchTest(t_statistic=0.0, df=0, significant=False)
    share_a, share_b = _variance(a) / len(a), _variance(b) / len(b)
    difference = mean(a) - mean(b)
    if share_a + share_b == 0:
        return WelchTest(t_statistic=0.0, df=len(a) + len(b) - 2, significant=difference != 0)
    t = difference / math.sqrt(share_a + share_b)
    df = (share_a + share_b) ** 2 / (share_a**2 / (len(a) - 1) + share_b**2 / (len(b) - 1))
    whole = max(1, math.floor(df))
    return WelchTest(
        t_statistic=fixed_number(t, _DECIMALS),
        df=whole,
        significant=abs(t) > _critical(_T_5_PERCENT, 1.96, whole),
    )


def effect_size(a: Sequence[float], b: Sequence[float]) -> OmkEffectSize:
    """Cohen's d and Hedges' g of two unpaired samples; positive if ``a`` is higher.

    References
    ----------
    Hedges, Distribution theory for Glass's estimator of effect size and related estimators (1981),
    with the approximation of its equation 6.
    """
    n1, n2 = len(a), len(b)
    pooled = 0.0
    if n1 >= 2 and n2 >= 2:
        pooled = math.sqrt(((n1 - 1) * _variance(a) + (n2 - 1) * _variance(b)) / (n1 + n2 - 2))
    if pooled == 0:
        return OmkEffectSize(n1=n1, n2=n2)
    d = (mean(a) - mean(b)) / pooled
    g = d * (1 - 3 / (4 * (n1 + n2) - 9))
    few = n1 + n2 < _FEW
    return OmkEffectSize(
        cohens_d=fixed_number(d, _DECIMALS),
        hedges_g=fixed_number(g, _DECIMALS),
        primary="g" if few else "d",
        magnitude=_magnitude(g if few else d),
        pooled_stddev=fixed_number(pooled, _DECIMALS),
        n1=n1,
        n2=n2,
    )


def p_value_bucket(t: float, df: float) -> str:
    """The class of a two-sided p value: "<0.001", "<0.01", "<0.05" or "≥0.05".

    Degrees of freedom are rounded down, but not below 1; above 30 the normal distribution is used.
    Without degrees of freedom, and for a ``t`` that is not finite, nothing is significant.
    """
    if not df > 0 or not math.isfinite(t):
        return _NOT_SIGNIFICANT
    for name, table, above in _BUCKETS:
        if abs(t) >= _critical(table, above, df):
            return name
    return _NOT_SIGNIFICANT


def _variance(values: Sequence[float]) -> float:
    if len(values) < 2:
        return 0.0
    center = mean(values)
    # By a product: ** is off by its last digit in some C libraries.
    return plain_sum((value - center) * (value - center) for value in values) / (len(values) - 1)


def _sum(values: Sequence[float]) -> float:
    """The sum with what its rounding lost, as omk has it from simple-statistics.

    References
    ----------
    Neumaier, Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen (1974).
    """
    total, lost = values[0], 0.0
    for value in values[1:]:
        further = total + value
        if abs(total) >= abs(value):
            lost += total - further + value
        else:
            lost += value - further + total
        total = further
    return total + lost


def _critical(table: tuple[float, ...], above: float, df: float) -> float:
    return table[max(math.floor(df), 1) - 1] if df <= len(table) else above


def _magnitude(size: float) -> Literal["negligible", "small", "medium", "large"]:
    if abs(size) >= 0.8:
        return "large"
    if abs(size) >= 0.5:
        return "medium"
    return "small" if abs(size) >= 0.2 else "negligible"
