"""Rows scored twice: their names and both scores in, the mean difference with its interval out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from rag_eval.judge.figures import interval_text, shown
from rag_eval.judge.repeats import mean_of, measured
from rag_eval.stats.bootstrap import group_bootstrap
from rag_eval.stats.correlations import Floats, Weights
from rag_eval.stats.intervals import Interval

FEW_PAIRS: Final = 20
"""Below so many pairs an interval is only a hint."""


class ScorePair(NamedTuple):
    """One row judged as usual, and with something changed."""

    row: str
    usual: float
    changed: float


@dataclass(frozen=True, slots=True)
class PairedScores:
    """Rows that were scored both ways.

    Attributes
    ----------
    pairs : tuple of ScorePair
    failed : tuple of str
        Rows that lack one of the scores.
    difference : Interval or None
        Mean of changed less usual; its bounds by resampling pairs, None for a single one. None
        without pairs.
    """

    pairs: tuple[ScorePair, ...]
    failed: tuple[str, ...]
    difference: Interval | None

    @property
    def mean_usual(self) -> float | None:
        """Mean score as usual; None without pairs."""
        return mean_of(pair.usual for pair in self.pairs)

    @property
    def mean_changed(self) -> float | None:
        """Mean score with the change; None without pairs."""
        return mean_of(pair.changed for pair in self.pairs)

    def to_dict(self, usual: str, changed: str) -> dict[str, Any]:
        """As JSON values, the two ways under these names."""
        return {
            "pairs": [
                {"row": pair.row, usual: pair.usual, changed: pair.changed} for pair in self.pairs
            ],
            "means": {usual: self.mean_usual, changed: self.mean_changed},
            "difference": None if self.difference is None else self.difference.to_dict(),
            "failed": list(self.failed),
        }

    def text(self, usual: str, changed: str) -> str:
        """The means, and their difference, in a line."""
        if self.difference is None:
            return f"no row was scored both {usual} and {changed}"
        few = "; few rows, take it as a hint" if len(self.pairs) < FEW_PAIRS else ""
        return (
            f"{len(self.pairs):,} rows scored both ways: {shown(self.mean_usual)} {usual}, "
            f"{shown(self.mean_changed)} {changed}, difference {self.difference.estimate:+.3f} "
            f"({interval_text(self.difference, 3)}){few}"
        )


def paired_scores(
    names: Sequence[str],
    usual: Sequence[float | None],
    changed: Sequence[float | None],
    *,
    seed: int = 0,
    n_resamples: int = 1000,
    level: float = 0.95,
) -> PairedScores:
    """Pair two scores of each row.

    Parameters
    ----------
    names : sequence of str
    usual, changed : sequence of float or None
        In the order of the names; None or NaN where a row was not scored.
    seed, n_resamples, level
        As for :func:`rag_eval.stats.group_bootstrap`, which resamples the pairs.
    """
    pairs, failed = [], []
    both = zip(map(measured, usual), map(measured, changed), strict=True)
    for name, (before, after) in zip(names, both, strict=True):
        if before is None or after is None:
            failed.append(name)
        else:
            pairs.append(ScorePair(name, before, after))
    if not pairs:
        return PairedScores((), tuple(failed), None)
    differences = np.array([pair.changed - pair.usual for pair in pairs])

    def means(weights: Weights) -> Floats:
        return np.asarray((weights @ differences / len(differences))[:, np.newaxis], np.float64)

    (difference,) = group_bootstrap(
        means, np.arange(len(pairs)), seed=seed, n_resamples=n_resamples, level=level
    )
    return PairedScores(tuple(pairs), tuple(failed), difference)
