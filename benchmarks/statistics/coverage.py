"""How often intervals of means hold the true mean: populations in, a page of shares out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from benchmarks.rendering import Bar
from benchmarks.statistics.page import Section
from benchmarks.statistics.populations import (
    BINARY,
    LONG_TAIL,
    LUMPS,
    NEAR_EDGE,
    POPULATIONS,
    RARE_LOSSES,
    SKEWED,
    SMALL,
    ZEROS,
    Floats,
    Population,
    cluster_numbers,
)
from benchmarks.statistics.processes import in_processes
from rag_eval.stats.bootstrap import bootstrap_intervals
from rag_eval.stats.intervals import Interval
from rag_eval.stats.mean_intervals import mean_interval
from rag_eval.stats.moment_intervals import MeanMethod

SIZES: Final = (20, 50, 200, 500, 1_000)
# Rows per cluster; the last has clusters of 1 to 39 rows.
DESIGNS: Final = {
    "8 × 25": [25] * 8,
    "10 × 10": [10] * 10,
    "20 × 10": [10] * 20,
    "20 × 50": [50] * 20,
    "50 × 4": [4] * 50,
    "50 × 20": [20] * 50,
    "20, of 1 to 39 rows": list(range(1, 40, 2)),
}
CLUSTERED: Final = (*BINARY[1:], LUMPS, NEAR_EDGE, SKEWED, SMALL, LONG_TAIL, ZEROS)
ICCS: Final = (0.1, 0.3)
LEVEL: Final = 0.95
# What is asked for of 50 rows and more, and of 20.
MOST: Final = 0.93
LESS: Final = 0.90
# Share of all samples whose interval misses the mean and does not say "too few".
MOST_UNMARKED: Final = 0.07
N_RESAMPLES: Final = 999
# Replicates that share one draw of resamples: a few dozen draws for all of them.
_AT_ONCE: Final = 100
# Beyond, bootstraps take half of the time of the page, and are close to one another and to t.
_MOST_BOOTSTRAP_ROWS: Final = 200


@dataclass(frozen=True, slots=True)
class Coverage:
    """What intervals of one method did over all replicates.

    ``share`` counts those with bounds, the ones for orientation too; ``width`` is their mean.
    ``unmarked`` is the share of all replicates whose bounds miss the mean without ``too_few``.
    """

    share: float
    width: float
    too_few: float
    unmarked: float
    n: int

    @classmethod
    def of(cls, found: Iterable[Interval], mean: float) -> Coverage:
        """Of the intervals of all replicates."""
        intervals = list(found)
        known = [
            (one.low, one.high, one.too_few)
            for one in intervals
            if one.low is not None and one.high is not None
        ]
        missed = [few for low, high, few in known if not low <= mean <= high]
        return cls(
            share=1 - len(missed) / len(known) if known else math.nan,
            width=sum(high - low for low, high, _ in known) / len(known) if known else math.nan,
            too_few=sum(one.too_few for one in intervals) / len(intervals),
            unmarked=missed.count(False) / len(intervals),
            n=len(known),
        )

    @property
    def error(self) -> float:
        """The Monte-Carlo standard error of the share."""
        return math.sqrt(self.share * (1 - self.share) / self.n) if self.n else math.nan

    @property
    def text(self) -> str:
        """Share and width."""
        return "–" if math.isnan(self.share) else f"{self.share:.3f} / {self.width:.3f}"


def independent_coverage(
    population: Population, n_rows: int, n_replicates: int, seed: int
) -> dict[str, Coverage]:
    """Coverage of all methods over independent rows."""
    rows = population.draw(np.random.default_rng([seed, n_rows]), n_replicates, n_rows)
    found = {
        "default": _of(rows, population, lambda row: mean_interval(row, level=LEVEL)),
        "t": _of(rows, population, lambda row: mean_interval(row, level=LEVEL, method="t")),
    }
    if n_rows <= _MOST_BOOTSTRAP_ROWS:
        found["percentile"] = _bootstrapped(rows, population, None, "percentile", seed)
        found["bca"] = _bootstrapped(rows, population, None, "bca", seed)
    return found


def clustered_coverage(
    population: Population, sizes: Sequence[int], icc: float, n_replicates: int, seed: int
) -> dict[str, Coverage]:
    """Coverage of all methods over rows of clusters, and of the default that knows of none."""
    generator = np.random.default_rng([seed, len(sizes), sum(sizes)])
    rows = population.draw_clustered(generator, n_replicates, sizes, icc)
    groups = cluster_numbers(sizes)

    def clustered(method: MeanMethod | None) -> Callable[[Floats], Interval]:
        return lambda row: mean_interval(row, groups=groups, level=LEVEL, method=method)

    found = {
        "default": _of(rows, population, clustered(None)),
        "no groups": _of(rows, population, lambda row: mean_interval(row, level=LEVEL)),
        "t": _of(rows, population, clustered("t")),
    }
    if len(groups) <= _MOST_BOOTSTRAP_ROWS:
        found["percentile"] = _bootstrapped(rows, population, groups, "percentile", seed)
    return found


def _of(rows: Floats, population: Population, method: Callable[[Floats], Interval]) -> Coverage:
    return Coverage.of(map(method, rows), population.mean)


def _bootstrapped(
    rows: Floats,
    population: Population,
    groups: np.ndarray | None,
    method: str,
    seed: int,
) -> Coverage:
    found: list[Interval] = []
    for begin in range(0, len(rows), _AT_ONCE):
        found += bootstrap_intervals(
            rows[begin : begin + _AT_ONCE].T,
            groups=groups,
            method=method,  # type: ignore[arg-type]
            seed=seed + begin,
            n_resamples=N_RESAMPLES,
            level=LEVEL,
        )
    return Coverage.of(found, population.mean)


def bar_of(n_rows: int, n_others: float) -> float:
    """The least share that is asked for; 0 where too few rows are expected to differ."""
    if n_rows >= 50:
        return MOST
    return LESS if n_others >= 3 else 0.0


def section(n_replicates: int, seed: int) -> Section:
    """Both tables, and where a bar was missed."""
    independent, held = _independent_table(n_replicates, seed)
    clustered, held_clustered = _clustered_table(n_replicates, seed)
    text = _TEXT.format(
        n_replicates=n_replicates,
        n_resamples=N_RESAMPLES,
        independent=independent,
        clustered=clustered,
        missed=_missed_text(held),
        missed_clustered=_missed_text(held_clustered),
        unseen=_unseen_table(n_replicates, seed),
    )
    bars = [
        _bar("intervals of means, n ≥ 50", [one for one in held if one.bar == MOST]),
        _bar("the same, n = 20, 3 rows and more differ", [one for one in held if one.bar == LESS]),
        _bar("in clusters", held_clustered),
        _unmarked_bar([*held, *held_clustered]),
    ]
    return Section(text, bars)


@dataclass(frozen=True, slots=True)
class Held:
    """How a row of a table stands beside its bar, 0 where there is none."""

    where: str
    bar: float
    found: Coverage

    @property
    def missed(self) -> bool:
        """Whether it covers less than asked for."""
        return self.found.share < self.bar

    @property
    def text(self) -> str:
        """What, and how it covers."""
        few = f", “too few” in {self.found.too_few:.0%}" if self.found.too_few >= 0.005 else ""
        return f"{self.found.share:.3f} ({self.where}{few})"


def _bar(what: str, rows: Sequence[Held]) -> Bar:
    worst = min(rows, key=lambda one: one.found.share)
    return Bar(what, f"cover ≥ {worst.bar:.2f}", worst.text, not worst.missed)


def _unmarked_bar(rows: Sequence[Held]) -> Bar:
    worst = max(rows, key=lambda one: one.found.unmarked)
    share = worst.found.unmarked
    return Bar(
        "samples whose interval misses the mean without “too few”",
        f"≤ {MOST_UNMARKED}",
        f"{share:.3f} ({worst.where})",
        share <= MOST_UNMARKED,
    )


def _independent_table(n_replicates: int, seed: int) -> tuple[str, list[Held]]:
    lines, held = [_HEAD], []
    asked = [(one, n_rows, n_replicates, seed) for one in POPULATIONS for n_rows in SIZES]
    for (population, n_rows, *_), found in zip(
        asked, in_processes(independent_coverage, asked), strict=True
    ):
        n_others = n_rows * (1 - population.share_modal)
        cells = [population.name, f"{n_rows:,}", f"{n_others:.1f}", *_cells(found)]
        cells += [] if "bca" in found else ["–", "–"]
        lines.append("| " + " | ".join(cells) + " |")
        where = f"{population.name}, n = {n_rows:,}"
        held.append(Held(where, bar_of(n_rows, n_others), found["default"]))
    return "\n".join(lines), held


def _clustered_table(n_replicates: int, seed: int) -> tuple[str, list[Held]]:
    lines, held = [_CLUSTERED_HEAD], []
    named = [(one, design, icc) for one in CLUSTERED for design in DESIGNS for icc in ICCS]
    asked = [(one, DESIGNS[design], icc, n_replicates, seed) for one, design, icc in named]
    for (population, design, icc), found in zip(
        named, in_processes(clustered_coverage, asked), strict=True
    ):
        sizes = DESIGNS[design]
        cells = [population.name, design, f"{icc:g}", *_cells(found)]
        n_others = _independent_rows(sizes, icc) * (1 - population.share_modal)
        cells += [] if "percentile" in found else ["–"]
        cells.insert(3, f"{n_others:.1f}")
        lines.append("| " + " | ".join(cells) + " |")
        where = f"{population.name}, {design}, ICC {icc:g}"
        held.append(Held(where, bar_of(sum(sizes), n_others), found["default"]))
    return "\n".join(lines), held


def _unseen_table(n_replicates: int, seed: int) -> str:
    lines = [_UNSEEN_HEAD]
    for n_rows in SIZES:
        rows = RARE_LOSSES.draw(np.random.default_rng([seed, n_rows]), n_replicates, n_rows)
        found = _of(rows, RARE_LOSSES, mean_interval)
        seen = rows.min(axis=1) == 0
        others = (1 - _of(rows[seen], RARE_LOSSES, mean_interval).share) * seen.mean()
        cells = [1 - seen.mean(), found.share, found.unmarked, others]
        lines.append(f"| {n_rows:,} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |")
    return "\n".join(lines)


def _independent_rows(sizes: Sequence[int], icc: float) -> float:
    """As many independent rows would give the mean the same variance."""
    n_rows = sum(sizes)
    return n_rows / (1 + icc * (sum(size * size for size in sizes) / n_rows - 1))


def _cells(found: dict[str, Coverage]) -> list[str]:
    default = found["default"]
    covers = f"**{default.share:.3f}** ± {default.error:.3f}"
    others = [one.text for name, one in found.items() if name != "default"]
    unmarked = [f"{default.too_few:.2f}", f"{default.unmarked:.3f}"]
    return [covers, f"{default.width:.3f}", *unmarked, *others]


def _missed_text(held: Sequence[Held]) -> str:
    missed = [one.text for one in held if one.missed]
    if not missed:
        return "Every threshold is met."
    return "Below 0.93 (missed):\n\n" + "\n".join(f"- {line}" for line in missed)


_COLUMNS: Final = "default covers (± MC error) | width | “too few” | unmarked miss"
_HEAD: Final = (
    f"| population | n | rows expected to differ | {_COLUMNS} | t | percentile | BCa |\n"
    "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
)
_CLUSTERED_HEAD: Final = (
    f"| population | clusters | ICC | expected to differ | {_COLUMNS} | default without groups | "
    "t, CR2 | percentile |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
)
_UNSEEN_HEAD: Final = (
    "| n | samples without a row at 0 | default covers | unmarked miss | others that miss |\n"
    "|--:|--:|--:|--:|--:|"
)
_TEXT: Final = """## Intervals of means

Intervals of 95 %, {n_replicates:,} replicates each. The default is `wilson` for binary
scores and `bounded` for all others. Cells of the other methods are coverage / mean width.
Bootstraps (up to 200 rows) use {n_resamples:,} resamples; some hundred replicates share the same
draws. Coverage is over all replicates in which a method gives bounds. For the default this includes
the “too few” replicates with their wide bounds; the column “too few” is their share. `t` and the
bootstraps give no bounds for constant columns, which makes their coverage look better. “Rows
expected to differ” are rows without the most frequent score.

“Unmarked miss” is the share of all samples whose interval misses the mean without “too few”. This
is the share of misleading intervals, because reports show “too few” in place of such bounds. The
coverage among the samples without “too few” alone is no property of an interval: where few rows
differ, these are the samples with most of them, whose mean is therefore too far from the edge.

Thresholds: coverage of 0.93 for at least 50 rows, and of 0.90 for 20 rows if at least 3 are
expected to differ; at most 0.07 of the samples with an unmarked miss.

{independent}

{missed}

### Rows in clusters

The ICC is that of the scores. The default uses the larger of the cluster-robust variance (CR2) and
the variance of independent rows. Its degrees of freedom are those of Bell and McCaffrey, limited by
the number of clusters with a row that differs from the most frequent score. “Expected to differ”
counts rows without the most frequent score, divided by the design effect. Clusters get the
correction for unseen rows that single rows get, with a third of its weight. A sample has “too few”
rows if fewer than 5 clusters have a row that differs, or if its effective number of such rows is
below 10 and the clusters are as skewed as verdicts of which fewer than 3 are of a kind. “8 × 25”
means 8 clusters of 25 rows each.

{clustered}

{missed_clustered}

### Rows that no sample shows

3 % of the rows score 0, all others about 0.9. A sample without one of the former looks like a
sample of a system that has none, so neither its bounds nor “too few” can depend on them: an
interval that is narrow for such a system misses the mean in all of these samples (Bahadur and
Savage 1956). This table has no threshold.

{unseen}
"""
