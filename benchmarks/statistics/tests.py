"""How often the paired tests cry wolf, find a drop, and their intervals cover."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.stats

from benchmarks.statistics.page import Figures, Section, joined, lost, two_errors
from benchmarks.statistics.paired_draws import (
    Draws,
    RareChanges,
    lumps,
    of_scores,
    rare_gains,
    rare_losses,
)
from benchmarks.statistics.populations import SMOOTH, Floats
from benchmarks.statistics.processes import in_processes
from rag_eval.stats.differences import difference_interval, difference_lower_bound
from rag_eval.stats.index_sources import Resampling
from rag_eval.stats.max_t import max_t
from rag_eval.stats.multiplicity import holm
from rag_eval.stats.paired import mcnemar_test, sign_flip_tests, sign_flips
from rag_eval.stats.sign_patterns import SignPatterns

_Found = TypeVar("_Found")

ROWS: Final = (20, 50, 200, 1000)
ALPHA: Final = 0.05
# The family of the default gate.
N_METRICS: Final = 7
# Of them, pass/fail where a scenario says so.
N_VERDICTS: Final = 3
N_RESAMPLES: Final = 999


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
        _power_table(n_replicates, [seed, 4]),
        _family_power_table(n_replicates, [seed, 5]),
        _coverage_tables(n_replicates, [seed, 6]),
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
    "a regression to every test. Two runs of the same system cannot differ in this way. The last "
    "row shows why clusters have to be named."
)


def _in_processes(
    work: Callable[..., _Found], cells: Sequence[tuple[Any, ...]], seeds: Sequence[int]
) -> Iterator[_Found]:
    """What each cell gives, with a generator of its own."""
    return iter(in_processes(work, [(*cell, [*seeds, at]) for at, cell in enumerate(cells)]))


def _fits(draws: Draws, n: int) -> bool:
    """Whether there are two rows for each cluster."""
    return draws.n_clusters is None or n >= 2 * draws.n_clusters


def alarm_share(alarms: Alarms, n: int, n_replicates: int, seeds: Sequence[int]) -> float:
    """How often the default rule finds any metric worse."""
    return float(np.mean(family_rejects(alarms, n, n_replicates, np.random.default_rng(seeds))))


def _alarm_table(n_replicates: int, seeds: Sequence[int]) -> Section:
    rows: list[list[str]] = []
    asked = [(a, n, n_replicates) for a in ALARMS for n in ROWS if _fits(a.draws, n)]
    shares = _in_processes(alarm_share, asked, seeds)
    slack = two_errors(ALPHA, n_replicates)
    even = Figures("false alarms of `no-regression`, exchangeable or clustered", ALPHA, slack)
    skewed = Figures("the same, skewed differences of mean 0", ALPHA, slack)
    for alarms in ALARMS:
        cells = [alarms.draws.name, f"{alarms.margin:g}"]
        for n in ROWS:
            if not _fits(alarms.draws, n):
                cells.append("–")
                continue
            share = next(shares)
            cells.append(f"{share:.3f}")
            if not alarms.blind:
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
            _table(head, rows),
            "",
            lost(even, skewed),
            "",
            _WHY,
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


def with_slices(differences: Floats, n_slices: int) -> Floats:
    """The metrics over all rows, then in each of some slices; NaN in rows of other slices."""
    slices = np.arange(differences.shape[1]) % max(1, n_slices)
    parts = [
        np.where((slices == place)[:, np.newaxis], differences, np.nan) for place in range(n_slices)
    ]
    return np.concatenate([differences, *parts], axis=2)


def families(
    differences: Floats,
    clusters: npt.NDArray[np.int64] | None,
    margin: float,
    n_verdicts: int,
    seed: int,
) -> Iterator[tuple[list[float], list[float]]]:
    """P values of each replicate's family, adjusted by max-T and by Holm's method.

    The last ``n_verdicts`` metrics are pass/fail: rows that moved by half the range or more.
    """
    _, n, n_metrics = differences.shape
    is_verdict = np.arange(n_metrics) >= n_metrics - n_verdicts
    changed = np.sign(differences) * (np.abs(differences) >= 0.5)
    columns = np.where(is_verdict, changed, differences)
    columns = columns.transpose(1, 0, 2).reshape(n, -1)
    n_groups = n if clusters is None else int(clusters.max()) + 1
    found = sign_flips(
        columns,
        clusters,
        SignPatterns.drawn(n_groups, N_RESAMPLES, seed),
        np.full(columns.shape[1], margin),
        Resampling(seed=seed, n_resamples=N_RESAMPLES),
        skew_guard=True,
    )
    p_values = np.array([result.p_worse for result in found.results]).reshape(-1, n_metrics)
    if n_verdicts:
        exact = _verdict_p_values(differences[:, :, is_verdict])
        p_values = np.concatenate([p_values[:, ~is_verdict], exact], axis=1)
    for place, alone in enumerate(p_values.tolist()):
        first = place * n_metrics
        statistics = -found.statistics[:, first : first + n_metrics].T
        yield max_t(list(statistics), alone), [p for p in holm(alone) if p is not None]


def worse_p_values(
    differences: Floats, clusters: npt.NDArray[np.int64] | None, margin: float, seed: int
) -> Floats:
    """One-sided p values of (replicates, rows, metrics) in one call: (replicates, metrics)."""
    n_replicates, n, n_metrics = differences.shape
    columns = differences.transpose(1, 0, 2).reshape(n, n_replicates * n_metrics)
    results = sign_flip_tests(
        columns,
        clusters=clusters,
        margins=[margin] * columns.shape[1],
        n_resamples=N_RESAMPLES,
        seed=seed,
        skew_guard=True,
    )
    return np.array([result.p_worse for result in results]).reshape(n_replicates, n_metrics)


def _verdict_p_values(differences: Floats) -> Floats:
    """McNemar's of rows that moved by half the range or more, as if that changed their verdict."""
    worse = np.count_nonzero(differences <= -0.5, axis=1)
    better = np.count_nonzero(differences >= 0.5, axis=1)
    tests = [
        mcnemar_test(int(lost), int(gained)).p_worse
        for lost, gained in zip(worse.ravel(), better.ravel(), strict=True)
    ]
    return np.array(tests).reshape(worse.shape)


# -------------------------------------------------------------------------------------- power


def power(
    tied: float, drop: float, n: int, n_replicates: int, seeds: Sequence[int]
) -> tuple[float, float]:
    """How often a drop is found alone, and as the one that Holm's method tests first."""
    draws = Draws(name="", population=lumps(tied, -drop, n_metrics=1))
    blocks = draws.blocks(np.random.default_rng(seeds), n_replicates, n)
    p_values = np.concatenate(
        [worse_p_values(found, None, 0.0, seed=block) for block, found in enumerate(blocks)]
    )
    return float(np.mean(p_values <= ALPHA)), float(np.mean(p_values <= ALPHA / N_METRICS))


def _power_table(n_replicates: int, seeds: Sequence[int]) -> Section:
    drops = [
        (tied, drop)
        for tied in (0.0, 0.5, 0.9)
        for drop in (0.01, 0.02, 0.05, 0.1)
        if drop <= (1 - tied) * 0.5
    ]
    asked = [(*drop, n, n_replicates) for drop in drops for n in ROWS]
    found = _in_processes(power, asked, seeds)
    rows = [
        [
            f"{tied:.0%}",
            f"{drop:g}",
            *(f"{alone:.2f} / {among:.2f}" for alone, among in islice(found, len(ROWS))),
        ]
        for tied, drop in drops
    ]
    head = ["rows that tie", "mean drop", *(f"{n:,} rows" for n in ROWS)]
    text = "\n".join(
        [
            "### Power",
            "",
            f"Share of {n_replicates:,} replicates in which a drop of the mean is detected, if it "
            f"is the only gating metric / if it is the only one of {N_METRICS} that drops. Scores "
            "are as above, but some of the rows without a tie score 0.",
            "",
            _table(head, rows),
        ]
    )
    return Section(text)


_POWER_ROWS: Final = (50, 100, 200, 1000)


def family_power(
    tied: float,
    drop: float,
    n: int,
    n_replicates: int,
    n_slices: int,
    seeds: Sequence[int],
) -> dict[str, float]:
    """How often the one of seven metrics that drops is found over all rows, by rule."""
    generator = np.random.default_rng(seeds)
    population = lumps(tied)
    share = drop / ((1 - tied) * population.scores.mean)
    counts = dict.fromkeys(("max-T", "Holm", "paired t, Holm"), 0)
    permuted: list[bool] = []
    for block in range(-(-n_replicates // _POWER_BLOCK)):
        old, new = population.draw(generator, _POWER_BLOCK, n)
        hit = (generator.random(new.shape[:2]) < share) & (new != old).any(axis=2)
        new[:, :, 0] = np.where(hit, 0.0, new[:, :, 0])
        differences = with_slices(new - old, n_slices)
        by_t = scipy.stats.ttest_1samp(
            differences, 0.0, axis=1, alternative="less", nan_policy="omit"
        ).pvalue
        if block < _PERMUTED_BLOCKS and n <= _MOST_PERMUTED_ROWS and not n_slices:
            permuted += (_permuted_first(one) <= ALPHA for one in _permuted(differences, block))
        for place, (by_max_t, by_holm) in enumerate(families(differences, None, 0.0, 0, block)):
            t_first = holm(np.nan_to_num(by_t[place], nan=1.0).tolist())[0]
            assert t_first is not None
            for rule, p in zip(counts, (by_max_t[0], by_holm[0], t_first), strict=True):
                counts[rule] += p <= ALPHA
    n_drawn = -(-n_replicates // _POWER_BLOCK) * _POWER_BLOCK
    found = {rule: count / n_drawn for rule, count in counts.items()}
    return found if n_slices else {**found, _PERMUTATION: _mean(permuted)}


_POWER_BLOCK: Final = 250
_PERMUTATION: Final = "scipy's permutation_test, Holm"
# It takes as long as all other rules together: a fourth of the replicates, and no long runs.
_PERMUTED_BLOCKS: Final = 4
_MOST_PERMUTED_ROWS: Final = 200


def _permuted(differences: Floats, seed: int) -> Floats:
    """P values of scipy's permutation test of paired means, shape (P, M)."""
    found = scipy.stats.permutation_test(
        (differences,),
        lambda rows, axis: rows.mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=N_RESAMPLES,
        batch=20,
        alternative="less",
        axis=1,
        rng=np.random.default_rng(seed),
    )
    return np.asarray(found.pvalue)


def _permuted_first(p_values: Floats) -> float:
    first = holm(p_values.tolist())[0]
    assert first is not None
    return first


def _family_power_table(n_replicates: int, seeds: Sequence[int]) -> Section:
    rows = []
    kinds = ((0, 0.0, 0.1), (0, 0.5, 0.05), (0, 0.9, 0.02), (4, 0.5, 0.05))
    asked = [
        (tied, drop, n, n_replicates, n_slices)
        for n_slices, tied, drop in kinds
        for n in _POWER_ROWS
    ]
    every = _in_processes(family_power, asked, seeds)
    for n_slices, tied, drop in kinds:
        found = list(islice(every, len(_POWER_ROWS)))
        n_tests = N_METRICS * (1 + n_slices)
        for rule in found[0]:
            cells = ["–" if math.isnan(each[rule]) else f"{each[rule]:.2f}" for each in found]
            rows.append([f"{n_tests}", f"{tied:.0%}", f"{drop:g}", rule, *cells])
    head = ["tests", "rows that tie", "mean drop", "rule", *(f"{n:,} rows" for n in _POWER_ROWS)]
    text = "\n".join(
        [
            "### Power of the family",
            "",
            f"One of {N_METRICS} metrics drops; share of {n_replicates:,} replicates in which it "
            "is found, with sign flips adjusted by max-T or by Holm's method, and with paired t "
            "tests and Holm's method; beside them scipy's own permutation test of paired means "
            f"({N_RESAMPLES:,} resamples, {_PERMUTED_BLOCKS * _POWER_BLOCK:,} replicates) and "
            "Holm's method. With 35 tests each metric is tested over all rows and in 4 slices, "
            "and counts as found if the test over all rows finds it. The metrics correlate by "
            "0.5, as above.",
            "",
            _table(head, rows),
        ]
    )
    return Section(text)


# ----------------------------------------------------------------------------------- coverage

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
    "A sample of 20 or 50 rows often contains none of the rare, large losses, so no bound computed "
    "from it can account for them. With few clusters and few rows that move, the sums of clusters "
    "are similarly skewed."
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


def _coverage_tables(n_replicates: int, seeds: Sequence[int]) -> Section:
    rows: list[list[str]] = []
    kinds_of_draws = (*_COVERED, *_COVERED_CLUSTERS)
    asked = [(draws, n, n_replicates) for draws in kinds_of_draws for n in ROWS if _fits(draws, n)]
    every = _in_processes(coverage, asked, seeds)
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
            if not _fits(draws, n):
                cells.append("–")
                continue
            found = next(every)
            cells.append(
                f"{found.covered:.3f} ({found.above:.3f}) "
                + ("–" if math.isnan(found.width) else f"{found.width:.3f}")
                + (f", {found.by_share:.0%} by count" if found.by_share >= 0.005 else "")
                + (f", {found.too_few:.0%} too few" if found.too_few >= 0.005 else "")
            )
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
            _table(head, rows),
            "",
            "Two-sided. " + lost(*(kinds[n][0] for n in kinds)),
            "",
            "One-sided. " + lost(*(kinds[n][1] for n in kinds)),
            "",
            _WHY_BOUNDS,
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
        covered=_mean(covered),
        above=_mean(above),
        width=_mean(widths),
        by_share=methods.count("share_moved") / len(methods),
        too_few=methods.count(None) / len(methods),
    )


# -------------------------------------------------------------------------------------- pages


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else math.nan


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
