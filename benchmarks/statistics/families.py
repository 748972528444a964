"""Differences of a family of metrics in; p values of the default tests, adjusted and not, out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from benchmarks.statistics.populations import Floats
from rag_eval.stats.index_sources import Resampling
from rag_eval.stats.max_t import max_t
from rag_eval.stats.multiplicity import holm
from rag_eval.stats.paired import mcnemar_test, sign_flip_tests, sign_flips
from rag_eval.stats.sign_patterns import SignPatterns

ROWS: Final = (20, 50, 200, 1000)
ALPHA: Final = 0.05
# The family of the default gate.
N_METRICS: Final = 7
N_RESAMPLES: Final = 999


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
