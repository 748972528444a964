"""Categories by two raters: reference and found in, a table of counts and its rates out."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from rag_eval.errors import InputError
from rag_eval.stats.intervals import Interval, wilson_interval


@dataclass(frozen=True, slots=True)
class ConfusionTable:
    """How often each category of the reference was given which; made by :func:`confusion_table`.

    Attributes
    ----------
    labels : tuple of str
    counts : tuple of tuple of int
        A row per category of the reference, a column per category found.
    positive : str or None
        The category that rates of two categories are about; None for other than two.
    n_left_out : int
        Rows where either is missing.
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
        """Share of rows where both are the same; None without rows."""
        return _rate(sum(row[place] for place, row in enumerate(self.counts)), self.n, level)

    def precision(self, level: float = 0.95) -> Interval | None:
        """Of the rows found positive the share that is; None where there is none."""
        if self.positive is None:
            return None
        place = self.labels.index(self.positive)
        return _rate(self.counts[place][place], sum(row[place] for row in self.counts), level)

    def recall(self, level: float = 0.95) -> Interval | None:
        """Of the positive rows the share found so; None where there is none."""
        if self.positive is None:
            return None
        place = self.labels.index(self.positive)
        return _rate(self.counts[place][place], sum(self.counts[place]), level)

    def specificity(self, level: float = 0.95) -> Interval | None:
        """Of the other rows the share found so; None where there is none."""
        if self.positive is None:
            return None
        other = 1 - self.labels.index(self.positive)
        return _rate(self.counts[other][other], sum(self.counts[other]), level)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, rates with Wilson's interval."""
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
    """Count which category was given to the rows of each category.

    Parameters
    ----------
    reference, found : sequence
        The category of each row, by whom it is taken to be true and by whom it was found; rows
        where either is None or NaN are left out and counted.
    labels : sequence, optional
        All categories in the order of the table; by default those that come, sorted as texts.
    positive : optional
        Of two categories the one that precision, recall and specificity are about; the last of
        the labels by default.

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
