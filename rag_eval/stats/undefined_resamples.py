"""Resamples on which a number does not exist: counted, and when they are many no bounds come out.

A resample that happens to hold no variety has no correlation and no agreement. To leave some of
them out does little; to leave out many makes an interval of those that suit the number.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from rag_eval.stats.bootstrap import Statistic, group_bootstrap
from rag_eval.stats.index_sources import Indices
from rag_eval.stats.intervals import Interval

MOST_UNDEFINED: Final = 0.05
"""Share of the resamples above which an interval has no bounds."""


def checked_bootstrap(
    statistic: Statistic,
    groups: npt.NDArray[np.int64],
    *,
    seed: int = 0,
    n_resamples: int = 1000,
    level: float = 0.95,
    indices: Indices | None = None,
) -> tuple[Interval, ...]:
    """Intervals of numbers that do not exist on every resample.

    Parameters
    ----------
    statistic, groups, seed, n_resamples, level, indices
        As for :func:`rag_eval.stats.group_bootstrap`. ``n_resamples`` is not heeded where indices
        are given.

    Returns
    -------
    tuple of Interval
        ``n_undefined`` of each are the resamples without the number; above 5 % of all resamples
        there are no bounds.
    """
    if indices is None:
        n_asked = n_resamples
        found = group_bootstrap(statistic, groups, seed=seed, n_resamples=n_resamples, level=level)
    else:
        drawn = list(indices)
        n_asked = sum(map(len, drawn))
        found = group_bootstrap(statistic, groups, seed=seed, level=level, indices=iter(drawn))
    return tuple(_checked(one, n_asked) for one in found)


def _checked(found: Interval, n_asked: int) -> Interval:
    if found.n_groups < 2:
        return found
    n_undefined = n_asked - found.n_resamples
    if n_undefined > MOST_UNDEFINED * n_asked:
        return replace(found, low=None, high=None, n_undefined=n_undefined)
    return replace(found, n_undefined=n_undefined)
