"""Categories by two raters: reference and found in, a table of counts and its rates out."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from rag_eval.errors import InputError
from rag_eval.stats.intervals import Interval, wilson_interval


@dataclass(frozen=True, slots=True)
class ConfusionTable:
    """Counts of found categories by reference category; made by :func:`confusion_table`.

    Attributes
    ----------
    labels : tuple of str
    counts : tuple of tuple of int
        One row per category of the reference, one column per category found.
    positive : str or None
        With two categories, the one that rates refer to; else None.
    n_left_out : int
        Number of rows in which either is missing.
    """

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    positive: str | None = None
    n_left_out: int = 0

    @property
    def n(self) -> int:
        """Rows in the table."""
        return sum(map(sum, self.counts))

    def accuracy(self, level: float = 0.95) -> Interval | None:
        """Share of rows in which both are the same; None without rows."""
        return _rate(sum(row[place] for place, row in enumerate(self.counts)), self.n, level)

    def precision(self, level: float = 0.95) -> Interval | None:
        """Share of positive rows among those found positive; None if there are none."""
        if self.positive is None:
            return None
        place = self.labels.index(self.positive)
        return _rate(self.counts[place][place], sum(row[place] for row in self.counts), level)

    def recall(self, level: float = 0.95) -> Interval | None:
        """Share of the positive rows that were found; None if there are none."""
        if self.positive is None:
            return None
        place = self.labels.index(self.positive)
        return _rate(self.counts[place][place], sum(self.counts[place]), level)

    def specificity(self, level: float = 0.95) -> Interval | None:
        """Share of the negative rows found negative; None if there are none."""
        if self.positive is None:
            return None
        other = 1 - self.labels.index(self.positive)
        return _rate(self.counts[other][other], sum(self.counts[other]), level)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; rates have Wilson's interval."""
        rates: dict[str, Interval | None] = {"accuracy": self.accuracy()}
        if self.positive is not None:
            rates |= {
                "precision": self.precision(),
                "recall": self.recall(),
                "specificity": self.specificity(),
            }
        return {
            "labels": list(self.labels),
            "counts": [list(row) for row in self.counts],
            "positive": self.positive,
            "nLeftOut": self.n_left_out,
            **{name: None if rate is None else rate.to_dict() for name, rate in rates.items()},
        }


def confusion_table(
    reference: Sequence[Hashable],
    found: Sequence[Hashable],
    *,
    labels: Sequence[Hashable] | None = None,
    positive: Hashable = None,
) -> ConfusionTable:
    """Count how rows of each reference category were categorised.

    Parameters
    ----------
    reference, found : sequence
        The category of each row in the reference and as found; rows in which either is None or NaN
        are left out and counted.
    labels : sequence, optional
        All categories in the order of the table; by default those that occur, sorted as texts.
    positive : optional
        With two categories, the positive one for precision, recall and specificity; the last of the
        labels by default.

    Raises
    ------
    InputError
        For columns of different length, and for a category that is not among the labels.
    """
    if len(reference) != len(found):
        raise InputError(
            f"reference and found must have an entry for each row, got {len(reference)} and "
            f"{len(found)}"
        )
    pairs = [
        (left, right)
        for left, right in zip(reference, found, strict=True)
        if not (left is None or right is None or left != left or right != right)
    ]
    seen = {value for pair in pairs for value in pair}
    known = sorted(seen, key=str) if labels is None else list(labels)
    if unknown := sorted(map(str, seen.difference(known))):
        raise InputError(f"the category {unknown[0]!r} is not in labels")
    if positive is not None and positive not in known:
        raise InputError(f"the positive category {str(positive)!r} is not among the labels")
    places = {value: place for place, value in enumerate(known)}
    counts = [[0] * len(known) for _ in known]
    for left, right in pairs:
        counts[places[left]][places[right]] += 1
    chosen = known[-1] if positive is None and known else positive
    return ConfusionTable(
        labels=tuple(map(str, known)),
        counts=tuple(map(tuple, counts)),
        positive=str(chosen) if len(known) == 2 else None,
        n_left_out=len(reference) - len(pairs),
    )


def _rate(n_found: int, n: int, level: float) -> Interval | None:
    return wilson_interval(n_found, n, level) if n else None
