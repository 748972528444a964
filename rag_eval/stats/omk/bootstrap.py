"""Percentile intervals as omk computes them: scores in, bounds of four decimals out.

The generator and its seed, the order of additions, the quantiles and the rounding are omk's own:
a bound halfway between two numbers of four decimals is rounded as it is there. For decisions use
the intervals of :mod:`rag_eval.stats.intervals`: those here are too narrow for few scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.plumbing.checked_values import number, whole_from_one
from rag_eval.plumbing.javascript_numbers import fixed_number, round_half_up
from rag_eval.plumbing.json_records import record_json
from rag_eval.stats.arrays import Floats, Whole
from rag_eval.stats.index_sources import cuts

_Statistic: TypeAlias = Callable[[Whole], Floats]
"""Takes drawn places, int64 (B, R); gives the number of each resample, (B,)."""

OMK_SEED: Final = 20_260_616
_DECIMALS: Final = 4
_U32: Final = 2**32


@dataclass(frozen=True, slots=True, kw_only=True)
class OmkInterval:
    """Bounds around an estimate.

    Attributes
    ----------
    low, high, estimate : float
        Rounded half up to four decimals.
    samples : int
        Number of resamples; 0 if none were needed.
    significant : bool or None
        For a difference, whether 0 is outside the rounded bounds; None for other numbers.
    """

    low: float
    high: float
    estimate: float
    samples: int
    significant: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; a number that does not exist is null."""
        left_out = ("significant",) if self.significant is None else ()
        return record_json(self, without=left_out)


_NO_DIFFERENCE: Final = OmkInterval(low=0.0, high=0.0, estimate=0.0, samples=0, significant=False)


def bootstrap_mean_ci(
    scores: Sequence[float], *, alpha: float = 0.05, samples: int = 1000, seed: int = OMK_SEED
) -> OmkInterval:
    """The mean of some scores.

    Parameters
    ----------
    scores : sequence of float
        No score gives zeros and a single score itself, both with 0 ``samples``.
    alpha : float
        One minus the confidence level, between 0 and 1.
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
    """The mean of one sample minus that of another, unpaired; zeros if one is empty.

    Parameters and errors are those of :func:`bootstrap_mean_ci`.
    """
    _check_options(alpha, samples)
    old, new = _finite(control, "control"), _finite(treatment, "treatment")
    if not len(old) or not len(new):
        return _NO_DIFFERENCE
    of_old, of_new = _mean_of(old), _mean_of(new)

    def difference(places: Whole) -> Floats:
        return of_new(places[:, len(old) :] - len(old)) - of_old(places[:, : len(old)])

    return _significance(_interval(difference, (len(old), len(new)), alpha, samples, seed))


def bootstrap_paired_diff_ci(
    pairs: Sequence[tuple[float, float]] | Sequence[Sequence[float]],
    *,
    alpha: float = 0.05,
    samples: int = 1000,
    seed: int = OMK_SEED,
) -> OmkInterval:
    """The mean difference of pairs (control, treatment): treatment minus control.

    Zeros without a pair. The bounds of a single pair have no width and count as significant unless
    they are 0. Parameters and errors are those of :func:`bootstrap_mean_ci`.
    """
    _check_options(alpha, samples)
    if not len(pairs):
        return _NO_DIFFERENCE
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
    """A statistic of some scores.

    Parameters
    ----------
    scores : sequence of float
        Without scores, zeros with 0 ``samples``.
    metric : callable
        Takes scores in the order in which they were drawn and returns a number, NaN if undefined.
        Such resamples are left out, while omk sorts them arbitrarily; if there are no others, the
        bounds are NaN.
    alpha, samples, seed
        As for :func:`bootstrap_mean_ci`.
    """
    _check_options(alpha, samples)
    values = _finite(scores, "scores")
    if not len(values):
        return OmkInterval(low=0.0, high=0.0, estimate=0.0, samples=0)

    def numbers(places: Whole) -> Floats:
        return np.array([float(metric(values[drawn].tolist())) for drawn in places])

    return _interval(numbers, (len(values),), alpha, samples, seed)


def ci_level_label(alpha: float) -> str:
    """``alpha`` 0.05 as "95%", 1/60 as "98.3%"."""
    percent = fixed_number((1 - number(alpha, "alpha")) * 100, 1)
    return f"{percent:g}%"


def mulberry32_indices(sizes: Sequence[int], n_resamples: int, seed: int) -> Iterator[Whole]:
    """Random places by the generator mulberry32, as in omk.

    Parameters
    ----------
    sizes : sequence of int
        For each part of the rows, each resample draws as many places as the part has: (n,) for one
        sample, (n, m) for two unpaired ones.
    n_resamples : int
    seed : int
        The seed; its lowest 32 bits are used.

    Yields
    ------
    int64, shape (B, sum of sizes)
        Places among the rows of all parts, one part after the other.
    """
    n_rows = sum(sizes)
    limits = np.repeat(np.asarray(sizes, np.float64), sizes)
    first = np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)
    for begin, end in cuts(n_rows, n_resamples):
        words = mulberry32(seed, (end - begin) * n_rows, begin * n_rows).reshape(-1, n_rows)
        # In doubles, as there.
        yield np.floor(words / _U32 * limits).astype(np.int64) + first


def mulberry32(seed: int, n_words: int, first: int = 0) -> npt.NDArray[np.uint32]:
    """Words ``first``, ``first + 1``, ... of the generator mulberry32, by Tommy Ettinger (2017).

    Its state is a counter, so any word can be computed without those before it.
    """
    counters = np.arange(first + 1, first + n_words + 1, dtype=np.uint64)
    state = ((counters * np.uint64(0x6D2B79F5)) + np.uint64(seed % _U32)).astype(np.uint32)
    word = (state ^ (state >> np.uint32(15))) * (state | np.uint32(1))
    word ^= word + (word ^ (word >> np.uint32(7))) * (word | np.uint32(61))
    found: npt.NDArray[np.uint32] = word ^ (word >> np.uint32(14))
    return found


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


def _quantile(numbers: Floats, share: float) -> float:
    """Between the two neighbours of ``share`` times the last place, each by its nearness."""
    if not len(numbers):
        return math.nan
    place = share * (len(numbers) - 1)
    below, above = math.floor(place), math.ceil(place)
    low, high = float(numbers[below]), float(numbers[above])
    return low if below == above else low * (1 - (place - below)) + high * (place - below)


def _significance(found: OmkInterval) -> OmkInterval:
    return replace(found, significant=found.low > 0 or found.high < 0)


def _mean_of(values: Floats) -> _Statistic:
    def means(places: Whole) -> Floats:
        # Running sums add one score after the other, as drawn; sum() adds in pairs.
        found: Floats = np.cumsum(values[places], axis=1)[:, -1] / len(values)
        return found

    return means


def _finite(scores: Sequence[float], name: str) -> Floats:
    return np.array([number(score, f"{name} {place}") for place, score in enumerate(scores)])


def _check_options(alpha: float, samples: int) -> None:
    if not 0 < number(alpha, "alpha") < 1:
        raise InputError(f"alpha must be between 0 and 1, got {alpha}")
    whole_from_one(samples, "samples")
