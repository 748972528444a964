"""Percentile intervals as omk computes them: scores in, bounds of four decimals out.

The generator and its seed, the order of additions, the quantiles and the rounding are omk's own:
a bound halfway between two numbers of four decimals is rounded as it is there. For decisions use
the intervals of :mod:`rag_eval.stats.intervals`: those here are too narrow for few scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.plumbing.checked_values import number, whole_from_one
from rag_eval.plumbing.javascript_numbers import fixed_number, round_half_up
from rag_eval.stats.index_sources import mulberry32_indices

_Statistic: TypeAlias = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.float64]]
"""Takes drawn places, int64 (B, R); gives the number of each resample, (B,)."""

OMK_SEED: Final = 20_260_616
_DECIMALS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class OmkInterval:
    """Bounds around an estimate.

    Attributes
    ----------
    low, high, estimate : float
        To four decimals, halves up.
    samples : int
        Resamples; 0 where none were needed.
    significant : bool or None
        Of a difference: whether 0 is outside the rounded bounds. None for other numbers.
    """

    low: float
    high: float
    estimate: float
    samples: int
    significant: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; a number that does not exist is null."""
        found: dict[str, Any] = {
            name: None if math.isnan(value) else value
            for name, value in (("low", self.low), ("high", self.high), ("estimate", self.estimate))
        }
        found["samples"] = self.samples
        if self.significant is not None:
            found["significant"] = self.significant
        return found


def bootstrap_mean_ci(
    scores: Sequence[float], *, alpha: float = 0.05, samples: int = 1000, seed: int = OMK_SEED
) -> OmkInterval:
    """The mean of some scores.

    Parameters
    ----------
    scores : sequence of float
        None gives zeros, one gives itself, both with 0 ``samples``.
    alpha : float
        One minus the level, between 0 and 1.
    samples : int
        Resamples.
    seed : int
        Of mulberry32.

    Raises
    ------
    InputError
        For a score that is not finite, or options out of range.
    """
    _check_options(alpha, samples)
    values = _finite(scores, "scores")
    if len(values) < 2:
        only = float(values[0]) if len(values) else 0.0
        return OmkInterval(low=only, high=only, estimate=only, samples=0)
    return _interval(_mean_of(values), (len(values),), alpha, samples, seed)


def bootstrap_diff_ci(
    control: Sequence[float],
    treatment: Sequence[float],
    *,
    alpha: float = 0.05,
    samples: int = 1000,
    seed: int = OMK_SEED,
) -> OmkInterval:
    """The mean of one sample less that of another, not paired; zeros where one is empty.

    Parameters and errors are those of :func:`bootstrap_mean_ci`.
    """
    _check_options(alpha, samples)
    old, new = _finite(control, "control"), _finite(treatment, "treatment")
    if not len(old) or not len(new):
        return OmkInterval(low=0.0, high=0.0, estimate=0.0, samples=0, significant=False)
    of_old, of_new = _mean_of(old), _mean_of(new)

    def difference(places: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        return of_new(places[:, len(old) :] - len(old)) - of_old(places[:, : len(old)])

    return _significance(_interval(difference, (len(old), len(new)), alpha, samples, seed))


def bootstrap_paired_diff_ci(
    pairs: Sequence[tuple[float, float]] | Sequence[Sequence[float]],
    *,
    alpha: float = 0.05,
    samples: int = 1000,
    seed: int = OMK_SEED,
) -> OmkInterval:
    """The mean difference of pairs (control, treatment), treatment less control.

    Zeros without a pair. A single pair has bounds without width, which count as significant unless
    they are 0. Parameters and errors are those of :func:`bootstrap_mean_ci`.
    """
    _check_options(alpha, samples)
    if not len(pairs):
        return OmkInterval(low=0.0, high=0.0, estimate=0.0, samples=0, significant=False)
    for place, pair in enumerate(pairs):
        if len(pair) != 2:
            raise InputError(f"pair {place} must be two scores, got {len(pair)}")
    differences = _finite([new for _, new in pairs], "pairs") - _finite(
        [old for old, _ in pairs], "pairs"
    )
    return _significance(
        _interval(_mean_of(differences), (len(differences),), alpha, samples, seed)
    )


def bootstrap_metric_ci(
    scores: Sequence[float],
    metric: Callable[[Sequence[float]], float],
    *,
    alpha: float = 0.05,
    samples: int = 1000,
    seed: int = OMK_SEED,
) -> OmkInterval:
    """Any number of some scores.

    Parameters
    ----------
    scores : sequence of float
        None gives zeros, with 0 ``samples``.
    metric : callable
        Takes scores in the order in which they were drawn, gives a number, NaN where there is none.
        Such resamples are left out, where omk sorts them anywhere; without any other the bounds are
        NaN.
    alpha, samples, seed
        As for :func:`bootstrap_mean_ci`.
    """
    _check_options(alpha, samples)
    values = _finite(scores, "scores")
    if not len(values):
        return OmkInterval(low=0.0, high=0.0, estimate=0.0, samples=0)

    def numbers(places: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        return np.array([float(metric(values[drawn].tolist())) for drawn in places])

    return _interval(numbers, (len(values),), alpha, samples, seed)


def ci_level_label(alpha: float) -> str:
    """``alpha`` 0.05 as "95%", 1/60 as "98.3%"."""
    percent = fixed_number((1 - number(alpha, "alpha")) * 100, 1)
    return f"{percent:g}%"


def _interval(
    statistic: _Statistic, sizes: tuple[int, ...], alpha: float, samples: int, seed: int
) -> OmkInterval:
    drawn = mulberry32_indices(sizes, samples, seed)
    numbers = np.concatenate([statistic(places) for places in drawn])
    numbers = np.sort(numbers[~np.isnan(numbers)])
    estimate = float(statistic(np.arange(sum(sizes))[np.newaxis])[0])
    low, high = (_quantile(numbers, share) for share in (alpha / 2, 1 - alpha / 2))
    return OmkInterval(
        low=round_half_up(low, _DECIMALS),
        high=round_half_up(high, _DECIMALS),
        estimate=round_half_up(estimate, _DECIMALS),
        samples=samples,
    )


def _quantile(numbers: npt.NDArray[np.float64], share: float) -> float:
    """Between the two neighbours of ``share`` times the last place, each by its nearness."""
    if not len(numbers):
        return math.nan
    place = share * (len(numbers) - 1)
    below, above = math.floor(place), math.ceil(place)
    low, high = float(numbers[below]), float(numbers[above])
    return low if below == above else low * (1 - (place - below)) + high * (place - below)


def _significance(found: OmkInterval) -> OmkInterval:
    return OmkInterval(
        low=found.low,
        high=found.high,
        estimate=found.estimate,
        samples=found.samples,
        significant=found.low > 0 or found.high < 0,
    )


def _mean_of(values: npt.NDArray[np.float64]) -> _Statistic:
    def means(places: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        # Running sums add one score after the other, as drawn; sum() adds in pairs.
        found: npt.NDArray[np.float64] = np.cumsum(values[places], axis=1)[:, -1] / len(values)
        return found

    return means


def _finite(scores: Sequence[float], name: str) -> npt.NDArray[np.float64]:
    return np.array([number(score, f"{name} {place}") for place, score in enumerate(scores)])


def _check_options(alpha: float, samples: int) -> None:
    if not 0 < number(alpha, "alpha") < 1:
        raise InputError(f"alpha must be between 0 and 1, got {alpha}")
    whole_from_one(samples, "samples")
