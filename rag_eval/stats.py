"""Statistics of labelled or scored rows: arrays in, numbers with their intervals out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.option_values import number, whole_from_one

Statistic: TypeAlias = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.float64]]
"""Takes how often each row counts, int64 (B, R); gives one row of S numbers each, (B, S)."""

# Weights of so many rows are held at once: 8 MB, and a few times that in a statistic.
_CELLS: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A number measured on some rows, and where other rows of the same kind could have put it.

    Attributes
    ----------
    estimate : float
        On the rows as they are.
    low, high : float or None
        The interval; None where there is none, as with a single group.
    level : float
        Share of such intervals that should hold the true value, for example 0.95.
    n_resamples : int
        Resamples the interval is made of. Those on which the number does not exist (one that needs
        two classes, where only one was drawn) are not among them.
    n_groups : int
        Independent groups of rows.
    """

    estimate: float
    low: float | None
    high: float | None
    level: float
    n_resamples: int
    n_groups: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "nResamples": self.n_resamples,
            "nGroups": self.n_groups,
        }


def group_numbers(groups: Iterable[object]) -> npt.NDArray[np.int64]:
    """Number groups from 0 on in the order of their first rows.

    Parameters
    ----------
    groups : iterable of str, int or anything else that is hashable
        The group of each row.

    Returns
    -------
    int64, shape (R,)

    Raises
    ------
    InputError
        For a row without a group (None, NaN), or with one that cannot be compared.
    """
    known: dict[object, int] = {}
    numbers: list[int] = []
    for row, group in enumerate(groups):
        try:
            if group is None or group != group:  # NaN
                raise InputError(f"group of row {row} is missing; wanted a name or a number")
            numbers.append(known.setdefault(group, len(known)))
        except TypeError:
            raise InputError(
                f"group of row {row} must be a name or a number, got {type(group).__name__}"
            ) from None
    return np.array(numbers, np.int64)


def group_bootstrap(
    statistic: Statistic,
    groups: npt.NDArray[np.int64],
    *,
    seed: int = 0,
    n_resamples: int = 1000,
    level: float = 0.95,
) -> tuple[Interval, ...]:
    """Percentile intervals of some numbers, by drawing whole groups with replacement.

    Rows of one group (answers to one question, say) rise and fall together: resampled one by one
    they would make the interval too narrow.

    Parameters
    ----------
    statistic : callable
        Takes row weights, int64 of shape (B, R): how often each row is in each of B resamples.
        Gives the S numbers of each resample, float64 of shape (B, S); NaN where there is none.
    groups : int64, shape (R,)
        As :func:`group_numbers` gives them; some may be missing.
    seed : int
        The same seed and rows give the same interval.
    n_resamples : int
    level : float
        Between 0 and 1.

    Returns
    -------
    tuple of Interval
        One for each of the S numbers. Without at least two groups there are no bounds.

    References
    ----------
    Davison and Hinkley, Bootstrap Methods and their Application (1997), sections 3.8 and 5.3.1.
    """
    if not 0 < number(level, "level") < 1:
        raise InputError(f"level must be between 0 and 1, got {level}")
    whole_from_one(n_resamples, "n_resamples")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed must be a whole number from 0 on, got {seed!r}")
    (estimates,) = statistic(np.ones((1, len(groups)), np.int64))
    # Numbered anew: a group whose rows were all left out must not be drawn.
    known, numbers = np.unique(groups, return_inverse=True)
    n_groups = len(known)
    draws = np.empty((0, len(estimates)))
    if n_groups > 1:
        blocks = _resampled_weights(numbers, n_groups, n_resamples, seed)
        draws = np.concatenate([statistic(weights) for weights in blocks])
    return tuple(
        _percentile_interval(float(estimate), draws[:, column], float(level), n_groups)
        for column, estimate in enumerate(estimates)
    )


def _resampled_weights(
    groups: npt.NDArray[np.intp], n_groups: int, n_resamples: int, seed: int
) -> Iterator[npt.NDArray[np.int64]]:
    """How often each row is in each resample, some resamples at a time."""
    generator = np.random.default_rng(seed)
    n_at_once = max(1, _CELLS // len(groups))
    for begin in range(0, n_resamples, n_at_once):
        n = min(n_at_once, n_resamples - begin)
        drawn = generator.integers(n_groups, size=(n, n_groups))
        # One count of all resamples of the block: each has its own range of numbers.
        drawn += n_groups * np.arange(n)[:, np.newaxis]
        counts = np.bincount(drawn.ravel(), minlength=n * n_groups).reshape(n, n_groups)
        yield counts[:, groups]


def _percentile_interval(
    estimate: float, draws: npt.NDArray[np.float64], level: float, n_groups: int
) -> Interval:
    found = draws[~np.isnan(draws)]
    low, high = None, None
    if len(found):
        low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return Interval(
        estimate=estimate,
        low=low,
        high=high,
        level=level,
        n_resamples=len(found),
        n_groups=n_groups,
    )


def wilson_interval(n_found: int, n_trials: int, level: float = 0.95) -> Interval:
    """A share and its score interval.

    References
    ----------
    Wilson, Probable inference, the law of succession, and statistical inference (1927).
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = n_found / n_trials
    center = share + z * z / (2 * n_trials)
    reach = z * math.sqrt((share * (1 - share) + z * z / (4 * n_trials)) / n_trials)
    scale = 1 + z * z / n_trials
    return Interval(
        estimate=share,
        # At the edges rounding would leave the range by one part in 1e17.
        low=max(0.0, (center - reach) / scale) if n_found else 0.0,
        high=min(1.0, (center + reach) / scale) if n_found < n_trials else 1.0,
        level=level,
        n_resamples=0,
        n_groups=n_trials,
    )
