"""Populations of scores: a shape and sizes in, simulated rows with known means out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

Floats: TypeAlias = npt.NDArray[np.float64]

# A population is so many equally likely scores: its mean is theirs, without any error.
_CELLS: Final = 1 << 14


@dataclass(frozen=True, slots=True)
class Population:
    """Scores in [0, 1]: lumps at the two ends and a Beta distribution between them.

    Attributes
    ----------
    name : str
    at_zero, at_one : float
        Shares of rows that score exactly 0 and exactly 1.
    shape : (float, float)
        Of the Beta distribution of all other rows.
    """

    name: str
    at_zero: float
    at_one: float
    shape: tuple[float, float] = (1.0, 1.0)

    @property
    def values(self) -> Floats:
        """All scores in rising order, each as likely as any other, shape (16384,)."""
        return _values(self)

    @property
    def mean(self) -> float:
        """The true mean."""
        return float(self.values.mean())

    @property
    def std_dev(self) -> float:
        """The true standard deviation."""
        return float(self.values.std())

    @property
    def share_modal(self) -> float:
        """Share of rows with the most frequent score."""
        return float(np.unique(self.values, return_counts=True)[1].max()) / _CELLS

    def at(self, latent: Floats) -> Floats:
        """The scores of standard normal numbers: higher ones have higher scores."""
        places = (special.ndtr(latent) * _CELLS).astype(np.int64)
        found: Floats = self.values[np.minimum(places, _CELLS - 1)]
        return found

    def draw(self, generator: np.random.Generator, n_replicates: int, n_rows: int) -> Floats:
        """Independent rows, shape (n_replicates, n_rows)."""
        found: Floats = self.values[generator.integers(_CELLS, size=(n_replicates, n_rows))]
        return found

    def draw_clustered(
        self,
        generator: np.random.Generator,
        n_replicates: int,
        sizes: Sequence[int],
        icc: float,
    ) -> Floats:
        """Rows of clusters laid end to end, shape (n_replicates, sum of sizes).

        ``icc`` is the correlation of the scores of two rows of one cluster.
        """
        return self.at(
            clustered_normals(generator, n_replicates, sizes, latent_correlation(self, icc))
        )


@cache
def _values(population: Population) -> Floats:
    places = (np.arange(_CELLS) + 0.5) / _CELLS
    inner = 1 - population.at_zero - population.at_one
    values = (places >= 1 - population.at_one).astype(float)
    between = (places >= population.at_zero) & (values == 0)
    values[between] = special.betaincinv(
        *population.shape, (places[between] - population.at_zero) / max(inner, 1e-300)
    )
    values.flags.writeable = False
    return values


@cache
def latent_correlation(population: Population, icc: float) -> float:
    """How close normal numbers of one cluster must be for their scores to have this ICC."""
    nodes = special.ndtri((np.arange(400) + 0.5) / 400)

    def found(correlation: float) -> float:
        own = np.sqrt(1 - correlation) * nodes
        means = population.at(np.sqrt(correlation) * nodes[:, np.newaxis] + own).mean(axis=1)
        return float(means.var()) / population.std_dev**2

    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if found(middle) < icc else (low, middle)
    return (low + high) / 2


def cluster_numbers(sizes: Sequence[int]) -> npt.NDArray[np.int64]:
    """The cluster of each row, from 0 on."""
    return np.repeat(np.arange(len(sizes)), sizes)


def clustered_normals(
    generator: np.random.Generator,
    n_replicates: int,
    sizes: Sequence[int],
    correlation: float,
    n_columns: int | None = None,
) -> Floats:
    """Standard normal numbers that correlate within clusters, (n_replicates, rows[, columns])."""
    last = () if n_columns is None else (n_columns,)
    shared = generator.standard_normal((n_replicates, len(sizes), *last))
    own = generator.standard_normal((n_replicates, sum(sizes), *last))
    of_rows = np.sqrt(correlation) * shared[:, cluster_numbers(sizes)]
    found: Floats = of_rows + np.sqrt(1 - correlation) * own
    return found


BINARY: Final = (
    Population("binary, p = 0.5", 0.5, 0.5),
    Population("binary, p = 0.9", 0.1, 0.9),
    Population("binary, p = 0.97", 0.03, 0.97),
)
LUMPS: Final = Population("lumps at 0 (15 %) and 1 (35 %)", 0.15, 0.35, (2.0, 2.0))
NEAR_EDGE: Final = Population("near the edge: 90 % at 1", 0.0, 0.9, (2.0, 2.0))
# The rest is low: each such row moves the mean a lot, and few samples hold enough of them.
SKEWED: Final = Population("near the edge: 95 % at 1, rest low", 0.0, 0.95, (1.0, 4.0))
SMOOTH: Final = Population("smooth inside", 0.0, 0.0, (5.0, 3.0))
SMALL: Final = Population("smooth and small", 0.0, 0.0, (0.5, 6.0))
BOUNDED: Final = (LUMPS, NEAR_EDGE, SKEWED, SMOOTH, SMALL)
# As answers of a dialogue whose words a context seldom has: mean 0.12, skewness 3.
LONG_TAIL: Final = Population("long tail: 2 % at 1, rest small", 0.04, 0.02, (0.9, 7.5))
ZEROS: Final = Population("97 % at 0, 1 % at 1", 0.97, 0.01, (1.0, 4.0))
RARE: Final = Population("binary, p = 0.0027", 0.9973, 0.0027)
CLOSE: Final = Population("close to each other", 0.0, 0.0, (25.0, 25.0))
POPULATIONS: Final = (*BINARY, RARE, *BOUNDED, LONG_TAIL, ZEROS, CLOSE)
# A sample without one of the rows at 0 is one of a population that has none.
RARE_LOSSES: Final = Population("3 % at 0, rest near 0.9", 0.03, 0.0, (45.0, 5.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedPopulation:
    """Rows scored by two systems, with some metrics that rise and fall together.

    A share of rows is untouched: both systems have the same scores in all metrics. The others are
    drawn anew, so that they are worse as often as better; or, if ``skewed``, a few break down to 0
    and many get halfway to 1, so that the mean difference is 0 all the same.

    Attributes
    ----------
    scores : Population
        Of every metric, for the old system.
    tied : float
        Share of rows that are untouched.
    shift : float
        True mean of new minus old of every metric: by some touched rows that score 0 (or 1, if
        it is above 0) where they would have scored something else.
    n_metrics : int
    correlation : float
        Of the normal numbers behind the metrics of one row.
    skewed : bool
    """

    scores: Population
    tied: float = 0.5
    shift: float = 0.0
    n_metrics: int = 7
    correlation: float = 0.5
    skewed: bool = False

    def draw(
        self,
        generator: np.random.Generator,
        n_replicates: int,
        n_rows: int,
        *,
        sizes: Sequence[int] | None = None,
        icc: float = 0.0,
    ) -> tuple[Floats, Floats]:
        """Scores of the old and the new system, each (n_replicates, n_rows, n_metrics).

        With ``sizes`` rows come in clusters (``n_rows`` is their sum): ``icc`` of the normal
        numbers of each system is the cluster's own under that system, so that differences
        correlate within clusters too.
        """
        sizes = [1] * n_rows if sizes is None else sizes
        old = self.scores.at(self._latent(generator, n_replicates, sizes, icc))
        shape = (n_replicates, n_rows, 1)
        if self.skewed:
            new = self._skewed(generator, old)
        else:
            new = self.scores.at(self._latent(generator, n_replicates, sizes, icc))
        if self.shift:
            edge = float(self.shift > 0)
            share = self.shift / ((1 - self.tied) * (edge - self.scores.mean))
            if not 0 <= share <= 1:
                raise ValueError(f"no touched rows can move the mean by {self.shift}")
            new = np.where(generator.random(shape) < share, edge, new)
        return old, np.where(generator.random(shape) < self.tied, old, new)

    def _latent(
        self, generator: np.random.Generator, n_replicates: int, sizes: Sequence[int], icc: float
    ) -> Floats:
        rows = clustered_normals(generator, n_replicates, sizes, icc, 1)
        own = generator.standard_normal((*rows.shape[:2], self.n_metrics))
        found: Floats = np.sqrt(self.correlation) * rows + np.sqrt(1 - self.correlation) * own
        return found

    def _skewed(self, generator: np.random.Generator, old: Floats) -> Floats:
        mean = self.scores.mean
        # Broken rows lose `mean` each on average, lifted ones gain half of what is missing to 1.
        broken = (1 - mean) / 2 / (mean + (1 - mean) / 2)
        found: Floats = np.where(generator.random((*old.shape[:2], 1)) < broken, 0, (1 + old) / 2)
        return found
