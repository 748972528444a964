"""Bounds of a mean label: its estimate and variance in, an interval that stays in range out."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from rag_eval.stats.arrays import Floats
from rag_eval.stats.distributions import student_quantile
from rag_eval.stats.intervals import Interval, score_bounds

FEW_INFORMATIVE: Final = 3
"""With fewer rows that determine the spread, its size is unknown."""
FEW_CLUSTERS: Final = 5


class MeanEstimate(NamedTuple):
    """An estimated mean label, and what its bounds are made of.

    ``label_mean`` is that of labels alone. ``n_groups`` are independent labels, or clusters, and
    ``n_informative`` those that determine the spread. ``missed`` is the mean probability that a
    labelled row had of not being drawn, 1 if rows stand for a population.
    """

    estimate: float
    variance: float
    label_mean: float
    df: int
    n_groups: int
    n_informative: float
    missed: float
    clustered: bool


def mean_label_interval(
    found: MeanEstimate, range_of_labels: tuple[float, float] | None, level: float
) -> Interval:
    """Bounds by t, or by Wilson's formula where labels have a range; none where nothing is known.

    The number of rows that Wilson's formula is given is that of a share with the variance of the
    estimate. Simulated, it covers near the edges, where t falls short.
    """
    estimate, method = found.estimate, "t"
    if range_of_labels is not None:
        method = "bounded"
        estimate = min(max(estimate, range_of_labels[0]), range_of_labels[1])
    bounds = _bounds(found, estimate, range_of_labels, level)
    is_known = found.missed == 0
    if is_known:
        bounds = estimate, estimate
    elif found.df < 1 or (found.clustered and found.n_groups < FEW_CLUSTERS):
        bounds = None
    return Interval(
        estimate=estimate,
        low=None if bounds is None else bounds[0],
        high=None if bounds is None else bounds[1],
        level=level,
        n_groups=found.n_groups,
        method=method,
        too_few=not is_known and (bounds is None or found.n_informative < FEW_INFORMATIVE),
    )


def n_informative(residuals: Floats) -> float:
    """Rows that determine the spread: (sum of squares)² by the sum of fourth powers.

    Of some equal residuals among zeros it is their number; of a share of a few ones about theirs.
    """
    squares = residuals**2
    fourths = float(squares @ squares)
    return float(squares.sum()) ** 2 / fourths if fourths > 0 else 0.0


def _bounds(
    found: MeanEstimate, estimate: float, range_of_labels: tuple[float, float] | None, level: float
) -> tuple[float, float] | None:
    if found.df < 1:
        return None
    quantile = student_quantile((1 + level) / 2, found.df)
    if range_of_labels is None:
        reach = quantile * math.sqrt(found.variance)
        return (estimate - reach, estimate + reach) if reach > 0 else None
    least, size = range_of_labels[0], range_of_labels[1] - range_of_labels[0]
    n_rows = _effective_rows(found, (found.label_mean - least) / size, found.variance / size**2)
    if not n_rows > 0:
        return None
    low, high = score_bounds((estimate - least) / size, n_rows, quantile)
    return least + size * low, least + size * high


def _effective_rows(found: MeanEstimate, mean: float, variance: float) -> float:
    """So many rows would give a share like the mean label this variance; 0 if none would."""
    if variance > 0:
        # By the mean of the labels: the estimate itself may lie at the edge.
        return mean * (1 - mean) / variance
    if mean not in (0, 1) or not found.missed:
        return 0.0
    return found.n_groups / found.missed
