"""Rows held out from tuning: how many rows and what share in, which rows and their means out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rag_eval.errors import InputError
from rag_eval.plumbing.checked_values import share, whole_from_zero
from rag_eval.plumbing.json_records import JsonRecord

FEWEST_ROWS: Final = 3
"""Fewest rows on either side of a split."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldoutSplit(JsonRecord):
    """Rows for tuning and rows held out, by an even stride over the order of the rows.

    This assumes that the order has nothing to do with the scores, or that similar rows are
    adjacent, so that the stride takes some of each kind. Rows that repeat with the length of the
    stride end up on one side.

    Attributes
    ----------
    holdout, train : tuple of int
        Row numbers from 0, in increasing order.
    """

    holdout: tuple[int, ...]
    train: tuple[int, ...]


def holdout_split(n_rows: int, ratio: float) -> HoldoutSplit | None:
    """Hold out a share of the rows; the same rows every time.

    Parameters
    ----------
    n_rows : int
    ratio : float
        From 0 to 1; ``n_rows * ratio``, rounded half up, rows are held out.

    Returns
    -------
    HoldoutSplit or None
        None if one side would have fewer than 3 rows.

    References
    ----------
    omk 0.54, ``--holdout-ratio``.
    """
    whole_from_zero(n_rows, "n_rows")
    n_held = math.floor(n_rows * share(ratio, "ratio") + 0.5)
    if min(n_held, n_rows - n_held) < FEWEST_ROWS:
        return None
    # In floating point, as there: a few pairs of numbers hold out other rows than whole ones would.
    stride = n_rows / n_held
    held = tuple(math.floor(place * stride) for place in range(n_held))
    chosen = set(held)
    return HoldoutSplit(
        holdout=held, train=tuple(row for row in range(n_rows) if row not in chosen)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldoutMeans(JsonRecord):
    """Means of one system on both sides of a split.

    A system that was tuned on some rows looks better on them, which shows as a difference of the
    means. With few rows this difference has a large error.

    Attributes
    ----------
    train_mean, holdout_mean : float or None
        Mean of the rows with a score; None without any.
    n_train, n_holdout : int
        Rows of either side.
    n_train_scored, n_holdout_scored : int
        Those of them with a score.
    """

    train_mean: float | None
    holdout_mean: float | None
    n_train: int
    n_holdout: int
    n_train_scored: int
    n_holdout_scored: int


def holdout_breakdown(
    scores: Mapping[str, Sequence[float | None]], ratio: float
) -> dict[str, HoldoutMeans] | None:
    """Means of each system on the rows for tuning and on those held out.

    Parameters
    ----------
    scores : mapping of str to sequence of float or None
        The scores of each system, one per row; None or NaN for a row without a score.
    ratio : float
        As for :func:`holdout_split`.

    Returns
    -------
    dict of HoldoutMeans, or None
        None if the rows cannot be split.

    Raises
    ------
    InputError
        For systems with different numbers of rows.
    """
    lengths = {name: len(column) for name, column in scores.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"every system must have the same number of scores, got {lengths}")
    split = holdout_split(next(iter(lengths.values()), 0), ratio)
    if split is None:
        return None
    return {name: _means(column, split) for name, column in scores.items()}


def _means(column: Sequence[float | None], split: HoldoutSplit) -> HoldoutMeans:
    train, holdout = (_known(column, rows) for rows in (split.train, split.holdout))
    return HoldoutMeans(
        train_mean=math.fsum(train) / len(train) if train else None,
        holdout_mean=math.fsum(holdout) / len(holdout) if holdout else None,
        n_train=len(split.train),
        n_holdout=len(split.holdout),
        n_train_scored=len(train),
        n_holdout_scored=len(holdout),
    )


def _known(column: Sequence[float | None], rows: Sequence[int]) -> list[float]:
    found = (column[row] for row in rows)
    return [score for score in found if score is not None and not math.isnan(score)]
