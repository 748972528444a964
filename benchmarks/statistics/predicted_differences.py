"""Differences of two systems from scores and few labels: how often their intervals cover."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from benchmarks.statistics.page import Figures, Section, lost
from rag_eval.stats.ppi import ppi_difference
from rag_eval.stats.sampling_designs import uniform_draw

_N_ROWS = 1_000
_SIZES = (50, 100, 200)


def difference_table(n_replicates: int, seed: int) -> Section:
    """Coverage and width for two systems of binary labels on the same rows."""
    lines = [
        "### Differences of two systems",
        "",
        "Both systems answer the same 1,000 rows, and people label both answers of n rows as",
        "good or bad. In the population 0.70 and 0.65 of the answers are good; labels of a row",
        "correlate by r.",
        "",
        "| r | n | covers rows | covers population | mean width | of labels alone | flagged |",
        "|---|---|---|---|---|---|---|",
    ]
    covers = Figures("prediction-powered differences", 0.93, least=True)
    for shared in (0.3, 0.8):
        for n in _SIZES:
            covered, widths, alone, n_few = _figures(n_replicates, seed, shared, n)
            covers.add(min(covered), f"r = {shared}, n = {n}")
            lines.append(
                f"| {shared} | {n} | {covered[0]:.3f} | {covered[1]:.3f} | {widths:.3f} "
                f"| {alone:.3f} | {n_few / n_replicates:.0%} |"
            )
            seed += n_replicates
    return Section("\n".join([*lines, "", lost(covers)]), [covers.bar])


def _figures(
    n_replicates: int, seed: int, shared: float, n: int
) -> tuple[tuple[float, float], float, float, int]:
    generator = np.random.default_rng(seed)
    cuts = special.ndtri([0.30, 0.35])[:, np.newaxis]
    covered, widths, alone, n_few = [0, 0], [], [], 0
    for replicate in range(n_replicates):
        hardness = generator.standard_normal(_N_ROWS)
        own, noise = generator.standard_normal((2, 2, _N_ROWS))
        truths = math.sqrt(shared) * hardness + math.sqrt(1 - shared) * own
        labels = (truths > cuts).astype(np.float64)
        scores = special.ndtr((truths + 0.7 * noise) / math.hypot(1, 0.7))
        rows = uniform_draw(_N_ROWS, n, seed=seed + replicate).rows
        true = (float((labels[0] - labels[1]).mean()), 0.05)
        for place, target in enumerate(("rows", "population")):
            found = ppi_difference(*scores, *labels[:, rows], rows, target=target)
            low, high = found.interval.low, found.interval.high
            assert low is not None
            assert high is not None
            covered[place] += low <= true[place] <= high
        widths.append(high - low)
        assert found.labels_alone.low is not None
        assert found.labels_alone.high is not None
        alone.append(found.labels_alone.high - found.labels_alone.low)
        n_few += found.interval.too_few
    shares = (covered[0] / n_replicates, covered[1] / n_replicates)
    return shares, float(np.mean(widths)), float(np.mean(alone)), n_few
