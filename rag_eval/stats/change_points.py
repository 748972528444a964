"""Numbers in the order of time in; where their mean changed, as a test shows, out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.plumbing.json_records import JsonRecord
from rag_eval.stats.arrays import Floats
from rag_eval.stats.groups import without_rounding

FEWEST: Final = 3
"""Numbers on either side of a change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint(JsonRecord):
    """A change of the mean of a sequence.

    Attributes
    ----------
    place : int
        Index of the first number after the change.
    before, after : float
        Means of the numbers between this change and its neighbours.
    p_value : float
    """

    place: int
    before: float
    after: float
    p_value: float


def change_points(
    values: npt.ArrayLike, *, alpha: float = 0.05, n_resamples: int = 999, seed: int = 0
) -> list[ChangePoint]:
    """The places where the mean of a sequence changed.

    The sequence is cut where the means of both sides differ most, if at most ``alpha`` of all
    orders of its numbers have a cut that differs as much; then each part in the same way. If the
    order of the numbers is pure chance, anything is found with a probability of at most ``alpha``.

    Parameters
    ----------
    values : array_like, shape (T,)
        In the order of time, finite.
    alpha : float
    n_resamples, seed : int
        Number of orders drawn, and the random seed.

    Returns
    -------
    list of ChangePoint
        In the order of time; none for fewer than six numbers.

    Raises
    ------
    InputError
        For a number that is not finite.

    References
    ----------
    Vostrikova, Detecting disorder in multidimensional random processes (1981), for the cuts.
    Matteson and James, A nonparametric approach for multiple change point analysis (2014), for the
    test by permutations.
    """
    sequence = np.asarray(values, np.float64)
    if not np.isfinite(sequence).all():
        raise InputError("numbers of a sequence must be finite")
    generator = np.random.default_rng(seed)
    found: dict[int, float] = {}
    parts = [(0, len(sequence))]
    while parts:
        begin, end = parts.pop()
        if end - begin < 2 * FEWEST:
            continue
        place, p_value = _best_cut(sequence[begin:end], n_resamples, generator)
        if p_value <= alpha:
            found[begin + place] = p_value
            parts += [(begin + place, end), (begin, begin + place)]
    places = sorted(found)
    means = [float(part.mean()) for part in np.split(sequence, places)] if places else []
    return [
        ChangePoint(place=place, before=before, after=after, p_value=found[place])
        for place, before, after in zip(places, means, means[1:], strict=False)
    ]


def _best_cut(part: Floats, n_resamples: int, generator: np.random.Generator) -> tuple[int, float]:
    """The cut whose sides differ most, and the p value of that."""
    centred = without_rounding((part - part.mean())[:, np.newaxis])[:, 0]
    if not centred.any():
        return 0, 1.0
    observed = _differences(centred[np.newaxis])[0]
    place = int(observed.argmax())
    orders = generator.permuted(np.tile(centred, (n_resamples, 1)), axis=1)
    largest = _differences(orders).max(axis=1)
    # Sums of the same numbers in another order can differ in their last bits.
    extreme = int(np.count_nonzero(largest >= observed[place] * (1 - 1e-9)))
    return place + FEWEST, (1 + extreme) / (1 + n_resamples)


def _differences(sequences: Floats) -> Floats:
    """Of each cut with enough numbers on either side, how far the means are apart, weighed."""
    n = sequences.shape[1]
    left = np.arange(FEWEST, n - FEWEST + 1)
    sums = np.cumsum(sequences, axis=1)[:, left - 1]
    found: Floats = np.abs(sums) / np.sqrt(left * (n - left) / n)
    return found
