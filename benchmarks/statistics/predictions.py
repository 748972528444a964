"""Prediction-powered means: simulated rows and labels in, how often intervals cover out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from benchmarks.rendering import Bar
from benchmarks.statistics.labelled_predictions import labelled_section
from benchmarks.statistics.page import Figures, Section, joined, lost
from benchmarks.statistics.predicted_differences import difference_table
from rag_eval.stats.arrays import Floats, Whole
from rag_eval.stats.intervals import Interval
from rag_eval.stats.ppi import ppi_mean
from rag_eval.stats.ppi_results import PpiEstimate
from rag_eval.stats.sampling_designs import (
    RowDraw,
    assumed_spreads,
    proportional_draw,
    score_strata,
    stratified_draw,
    uniform_draw,
)

_CELLS: Final = 1 << 17
_SIZES: Final = (50, 100, 200)
_NOISE: Final = {"weak": 3.0, "fair": 1.0, "good": 0.35, "nearly right": 0.03}
_ROWS: Final = {"weak": (1_000,), "good": (1_000, 10_000)}
_BAR: Final = 0.93
# Of eighteen normal numbers the largest is below 3 in 95 of a hundred simulations.
_ERRORS: Final = 3


@dataclass(frozen=True)
class ScoredRows:
    """A population of so many equally likely rows, each with a label and a score.

    ``share`` is that of good rows; graded labels are 0, 1, and quarters between them.
    """

    kind: str
    share: float
    scores_are: str

    @cached_property
    def rows(self) -> tuple[Floats, Floats]:
        """Labels and scores, the same in every process."""
        generator = np.random.default_rng(7)
        truth, noise = generator.standard_normal((2, _CELLS))
        shift = special.ndtri(self.share)
        if self.kind == "binary":
            labels = (truth + shift > 0).astype(np.float64)
        else:
            labels = np.clip(np.round(4 * (0.5 + 0.5 * (truth + shift))) / 4, 0, 1)
        scale = _NOISE[self.scores_are]
        seen = (truth + scale * noise) / math.hypot(1, scale)
        if self.scores_are == "nearly right":
            return labels, (truth + scale * noise + shift > 0).astype(np.float64)
        # Lumps at both ends, as scores have them.
        return labels, np.clip(1.2 * special.ndtr(seen + shift / 2) - 0.1, 0, 1)

    @property
    def mean(self) -> float:
        """The true mean label."""
        return float(self.rows[0].mean())

    @property
    def correlation(self) -> float:
        """The true correlation of label and score."""
        return float(np.corrcoef(*self.rows)[0, 1])


class Draws(NamedTuple):
    """Estimates of one kind from many replicates, a row of each array for each."""

    estimates: Floats
    alone: Floats
    bounds: Floats  # (replicates, 2), NaN where there are none
    alone_bounds: Floats
    true: Floats
    few: npt.NDArray[np.bool_]  # flagged as too few to say

    @property
    def coverage(self) -> float:
        """Of the intervals that there are."""
        known = ~np.isnan(self.bounds[:, 0])
        low, high = self.bounds[known].T
        return float(np.mean((low <= self.true[known]) & (self.true[known] <= high)))

    @property
    def coverage_unflagged(self) -> float:
        """Of the intervals that are not flagged."""
        low, high = self.bounds[~self.few].T
        return float(np.mean((low <= self.true[~self.few]) & (self.true[~self.few] <= high)))

    @property
    def width(self) -> float:
        """Mean width."""
        return float(np.nanmean(self.bounds[:, 1] - self.bounds[:, 0]))

    @property
    def width_ratio(self) -> float:
        """Mean width by that of labels alone."""
        return self.width / float(np.nanmean(self.alone_bounds[:, 1] - self.alone_bounds[:, 0]))

    @property
    def deviation_ratio(self) -> float:
        """Standard deviation of the estimate by that of labels alone."""
        return float((self.estimates - self.true).std() / (self.alone - self.true).std())

    @property
    def bias(self) -> float:
        """Mean error of the estimate."""
        return float((self.estimates - self.true).mean())


_Sampler = Callable[[Floats, int], RowDraw]
_Estimator = Callable[..., PpiEstimate]


def uniform(n: int) -> _Sampler:
    """Labels of n rows, all alike."""
    return lambda scores, seed: uniform_draw(len(scores), n, seed=seed)


def proportional(n: int) -> _Sampler:
    """Labels of n rows, more often where scores are unsure."""
    return lambda scores, seed: proportional_draw(assumed_spreads(scores), n, seed=seed)


def stratified(n: int) -> _Sampler:
    """Labels of n rows in four strata of the score, by Neyman's allocation."""

    def sample(scores: Floats, seed: int) -> RowDraw:
        strata = score_strata(scores, 4)
        sums = np.bincount(strata, assumed_spreads(scores))
        return stratified_draw(strata, (sums / np.bincount(strata)).tolist(), n, seed=seed)

    return sample


def drawn(
    population: ScoredRows,
    n_rows: int,
    sample: _Sampler,
    n_replicates: int,
    seed: int,
    estimate: _Estimator = ppi_mean,
) -> tuple[Draws, Draws]:
    """What estimates of these rows, and of their population, come to."""
    generator = np.random.default_rng(seed)
    labels, scores = population.rows
    found: tuple[list[tuple[PpiEstimate, float]], ...] = ([], [])
    for replicate in range(n_replicates):
        cells = generator.integers(_CELLS, size=n_rows)
        row_scores, row_labels = scores[cells], labels[cells]
        draw = sample(row_scores, seed + replicate)
        for kept, target in zip(found, ("rows", "population"), strict=True):
            one = estimate(
                row_scores,
                row_labels[draw.rows],
                draw.rows,
                probabilities=draw.probabilities,
                strata=draw.strata,
                target=target,
            )
            true = float(row_labels.mean()) if target == "rows" else population.mean
            kept.append((one, true))
    return collected(found[0]), collected(found[1])


def collected(found: Sequence[tuple[PpiEstimate, float]]) -> Draws:
    """Estimates and true means as arrays."""

    def bounds(interval: Interval) -> tuple[float, float]:
        if interval.low is None or interval.high is None:
            return math.nan, math.nan
        return interval.low, interval.high

    return Draws(
        np.array([one.estimate for one, _ in found]),
        np.array([one.labels_alone.estimate for one, _ in found]),
        np.array([bounds(one.interval) for one, _ in found]),
        np.array([bounds(one.labels_alone) for one, _ in found]),
        np.array([true for _, true in found]),
        np.array([one.interval.too_few for one, _ in found]),
    )


# ----------------------------------------------------------------------------------- the tables


def section(n_replicates: int, seed: int) -> Section:
    """Coverage and width of prediction-powered means."""
    tables = (_by_size, _by_design, _by_cluster, _by_weight, _few, difference_table)
    parts = [table(n_replicates, seed + 10_000_000 * i) for i, table in enumerate(tables)]
    head, labelled = Section(_HEAD.format(n=n_replicates)), Section(labelled_section(seed))
    return joined([head, *parts, labelled])


_HEAD: Final = """## Prediction-powered means

A population of 131,072 rows has labels (binary, or graded 0, ¼, ½, ¾, 1) and scores with lumps at
0 and 1. Each of {n:,} replicates draws N independent rows, and n of these for labelling, without
replacement. Intervals have level 0.95; "rows" is the mean label of the N rows, "population" that of
all rows. Rows are independent unless clusters are named. The Monte-Carlo error of a share near 0.95
is ± 0.007.

"""


def _by_size(n_replicates: int, seed: int) -> Section:
    lines = [
        "### Uniform draws",
        "",
        "Width and spread (standard deviation of the estimate) are for the population, relative",
        "to those of labels alone. The theory is √(1 − ρ²(1 − n/N)). The spread should follow it",
        "up to Monte-Carlo error and the cost of estimating the weight, a relative 1/n.",
        "",
        "| labels | good | ρ | N | n | covers rows | covers population | mean width "
        "| width ratio | spread ratio | theory |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    covers = _covers("uniform draws")
    off, wide = 0.0, dict.fromkeys(_SIZES, 0.0)
    kinds = (("binary", 0.5), ("binary", 0.9), ("graded", 0.8))
    for (kind, share), scores_are in itertools.product(kinds, ("weak", "good")):
        population = ScoredRows(kind, share, scores_are)
        rho = population.correlation
        for n_rows, n in itertools.product(_ROWS[scores_are], _SIZES):
            rows, whole = drawn(population, n_rows, uniform(n), n_replicates, seed)
            theory = math.sqrt(1 - rho**2 * (1 - n / n_rows))
            for draws, target in ((rows, "rows"), (whole, "population")):
                covers.add(
                    draws.coverage, f"{kind}, {share} good, n = {n}, N = {n_rows:,}, {target}"
                )
            error = theory * math.sqrt((1 - theory**2) / n_replicates)
            off = max(off, (abs(whole.deviation_ratio - theory) - theory / n) / error)
            wide[n] = max(wide[n], abs(whole.width_ratio / theory - 1))
            lines.append(
                f"| {kind} | {population.mean:.2f} | {rho:.2f} | {n_rows:,} | {n} "
                f"| {rows.coverage:.3f} | {whole.coverage:.3f} | {whole.width:.3f} "
                f"| {whole.width_ratio:.3f} | {whole.deviation_ratio:.3f} | {theory:.3f} |"
            )
            seed += n_replicates
    distances = ", ".join(f"{one:.1%} at n = {n}" for n, one in wide.items())
    lines += [
        "",
        lost(covers),
        f"Beyond 1/n, a spread is at most {off:.1f} standard errors from the theory; a mean width "
        f"at most {distances}: Student's t of few labels is wider than what √n promises.",
    ]
    spreads = Bar(
        "spread of prediction-powered means by the theory",
        f"≤ {_ERRORS:g} Monte-Carlo errors beyond 1/n",
        f"{off:.1f} errors",
        off <= _ERRORS,
    )
    widths = Bar(
        "their mean width by the theory",
        "≤ 2/n apart",
        distances,
        all(one <= 2 / n for n, one in wide.items()),
    )
    return Section("\n".join(lines), [covers.bar, spreads, widths])


def _covers(what: str) -> Figures:
    return Figures(f"prediction-powered means, {what}", _BAR, least=True)


def _by_design(n_replicates: int, seed: int) -> Section:
    lines = [
        "### Designs",
        "",
        "N = 1,000, n = 100. Proportional: systematic in random order, by √(score · (1 − score)),",
        "at least a quarter. Strata: quartiles of the score, with Neyman allocation by the same.",
        "",
        "| labels | good | ρ | design | covers rows | covers population | width rows | bias rows |",
        "|---|---|---|---|---|---|---|---|",
    ]
    covers = _covers("designs")
    designs = {"uniform": uniform, "proportional": proportional, "strata": stratified}
    for kind, share, scores_are in (("binary", 0.7, "fair"), ("graded", 0.8, "good")):
        population = ScoredRows(kind, share, scores_are)
        for name, design in designs.items():
            rows, whole = drawn(population, 1_000, design(100), n_replicates, seed)
            covers.add(min(rows.coverage, whole.coverage), f"{kind}, {name}")
            lines.append(
                f"| {kind} | {population.mean:.2f} | {population.correlation:.2f} | {name} "
                f"| {rows.coverage:.3f} | {whole.coverage:.3f} | {rows.width:.3f} "
                f"| {rows.bias:+.4f} |"
            )
            seed += n_replicates
    return Section("\n".join([*lines, "", lost(covers)]), [covers.bar])


def _by_cluster(n_replicates: int, seed: int) -> Section:
    lines = [
        "### Clustered rows",
        "",
        "Binary labels, half of them good, N = 1,000 rows in G clusters of equal size, n = 100;",
        "the target is the population of clusters. ICC is that of the latent normal variable.",
        "",
        "| G | ICC | clusters named | covers | mean width |",
        "|---|---|---|---|---|",
    ]
    covers = _covers("clusters")
    for n_clusters, icc in itertools.product((20, 200), (0.1, 0.3)):
        numbers = np.arange(1_000) % n_clusters
        for named in (True, False):
            found = _clustered(n_replicates, seed, numbers, icc, named)
            if named:
                covers.add(found.coverage, f"{n_clusters} clusters, ICC {icc}")
            lines.append(
                f"| {n_clusters} | {icc} | {'yes' if named else 'no'} "
                f"| {found.coverage:.3f} | {found.width:.3f} |"
            )
        seed += n_replicates
    return Section("\n".join([*lines, "", lost(covers)]), [covers.bar])


def _clustered(n_replicates: int, seed: int, numbers: Whole, icc: float, named: bool) -> Draws:
    generator = np.random.default_rng(seed)
    found = []
    for replicate in range(n_replicates):
        shared = generator.standard_normal(int(numbers.max()) + 1)[numbers]
        own, noise = generator.standard_normal((2, len(numbers)))
        truth = math.sqrt(icc) * shared + math.sqrt(1 - icc) * own
        labels = (truth > 0).astype(np.float64)
        scores = special.ndtr((truth + noise) / math.sqrt(2))
        draw = uniform_draw(len(numbers), 100, seed=seed + replicate)
        one = ppi_mean(
            scores,
            labels[draw.rows],
            draw.rows,
            target="population",
            clusters=numbers if named else None,
        )
        found.append((one, 0.5))
    return collected(found)


def _by_weight(n_replicates: int, seed: int) -> Section:
    lines = [
        "### The weight of scores",
        "",
        "Binary labels, 0.9 of them good, fair scores, N = 1,000, n = 50.",
        "",
        "| weight | covers rows | covers population | width rows | bias rows |",
        "|---|---|---|---|---|",
    ]
    population = ScoredRows("binary", 0.9, "fair")
    ways: dict[str, _Estimator] = {
        "tuned": ppi_mean,
        "cross-fitted": partial(ppi_mean, cross_fit=True),
        "1": partial(ppi_mean, weight=1.0),
        "0": partial(ppi_mean, weight=0.0),
    }
    for name, way in ways.items():
        rows, whole = drawn(population, 1_000, uniform(50), n_replicates, seed, way)
        lines.append(
            f"| {name} | {rows.coverage:.3f} | {whole.coverage:.3f} | {rows.width:.3f} "
            f"| {rows.bias:+.4f} |"
        )
    return Section("\n".join(lines))


def _few(n_replicates: int, seed: int) -> Section:
    lines = [
        "### Few labels, rare labels, scores that are nearly right",
        "",
        "N = 1,000, target rows. Intervals are flagged as too few if fewer than three rows",
        "determine the spread of the corrected labels; coverage is over intervals with bounds. If",
        "labels are rare, samples without a flag have more of them than expected, so coverage over",
        "these alone is lower. In the last row scores are wrong on one row in a hundred.",
        "",
        "| labels | good | ρ | n | covers | covers, not flagged | mean width | flagged |",
        "|---|---|---|---|---|---|---|---|",
    ]
    cases = (
        ("binary", 0.5, 10, "good"),
        ("binary", 0.5, 20, "good"),
        ("binary", 0.9, 20, "good"),
        ("binary", 0.97, 50, "good"),
        ("binary", 0.99, 100, "good"),
        ("graded", 0.95, 20, "good"),
        ("graded", 0.99, 50, "good"),
        ("binary", 0.5, 100, "nearly right"),
    )
    for kind, share, n, scores_are in cases:
        population = ScoredRows(kind, share, scores_are)
        rows, _ = drawn(population, 1_000, uniform(n), n_replicates, seed)
        lines.append(
            f"| {kind} | {population.mean:.2f} | {population.correlation:.2f} | {n} "
            f"| {rows.coverage:.3f} | {rows.coverage_unflagged:.3f} | {rows.width:.3f} "
            f"| {rows.few.mean():.0%} |"
        )
        seed += n_replicates
    return Section("\n".join(lines))
