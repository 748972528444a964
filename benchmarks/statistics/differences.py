"""How often intervals and lower bounds of mean differences hold the true one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from benchmarks.statistics.families import ALPHA, ROWS
from benchmarks.statistics.page import Figures, Section, lost, mean_or_nan, table, two_errors
from benchmarks.statistics.paired_draws import (
    Draws,
    RareChanges,
    hidden_text,
    lumps,
    of_scores,
    rare_gains,
    rare_losses,
)
from benchmarks.statistics.populations import SMOOTH
from benchmarks.statistics.processes import seeded
from rag_eval.stats.differences import difference_interval, difference_lower_bound

_COVERED: Final = (
    *(
        Draws(
            name=f"lumps, {tied:.0%} tie, mean {shift:g}",
            population=lumps(tied, shift, n_metrics=1),
        )
        for tied, shift in ((0.0, 0.0), (0.5, 0.0), (0.5, -0.1), (0.9, 0.0), (0.9, -0.02))
    ),
    Draws(name="smooth scores, 90% tie, mean 0", population=of_scores(SMOOTH, 0.9)),
    Draws(
        name="verdicts, 10 % lost, 10 % gained",
        population=RareChanges(shares=(0.1, 0.1), changes=(-1, 1), n_metrics=1),
    ),
    Draws(
        name="verdicts, 6 % lost, 2 % gained",
        population=RareChanges(shares=(0.06, 0.02), changes=(-1, 1), n_metrics=1),
    ),
    Draws(
        name="some break down, most rise; 50% tie", population=lumps(0.5, n_metrics=1, skewed=True)
    ),
    Draws(name="20 % gain 0.05, 4 % lose 0.25", population=rare_losses(1)),
    Draws(name="20 % lose 0.05, 4 % gain 0.25", population=rare_gains(1)),
)
_COVERED_CLUSTERS: Final = tuple(
    Draws(
        name=f"{n_clusters} clusters, {sizes} sizes, {tied:.0%} tie, mean {shift:g}",
        population=lumps(tied, shift, n_metrics=1),
        n_clusters=n_clusters,
        growing=sizes == "growing",
    )
    for n_clusters in (5, 10, 30)
    for sizes, tied, shift in (("equal", 0.0, 0.0), ("equal", 0.9, -0.02), ("growing", 0.5, 0.0))
)


_WHY_BOUNDS: Final = (
    "A sample of 20 or 50 rows often contains none of the rare, large changes, so no bound made of "
    "it can account for them, and these cells have no threshold: {hidden}."
)


class Coverage(NamedTuple):
    """What the intervals of some replicates did."""

    covered: float
    """Of those with bounds."""
    above: float
    """Share whose one-sided lower bound at 0.05 is above the true mean."""
    width: float
    """Of those made from the spread of the rows."""
    by_share: float
    """Share with bounds from how many rows moved alone."""
    too_few: float


def coverage_tables(n_replicates: int, seeds: Sequence[int]) -> Section:
    rows: list[list[str]] = []
    hidden: list[str] = []
    kinds_of_draws = (*_COVERED, *_COVERED_CLUSTERS)
    asked = [(draws, n, n_replicates) for draws in kinds_of_draws for n in ROWS if draws.fits(n)]
    every = seeded(coverage, asked, seeds)
    slack, above = two_errors(0.93, n_replicates), two_errors(ALPHA, n_replicates)
    kinds = {
        n: (
            Figures(f"intervals of differences, {rows_are}", asked, slack, least=True),
            Figures(f"lower bound of differences too high, {rows_are}", ALPHA, above),
        )
        for n, rows_are, asked in ((50, "n ≥ 50", 0.93), (20, "n = 20", 0.90))
    }
    for draws in kinds_of_draws:
        cells = [draws.name]
        for n in ROWS:
            if not draws.fits(n):
                cells.append("–")
                continue
            found = next(every)
            cells.append(
                f"{found.covered:.3f} ({found.above:.3f}) "
                + ("–" if math.isnan(found.width) else f"{found.width:.3f}")
                + (f", {found.by_share:.0%} by count" if found.by_share >= 0.005 else "")
                + (f", {found.too_few:.0%} too few" if found.too_few >= 0.005 else "")
            )
            if draws.hidden(n) > ALPHA:
                hidden.append(
                    hidden_text(found.covered, draws, n) + f", lower bound {found.above:.3f}"
                )
                continue
            both, lower = kinds[min(n, 50)]
            both.add(found.covered, f"{draws.name}, {n:,} rows")
            lower.add(found.above, f"{draws.name}, {n:,} rows")
        rows.append(cells)
    head = ["differences", *(f"{n:,} rows" for n in ROWS)]
    text = "\n".join(
        [
            "### Intervals of the mean difference",
            "",
            f"`difference_interval` at 95 %, {n_replicates:,} replicates. Cells: coverage of the "
            "true mean; in parentheses the share of one-sided bounds at 0.05 that are above it (a "
            "wrong pass of the policy non-inferior); the mean width of intervals from the spread "
            "of the rows; the share of intervals from the number of moved rows; and the share "
            "with too few rows. ICC of clusters 0.3. Thresholds: 0.93 for at least 50 rows, 0.90 "
            "for 20; at most 0.05 of one-sided bounds too high; each with two Monte-Carlo errors.",
            "",
            table(head, rows),
            "",
            "Two-sided. " + lost(*(kinds[n][0] for n in kinds)),
            "",
            "One-sided. " + lost(*(kinds[n][1] for n in kinds)),
            "",
            _WHY_BOUNDS.format(hidden="; ".join(hidden)),
        ]
    )
    bars = [figures.bar for pair in zip(*kinds.values(), strict=True) for figures in pair]
    return Section(text, bars)


def coverage(draws: Draws, n: int, n_replicates: int, seeds: Sequence[int]) -> Coverage:
    """Intervals of so many replicates of n rows."""
    generator = np.random.default_rng(seeds)
    clusters = draws.clusters(n)
    covered, above, widths, methods = [], [], [], []
    for differences in draws.blocks(generator, n_replicates, n):
        for column in differences[:, :, 0]:
            interval = difference_interval(column, clusters=clusters)
            methods.append(interval.method)
            if interval.low is None or interval.high is None:
                continue
            covered.append(interval.low <= draws.mean <= interval.high)
            bound = difference_lower_bound(column, clusters=clusters)
            above.append(bound is not None and bound > draws.mean)
            if interval.method != "share_moved":
                widths.append(interval.high - interval.low)
    return Coverage(
        covered=mean_or_nan(covered),
        above=mean_or_nan(above),
        width=mean_or_nan(widths),
        by_share=methods.count("share_moved") / len(methods),
        too_few=methods.count(None) / len(methods),
    )
