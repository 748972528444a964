"""The bootstrap: a statistic and groups of rows in, its percentile intervals out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.option_values import number, whole_from_one
from rag_eval.stats.intervals import Interval

Statistic: TypeAlias = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.float64]]
"""Takes how often each row counts, int64 (B, R); gives one row of S numbers each, (B, S)."""

# Weights of so many rows are held at once: 8 MB, and a few times that in a statistic.
_CELLS: Final = 1 << 20


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
