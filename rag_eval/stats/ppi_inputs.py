"""Scores, and labels drawn from their rows: what callers have in, a checked sample out."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.stats.arrays import Floats, Whole

# Numbers of rows that probabilities stand for scatter; so many standard deviations they do not.
_MOST_DEVIATIONS: Final = 6.0


@dataclass(frozen=True, slots=True)
class LabelSample:
    """Scores of N rows, and labels of n of them.

    Attributes
    ----------
    scores : float64, shape (N,)
        Without NaN.
    labels : float64, shape (n,)
    rows : int64, shape (n,)
        Of the labels.
    weights : float64, shape (n,)
        How much a label stands for; their sum is 1.
    missed : float64, shape (n,)
        How probably each labelled row was not to be drawn.
    strata : int64, shape (n,)
        Numbers from 0 on; all 0 without strata.
    bounds : (float, float) or None
        Least and greatest possible label.
    n_null_scores : int
    """

    scores: Floats = field(repr=False)
    labels: Floats = field(repr=False)
    rows: Whole = field(repr=False)
    weights: Floats = field(repr=False)
    missed: Floats = field(repr=False)
    strata: Whole = field(repr=False)
    bounds: tuple[float, float] | None
    n_null_scores: int

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return len(self.labels)

    @property
    def n_free(self) -> int:
        """Labels of rows that could have been missed."""
        return int(np.count_nonzero(self.missed))

    @property
    def n_strata(self) -> int:
        """Strata with rows that could have been missed, at least 1."""
        return max(1, int(np.count_nonzero(np.bincount(self.strata[self.missed > 0]))))

    @property
    def leverage(self) -> Floats:
        """Share of each label in the mean of its stratum."""
        return self.weights / np.bincount(self.strata, self.weights)[self.strata]

    def stratum_means(self, values: Floats) -> Floats:
        """For each label, the weighted mean of its stratum."""
        sums = np.bincount(self.strata, self.weights * values)
        return np.asarray((sums / np.bincount(self.strata, self.weights))[self.strata])

    @property
    def label_variance(self) -> float:
        """Of the labels of all rows, as the sample has it."""
        n = len(self.labels)
        if n < 2:
            return 0.0
        deviations = self.labels - self.weights @ self.labels
        return float(self.weights @ deviations**2) * n / (n - 1)


def label_sample(
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    labelled_rows: npt.ArrayLike,
    probabilities: npt.ArrayLike | None,
    strata: npt.ArrayLike | None,
    bounds: tuple[float, float] | None,
) -> LabelSample:
    """Check the arguments; an InputError names the argument and what it must be."""
    given = _numbers(scores, "scores", allow_nan=True)
    filled, n_null = _without_nan(given)
    values = _numbers(labels, "labels")
    rows = _rows(labelled_rows, len(values), len(given))
    numbers = _stratum_numbers(strata, len(values))
    found = _probabilities(probabilities, rows, numbers, strata is not None, len(given))
    weights = 1 / found
    return LabelSample(
        filled,
        values,
        rows,
        weights / weights.sum(),
        np.where(found < 1 - 1e-9, 1 - found, 0.0),
        numbers,
        _bounds(bounds, values),
        n_null,
    )


def _numbers(values: npt.ArrayLike, name: str, *, allow_nan: bool = False) -> Floats:
    try:
        found = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers, got {values!r:.80}") from None
    if found.ndim != 1 or not len(found):
        raise InputError(f"{name} must be a column of numbers, got shape {found.shape}")
    wrong = np.isinf(found) if allow_nan else ~np.isfinite(found)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise InputError(f"{name}[{place}] must be finite, got {found[place]}")
    return found


def _without_nan(scores: Floats) -> tuple[Floats, int]:
    null = np.isnan(scores)
    n_null = int(np.count_nonzero(null))
    if n_null == len(scores):
        raise InputError("all scores are null")
    if n_null:
        scores = np.where(null, scores[~null].mean(), scores)
    return scores, n_null


def _rows(labelled_rows: npt.ArrayLike, n_labels: int, n_rows: int) -> Whole:
    found = np.asarray(labelled_rows)
    if found.shape != (n_labels,) or not np.issubdtype(found.dtype, np.integer):
        raise InputError(
            f"labelled_rows must be {n_labels} integers, one for each label, got {found.dtype} "
            f"of shape {found.shape}"
        )
    rows = found.astype(np.int64)
    outside = (rows < 0) | (rows >= n_rows)
    if outside.any():
        raise InputError(
            f"labelled_rows must be from 0 to {n_rows - 1}, got {rows[int(np.argmax(outside))]}"
        )
    counts = np.bincount(rows, minlength=n_rows)
    if counts.max() > 1:
        raise InputError(f"row {int(np.argmax(counts))} is labelled twice")
    return rows


def _stratum_numbers(strata: npt.ArrayLike | None, n_labels: int) -> Whole:
    if strata is None:
        return np.zeros(n_labels, np.int64)
    numbers = np.unique(np.asarray(strata), return_inverse=True)[1]
    if numbers.shape != (n_labels,):
        raise InputError(
            f"strata must have one value for each of {n_labels} labels, got shape {numbers.shape}"
        )
    return np.asarray(numbers, np.int64)


def _probabilities(
    given: npt.ArrayLike | None, rows: Whole, strata: Whole, has_strata: bool, n_rows: int
) -> Floats:
    if given is None:
        if has_strata:
            raise InputError("strata need probabilities: the share of rows drawn from each stratum")
        return np.full(len(rows), len(rows) / n_rows)
    found = _numbers(given, "probabilities")
    if len(found) == n_rows:
        found = found[rows]
    elif len(found) != len(rows):
        raise InputError(
            f"probabilities must have one value for each of {len(rows)} labels or of {n_rows} "
            f"rows, got {len(found)}"
        )
    wrong = ~((found > 0) & (found <= 1))
    if wrong.any():
        raise InputError(
            f"probabilities must be above 0 and at most 1, got {found[int(np.argmax(wrong))]}"
        )
    _check_total(found, n_rows)
    for number in np.flatnonzero(np.bincount(strata) == 1) if has_strata else ():
        if found[strata == number][0] < 1 - 1e-9:
            raise InputError(
                "each stratum needs at least two labels, or one if it has only one row"
            )
    return found


def _check_total(probabilities: Floats, n_rows: int) -> None:
    """Raise an error if the probabilities do not add up to the number of rows."""
    total = float((1 / probabilities).sum())
    deviation = math.sqrt(float(((1 - probabilities) / probabilities**2).sum()))
    if abs(total - n_rows) > _MOST_DEVIATIONS * deviation + 1e-6 * n_rows:
        raise InputError(
            f"the probabilities imply {total:,.0f} rows, but there are {n_rows:,}: check whether "
            "the labels were drawn from other rows or are incomplete"
        )


def _bounds(given: tuple[float, float] | None, labels: Floats) -> tuple[float, float] | None:
    least, greatest = float(labels.min()), float(labels.max())
    if given is None:
        return (0.0, 1.0) if least >= 0 and greatest <= 1 else None
    low, high = (float(bound) for bound in given)
    if not low < high:
        raise InputError(f"bounds must be two increasing numbers, got {given!r:.80}")
    if least < low or greatest > high:
        raise InputError(f"labels from {least:g} to {greatest:g} are outside the bounds {given}")
    return low, high
