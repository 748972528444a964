"""Leaderboards: how often all intervals hold, and how often equal systems are told apart."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy import special

from benchmarks.statistics.page import Figures, Section, lost, two_errors
from benchmarks.statistics.populations import BINARY, LUMPS, NEAR_EDGE, SMOOTH, Floats, Population
from rag_eval.stats.all_pairs import all_pairs

SYSTEMS: Final = (3, 5, 10)
SIZES: Final = (50, 100, 500)
POPULATIONS: Final = (SMOOTH, LUMPS, BINARY[1], NEAR_EDGE)
COVERAGE: Final = 0.94
FALSE_SPLITS: Final = 0.05

_LEVEL: Final = 0.95
_N_RESAMPLES: Final = 999
# Of the scores of two systems in one row, before they become scores of the population.
_CORRELATION: Final = 0.6
# From the best system to the worst one, on the same scale.
_SPREAD: Final = 0.5
_NODES: Final = special.ndtri((np.arange(100_000) + 0.5) / 100_000)


def section(n_replicates: int, seed: int) -> Section:
    """The section of the page."""
    slack = two_errors(FALSE_SPLITS, n_replicates)
    held = Figures("all differences inside their intervals", COVERAGE, slack, least=True)
    split = Figures("equal systems told apart", FALSE_SPLITS, slack)
    lines = [
        "## Leaderboards",
        "",
        "k systems on n rows, scores of a row correlated between systems; `different`: the systems "
        f"are spread evenly. Share of {n_replicates:,} leaderboards in which every interval holds "
        "its true difference, and in which any two equal systems are told apart. Pairs that differ "
        "in too few rows have no interval.",
        "",
        "| population | k | n | all hold, equal | all hold, different | false splits |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for population in POPULATIONS:
        for k in SYSTEMS:
            for n in SIZES:
                generator = np.random.default_rng([seed, k, n, POPULATIONS.index(population)])
                equal, splits = _shares(population, np.zeros(k), n, n_replicates, generator)
                shifts = np.linspace(0, -_SPREAD, k)
                different, _ = _shares(population, shifts, n, n_replicates, generator)
                where = f"{population.name}, k = {k}, n = {n}"
                held.add(min(equal, different), where)
                split.add(splits, where)
                cells = f"{equal:.3f} | {different:.3f} | {splits:.3f}"
                lines.append(f"| {population.name} | {k} | {n} | {cells} |")
    return Section("\n".join([*lines, "", lost(held, split)]), [held.bar, split.bar])


def _shares(
    population: Population,
    shifts: Floats,
    n: int,
    n_replicates: int,
    generator: np.random.Generator,
) -> tuple[float, float]:
    """How often every interval holds, and how often any two systems are told apart."""
    means = np.array([population.at(_NODES + shift).mean() for shift in shifts])
    true = means[:, np.newaxis] - means
    n_held = n_split = 0
    for replicate in range(n_replicates):
        shared = np.sqrt(_CORRELATION) * generator.standard_normal((n, 1))
        own = np.sqrt(1 - _CORRELATION) * generator.standard_normal((n, len(shifts)))
        scores = population.at(shared + own + shifts)
        [found] = all_pairs([scores], level=_LEVEL, n_resamples=_N_RESAMPLES, seed=replicate)
        # A mean of the population is known to one part in its cells.
        inside = (found.low <= true + 1e-4) & (true - 1e-4 <= found.high)
        n_held += bool((inside | np.isnan(found.low)).all())
        n_split += bool(found.apart.any())
    return n_held / n_replicates, n_split / n_replicates
