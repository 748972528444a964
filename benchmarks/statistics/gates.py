"""False alarms of the whole default gate, its guards included, and of its gates one after another.

Unlike the other sections, this one calls the gate itself on runs that come from one system.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from benchmarks.statistics.page import Figures, Section, joined, lost, two_errors
from benchmarks.statistics.populations import LUMPS, Floats, PairedPopulation
from benchmarks.statistics.processes import in_processes
from rag_eval.comparing.statuses import Status
from rag_eval.gating.against import gate
from rag_eval.gating.guards import Guards
from rag_eval.gating.verdicts import GateReport
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.results.verdicts import NO_VERDICT
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import NullReason
from rag_eval.stats.multiplicity import spending_level

SIZES: Final = (30, 100, 300, 1_000)
ALPHA: Final = 0.05
N_GATES: Final = 20
"""Builds of a history."""
N_RESAMPLES: Final = 999
# A gate with slices takes four times as long as one without.
_FEWER_WITH_SLICES: Final = 4
_FEWER_HISTORIES: Final = 8
_HISTORY_ROWS: Final = 100
# Histories that one process simulates at a time.
_AT_ONCE: Final = 5
_HISTORIES: Final = PairedPopulation(scores=LUMPS, tied=0.5, n_metrics=len(METRIC_IDS))
_N_SLICES: Final = 4
# Metrics that a refusal leaves without a score.
_REFUSED: Final = ("faithfulness", "hallucination_rate")


class Runs(NamedTuple):
    """A kind of pairs of runs of one system.

    Attributes
    ----------
    name : str
    tied : float
        Share of rows with the same scores in both runs.
    refused : float
        Share of answers that decline, in each run; where rows are tied both decline or none.
    """

    name: str
    tied: float
    refused: float = 0.0


KINDS: Final = (
    Runs("all rows drawn again", 0.0),
    Runs("half of the rows the same, 8 % of answers decline", 0.5, 0.08),
    Runs("90 % of the rows the same, 8 % of answers decline", 0.9, 0.08),
)


def section(n_replicates: int, seed: int) -> Section:
    """Single gates, and histories of them."""
    parts = [_single(n_replicates, [seed, 11]), _histories(n_replicates, [seed, 12])]
    return joined([Section("## The whole gate"), *parts])


def a_run(scores: Floats, nulls: Floats | None = None) -> ScoredRun:
    """Scores of seven metrics, shape (R, 7), as a run; rows belong to one of four topics."""
    reasons = np.zeros(scores.shape, np.uint8)
    if nulls is not None:
        columns = [METRIC_IDS.index(name) for name in _REFUSED]
        reasons[np.ix_(np.flatnonzero(nulls), columns)] = NullReason.REFUSAL
        scores = np.where(reasons > 0, np.nan, scores)
    n_rows = len(scores)
    return ScoredRun(
        name="run",
        ids=[f"q{row}" for row in range(n_rows)],
        metrics=METRIC_IDS,
        scores=scores,
        null_reasons=reasons,
        metric_passed=np.full(scores.shape, NO_VERDICT, np.int8),
        composite=np.full(n_rows, np.nan),
        passed=np.full(n_rows, NO_VERDICT, np.int8),
        columns={"topic": [str(row % _N_SLICES) for row in range(n_rows)]},
    )


def gated(
    kind: Runs, n_rows: int, slices: Sequence[str], count: int, generator: np.random.Generator
) -> Iterator[GateReport]:
    """Reports of the default gate, with a limit on null rates as a guard."""
    population = PairedPopulation(scores=LUMPS, tied=kind.tied, n_metrics=len(METRIC_IDS))
    guards = Guards(max_null_rate=0.25)
    for seed in range(count):
        old, new = (found[0] for found in population.draw(generator, 1, n_rows))
        tied = (old == new).all(axis=1)
        before, after = generator.random((2, n_rows)) < kind.refused
        runs = a_run(old, before), a_run(new, np.where(tied, before, after))
        yield gate(
            runs[1], [runs[0]], slices=slices, guards=guards, n_resamples=N_RESAMPLES, seed=seed
        )


def alarms(
    kind: Runs, n_rows: int, slices: Sequence[str], count: int, seeds: Sequence[int]
) -> tuple[float, float, float]:
    """Shares of reports that fail, that fail by missing scores, and that tolerate a drop."""
    failed = missing = tolerated = 0
    for report in gated(kind, n_rows, slices, count, np.random.default_rng(seeds)):
        failed += not report.passed
        missing += not report.passed and report.status == Status.MISSING_SCORES
        tolerated += report.status == Status.WITHIN_TOLERANCE
    return failed / count, missing / count, tolerated / count


def _single(n_replicates: int, seeds: Sequence[int]) -> Section:
    rows: list[list[str]] = []
    bars = []
    sizes = (((), n_replicates), (("topic",), max(1, n_replicates // _FEWER_WITH_SLICES)))
    asked = [
        (kind, n_rows, slices, count)
        for slices, count in sizes
        for kind in KINDS
        for n_rows in SIZES
    ]
    found = iter(in_processes(alarms, [(*one, [*seeds, at]) for at, one in enumerate(asked)]))
    for slices, count in sizes:
        many = f"{len(METRIC_IDS)} metrics" + (f" in {_N_SLICES} slices" if slices else "")
        figures = Figures(
            f"false alarms of the whole gate, {many}", ALPHA, two_errors(ALPHA, count)
        )
        for kind in KINDS:
            cells = ["yes" if slices else "no", kind.name]
            for n_rows in SIZES:
                failed, missing, tolerated = next(found)
                figures.add(failed, f"{kind.name}, n = {n_rows:,}")
                cell = f"{failed:.3f}" + (f" ({missing:.3f} nulls)" if kind.refused else "")
                cells.append(cell + (f", {tolerated:.3f} tolerated" if tolerated else ""))
            rows.append(cells)
        bars.append(figures)
    head = ["slices", "runs", *(f"n = {n:,}" for n in SIZES)]
    text = "\n".join(
        [
            "### False alarms of the default gate with all of its parts",
            "",
            f"`gate` itself, with its defaults: {len(METRIC_IDS)} metrics of {LUMPS.name} that "
            "correlate by 0.5 within a row, over all rows, and with slices also in each of "
            f"{_N_SLICES} topics ({len(METRIC_IDS) * (1 + _N_SLICES)} tests). Both runs come from "
            "one system, so every failure is false: a regression that the tests show, nulls that "
            "rose by more than 0.02 and are shown by a test in the same family, or a guard "
            f"(`--max-null-rate 0.25`). {', '.join(_REFUSED)} are null where an answer declines. "
            "No row is missing: that guard is a limit, not a test. In parentheses: failures as "
            "MISSING SCORES. “Tolerated” are drops that a test shows but that are at most 0.005. "
            f"{n_replicates:,} replicates without slices, "
            f"{max(1, n_replicates // _FEWER_WITH_SLICES):,} with; {N_RESAMPLES:,} sign patterns.",
            "",
            _table(head, rows),
            "",
            lost(*bars),
        ]
    )
    return Section(text, [figures.bar for figures in bars])


# ----------------------------------------------------------------------------------- histories


def build(first: Floats, generator: np.random.Generator, drop: float = 0.0) -> ScoredRun:
    """Half of the rows as in the first run, the others drawn again; one metric may fall."""
    n_rows = len(first)
    again = generator.random(n_rows) >= _HISTORIES.tied
    scores = np.where(again[:, np.newaxis], drawn(generator, n_rows), first)
    hit = generator.random(n_rows) < drop / LUMPS.mean
    scores[hit, 0] = 0.0
    return a_run(scores)


def drawn(generator: np.random.Generator, n_rows: int) -> Floats:
    """Scores of a run, shape (R, 7)."""
    found: Floats = _HISTORIES.draw(generator, 1, n_rows)[0][0]
    return found


def has_alarm(generator: np.random.Generator, *, spend: bool) -> bool:
    """Whether any of some gates fails, each against the last passing and the pinned first run."""
    first = drawn(generator, _HISTORY_ROWS)
    baselines = [a_run(first)]
    for number in range(1, N_GATES + 1):
        new = build(first, generator)
        if not _passes(new, baselines, number, spend=spend):
            return True
        # Until one fails, the last passing run is the one before.
        baselines = [baselines[0], new]
    return False


def is_found(generator: np.random.Generator, drop: float, number: int, *, spend: bool) -> bool:
    """Whether a gate finds a drop that happens with its build."""
    first = drawn(generator, _HISTORY_ROWS)
    baselines = [a_run(first), *([build(first, generator)] if number > 1 else [])]
    return not _passes(build(first, generator, drop), baselines, number, spend=spend)


def _passes(new: ScoredRun, baselines: list[ScoredRun], number: int, *, spend: bool) -> bool:
    alpha = spending_level(ALPHA, number) / len(baselines) if spend else ALPHA
    return gate(new, baselines, alpha=alpha, n_resamples=N_RESAMPLES, seed=number).passed


def alarm_histories(spend: bool, count: int, seeds: Sequence[int]) -> float:
    """Share of histories with a false alarm."""
    generator = np.random.default_rng(seeds)
    return float(np.mean([has_alarm(generator, spend=spend) for _ in range(count)]))


def found_drops(spend: bool, drop: float, number: int, count: int, seeds: Sequence[int]) -> float:
    """How often a gate finds a drop."""
    generator = np.random.default_rng(seeds)
    return float(np.mean([is_found(generator, drop, number, spend=spend) for _ in range(count)]))


def _histories(n_replicates: int, seeds: Sequence[int]) -> Section:
    count = _AT_ONCE * max(1, n_replicates // _FEWER_HISTORIES // _AT_ONCE)
    slack = two_errors(ALPHA, count)
    figures = Figures(f"histories of {N_GATES} gates with a false alarm, `--spend`", ALPHA, slack)
    parts = [
        (spend, _AT_ONCE, [*seeds, spend, part])
        for spend in (0, 1)
        for part in range(count // _AT_ONCE)
    ]
    every = in_processes(alarm_histories, parts)
    shares = [float(np.mean(side)) for side in np.array_split(every, 2)]
    figures.add(shares[1], f"n = {_HISTORY_ROWS}")
    drops = [(drop, number) for drop in (0.1, 0.15) for number in (1, 5, N_GATES)]
    asked = [
        (spend, *drop, count, [*seeds, 2, at]) for at, drop in enumerate(drops) for spend in (0, 1)
    ]
    found = iter(in_processes(found_drops, asked))
    rows = [
        [f"nothing: any alarm in {N_GATES} gates", *(f"{share:.3f}" for share in shares)],
        *(
            [
                f"one metric falls by {drop:g} at gate {number}: found there",
                *(f"{share:.2f}" for share in islice(found, 2)),
            ]
            for drop, number in drops
        ),
    ]
    text = "\n".join(
        [
            "### Gates of a release line",
            "",
            f"Builds over {_HISTORY_ROWS} rows, half of which are drawn again in each build; each "
            "build is gated against the last passing run and the pinned first run. "
            f"{count:,} histories, or gates, per cell.",
            "",
            _table(["what changes", f"each gate at {ALPHA:.0%}", "`--spend`"], rows),
            "",
            lost(figures),
        ]
    )
    return Section(text, [figures.bar])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
