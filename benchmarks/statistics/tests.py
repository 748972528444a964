"""The section of paired tests: how often they cry wolf, find a drop, and their intervals cover."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.statistics.differences import coverage_tables
from benchmarks.statistics.families import (
    ALPHA,
    N_METRICS,
    N_RESAMPLES,
    ROWS,
    families,
    with_slices,
)
from benchmarks.statistics.page import Figures, Section, joined, lost, table, two_errors
from benchmarks.statistics.paired_draws import (
    Draws,
    hidden_text,
    lumps,
    rare_gains,
    rare_losses,
)
from benchmarks.statistics.power import family_power_table, power_table
from benchmarks.statistics.processes import seeded

# Of the metrics, pass/fail where a scenario says so.
N_VERDICTS: Final = 3


class Alarms(NamedTuple):
    """A row of the table of false alarms."""

    draws: Draws
    margin: float = 0.0
    verdicts: bool = False
    blind: bool = False
    """Whether clusters are there and the test is not told."""
    n_slices: int = 0
    """Each metric is tested over all rows and in so many slices."""


def section(n_replicates: int, seed: int) -> Section:
    """False alarms, power and coverage."""
    parts = [
        _alarm_table(n_replicates, [seed, 3]),
        power_table(n_replicates, [seed, 4]),
        family_power_table(n_replicates, [seed, 5]),
        coverage_tables(n_replicates, [seed, 6]),
    ]
    return joined([Section("## Paired tests"), *parts])


# ------------------------------------------------------------------------------- false alarms

_EXCHANGEABLE: Final = [
    Alarms(Draws(name=f"exchangeable, {tied:.0%} of rows tie", population=lumps(tied)), margin)
    for tied, margin in ((0.0, 0.0), (0.5, 0.0), (0.9, 0.0), (0.5, 0.01))
]
_VERDICTS: Final = [
    Alarms(
        Draws(name=f"exchangeable, {tied:.0%} tie, 3 of 7 pass/fail", population=lumps(tied)),
        verdicts=True,
    )
    for tied in (0.5, 0.9)
]
_AT_MARGIN: Final = [
    Alarms(Draws(name=f"true mean -0.01, {tied:.0%} tie", population=lumps(tied, -0.01)), 0.01)
    for tied in (0.0, 0.5, 0.9)
]
_SKEWED: Final = [
    *(
        Alarms(
            Draws(
                name=f"mean 0: some break down, most rise; {tied:.0%} tie",
                population=lumps(tied, skewed=True),
            )
        )
        for tied in (0.0, 0.5, 0.9)
    ),
    Alarms(Draws(name="mean 0: 20 % gain 0.05, 4 % lose 0.25", population=rare_losses())),
    Alarms(Draws(name="mean 0: 20 % lose 0.05, 4 % gain 0.25", population=rare_gains())),
]
_CLUSTERED: Final = [
    *(
        Alarms(
            Draws(
                name=f"{n_clusters} clusters, ICC 0.3, {sizes} sizes, {tied:.0%} tie",
                population=lumps(tied),
                n_clusters=n_clusters,
                growing=sizes == "growing",
            )
        )
        for n_clusters in (10, 30)
        for sizes, tied in (("equal", 0.0), ("equal", 0.9), ("growing", 0.5))
    ),
    Alarms(
        Draws(name="10 clusters, ICC 0.3, the test not told", population=lumps(0.5), n_clusters=10),
        blind=True,
    ),
]
_SLICED: Final = [
    Alarms(
        Draws(name=f"exchangeable, {tied:.0%} tie, in 4 slices, 35 tests", population=lumps(tied)),
        n_slices=4,
    )
    for tied in (0.0, 0.5, 0.9)
]
ALARMS: Final = (*_EXCHANGEABLE, *_SLICED, *_VERDICTS, *_AT_MARGIN, *_SKEWED, *_CLUSTERED)


_WHY: Final = (
    "If many rows lose a little and a few gain a lot, a sample without these few rows looks like "
    "a regression to every test. Two runs of the same system cannot differ in this way. No test at "
    "5 % can allow for changes that more than 5 % of samples do not show, so these cells have no "
    "threshold: {hidden}. The last row shows why clusters have to be named."
)


def alarm_share(alarms: Alarms, n: int, n_replicates: int, seeds: Sequence[int]) -> float:
    """How often the default rule finds any metric worse."""
    return float(np.mean(family_rejects(alarms, n, n_replicates, np.random.default_rng(seeds))))


def _alarm_table(n_replicates: int, seeds: Sequence[int]) -> Section:
    rows: list[list[str]] = []
    hidden: list[str] = []
    asked = [(a, n, n_replicates) for a in ALARMS for n in ROWS if a.draws.fits(n)]
    shares = seeded(alarm_share, asked, seeds)
    slack = two_errors(ALPHA, n_replicates)
    even = Figures("false alarms of `no-regression`, exchangeable or clustered", ALPHA, slack)
    skewed = Figures("the same, skewed differences of mean 0", ALPHA, slack)
    for alarms in ALARMS:
        cells = [alarms.draws.name, f"{alarms.margin:g}"]
        for n in ROWS:
            if not alarms.draws.fits(n):
                cells.append("–")
                continue
            share = next(shares)
            cells.append(f"{share:.3f}")
            if alarms.draws.hidden(n) > ALPHA:
                hidden.append(hidden_text(share, alarms.draws, n))
            elif not alarms.blind:
                figures = skewed if alarms in _SKEWED else even
                figures.add(share, f"{alarms.draws.name}, {n:,} rows")
        rows.append(cells)
    head = ["differences of new less old", "margin", *(f"{n:,} rows" for n in ROWS)]
    text = "\n".join(
        [
            "### False alarms of the default gate rule",
            "",
            f"Share of {n_replicates:,} replicates in which one-sided sign-flip tests (exact "
            f"McNemar tests for verdicts), adjusted by step-down max-T, find any of {N_METRICS} "
            f"metrics to be worse at {ALPHA:g}, although no mean is below -margin. The latent "
            "normal variables of the metrics correlate by 0.5. Unless stated otherwise, scores "
            "have lumps at 0 (15 %) and 1 (35 %). The tests are those of the package, with "
            f"{N_RESAMPLES:,} sign patterns (all patterns if there are fewer); some hundred "
            "replicates share one draw. "
            f"Threshold: {ALPHA:g} plus two Monte-Carlo errors, {ALPHA + slack:.3f}.",
            "",
            table(head, rows),
            "",
            lost(even, skewed),
            "",
            _WHY.format(hidden="; ".join(hidden)),
        ]
    )
    return Section(text, [even.bar, skewed.bar])


def family_rejects(
    alarms: Alarms, n: int, n_replicates: int, generator: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """Whether each replicate of the default rule finds any metric worse, shape (n_replicates,)."""
    clusters = None if alarms.blind else alarms.draws.clusters(n)
    rejects: list[float] = []
    for block, differences in enumerate(alarms.draws.blocks(generator, n_replicates, n)):
        n_verdicts = N_VERDICTS if alarms.verdicts else 0
        differences = with_slices(differences, alarms.n_slices)
        for family, _ in families(differences, clusters, alarms.margin, n_verdicts, seed=block):
            rejects.append(min(family))
    return np.array(rejects) <= ALPHA
