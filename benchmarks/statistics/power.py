"""How often the paired tests find a drop, alone and in a family, beside other tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import Final

import numpy as np
import scipy.stats

from benchmarks.statistics.families import (
    ALPHA,
    N_METRICS,
    N_RESAMPLES,
    ROWS,
    families,
    with_slices,
    worse_p_values,
)
from benchmarks.statistics.page import Section, mean_or_nan, table
from benchmarks.statistics.paired_draws import Draws, lumps
from benchmarks.statistics.populations import Floats
from benchmarks.statistics.processes import seeded
from rag_eval.stats.multiplicity import holm


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


def power_table(n_replicates: int, seeds: Sequence[int]) -> Section:
    drops = [
        (tied, drop)
        for tied in (0.0, 0.5, 0.9)
        for drop in (0.01, 0.02, 0.05, 0.1)
        if drop <= (1 - tied) * 0.5
    ]
    asked = [(*drop, n, n_replicates) for drop in drops for n in ROWS]
    found = seeded(power, asked, seeds)
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
            table(head, rows),
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
    return found if n_slices else {**found, _PERMUTATION: mean_or_nan(permuted)}


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


def family_power_table(n_replicates: int, seeds: Sequence[int]) -> Section:
    rows = []
    kinds = ((0, 0.0, 0.1), (0, 0.5, 0.05), (0, 0.9, 0.02), (4, 0.5, 0.05))
    asked = [
        (tied, drop, n, n_replicates, n_slices)
        for n_slices, tied, drop in kinds
        for n in _POWER_ROWS
    ]
    every = seeded(family_power, asked, seeds)
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
            table(head, rows),
        ]
    )
    return Section(text)
