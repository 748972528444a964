"""Paired differences whose true mean is known: a kind and sizes in, simulated rows out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import special

from benchmarks.statistics.populations import (
    LUMPS,
    Floats,
    PairedPopulation,
    Population,
    cluster_numbers,
)

# Differences held at once, 32 MB.
_CELLS: Final = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True)
class RareChanges:
    """Rows that mostly tie, with a share of small changes and a smaller one of large changes.

    The normal numbers behind the metrics of a row correlate by 0.5.
    """

    shares: tuple[float, float]
    changes: tuple[float, float]
    n_metrics: int = 7

    @property
    def shift(self) -> float:
        """The true mean, without what rounding leaves of none."""
        return round(float(np.dot(self.shares, self.changes)), 12)

    def differences(self, generator: np.random.Generator, n_replicates: int, n: int) -> Floats:
        """Shape (n_replicates, n, n_metrics)."""
        shared = generator.standard_normal((n_replicates, n, 1))
        own = generator.standard_normal((n_replicates, n, self.n_metrics))
        places = special.ndtr(np.sqrt(0.5) * (shared + own))
        small, both = self.shares[0], sum(self.shares)
        found: Floats = np.select([places < small, places < both], self.changes, 0.0)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """A kind of differences, and how many.

    Attributes
    ----------
    name : str
    population : PairedPopulation or RareChanges
    n_clusters : int or None
    icc : float
    growing : bool
        Whether clusters are from 1 to 2 n / n_clusters - 1 rows, not all of about one size.
    """

    name: str
    population: PairedPopulation | RareChanges
    n_clusters: int | None = None
    icc: float = 0.3
    growing: bool = field(default=False)

    @property
    def mean(self) -> float:
        """The true mean difference of every metric."""
        return self.population.shift

    def fits(self, n: int) -> bool:
        """Whether there are two rows for each cluster."""
        return self.n_clusters is None or n >= 2 * self.n_clusters

    def hidden(self, n: int) -> float:
        """Share of samples without any of the rare, large changes that balance the small ones."""
        if not isinstance(self.population, RareChanges):
            return 0.0
        small, large = map(abs, self.population.changes)
        return (1 - self.population.shares[1]) ** n if large > small else 0.0

    def sizes(self, n: int) -> list[int] | None:
        """Rows of each cluster; None without clusters."""
        if self.n_clusters is None:
            return None
        n_clusters = self.n_clusters
        if not self.growing:
            return [len(part) for part in np.array_split(np.arange(n), n_clusters)]
        ends = np.round(n * (np.arange(1, n_clusters + 1) / n_clusters) ** 2).astype(int)
        ends = np.maximum(ends, np.arange(1, n_clusters + 1))
        return [int(size) for size in np.diff(ends, prepend=0)]

    def clusters(self, n: int) -> npt.NDArray[np.int64] | None:
        """The cluster of each row."""
        sizes = self.sizes(n)
        return None if sizes is None else cluster_numbers(sizes)

    def blocks(self, generator: np.random.Generator, n_replicates: int, n: int) -> Iterator[Floats]:
        """All replicates, some at a time: (some, n, n_metrics)."""
        at_once = max(1, _CELLS // (n * self.population.n_metrics))
        for begin in range(0, n_replicates, at_once):
            count = min(at_once, n_replicates - begin)
            if isinstance(self.population, RareChanges):
                yield self.population.differences(generator, count, n)
                continue
            sizes = self.sizes(n)
            old, new = self.population.draw(
                generator, count, n, sizes=sizes, icc=0.0 if sizes is None else self.icc
            )
            yield new - old


def hidden_text(share: float, draws: Draws, n: int) -> str:
    """A share that no threshold can be asked of, and why."""
    return (
        f"{draws.name}, {n:,} rows: {share:.3f} ({draws.hidden(n):.0%} of samples have none of the "
        "large changes)"
    )


def lumps(
    tied: float, shift: float = 0.0, *, n_metrics: int = 7, skewed: bool = False
) -> PairedPopulation:
    """Scores with lumps at 0 and 1, a share of them untouched."""
    return PairedPopulation(
        scores=LUMPS, tied=tied, shift=shift, n_metrics=n_metrics, skewed=skewed
    )


def of_scores(scores: Population, tied: float, n_metrics: int = 1) -> PairedPopulation:
    """Exchangeable runs over another shape of scores."""
    return PairedPopulation(scores=scores, tied=tied, n_metrics=n_metrics)


def rare_losses(n_metrics: int = 7) -> RareChanges:
    """Many small gains, a few large losses, mean 0."""
    return RareChanges(shares=(0.2, 0.04), changes=(0.05, -0.25), n_metrics=n_metrics)


def rare_gains(n_metrics: int = 7) -> RareChanges:
    """Many small losses, a few large gains, mean 0."""
    return RareChanges(shares=(0.2, 0.04), changes=(-0.05, 0.25), n_metrics=n_metrics)
