"""A run, and runs of other datasets, in; the rows that they share, and the nearest dataset, out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from rag_eval.runs.dataset_hash import N_INPUTS
from rag_eval.runs.run_records import RunRecord
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.runs.store import RunStore

MOST_DATASETS: Final = 50
"""Each dataset takes the loading of a run: only the newest are considered."""


class Nearest(NamedTuple):
    """The dataset in a store that shares most rows with a run.

    ``records`` are the runs of it that were given, newest first.
    """

    records: list[RunRecord]
    n_shared: int


def nearest_dataset(
    store: RunStore, run: ScoredRun, records: Iterable[RunRecord]
) -> Nearest | None:
    """The dataset of some stored runs, newest first, that shares most rows with a run.

    None if none shares a row, or the run does not know its inputs. Of two that share as many the
    newer is taken.
    """
    if run.digests is None:
        return None
    by_dataset: dict[str | None, list[RunRecord]] = {}
    for record in records:
        by_dataset.setdefault(record.dataset_hash, []).append(record)
    best: Nearest | None = None
    for found in list(by_dataset.values())[:MOST_DATASETS]:
        n_shared = n_shared_rows(run, store.load(found[0].run_id))
        if n_shared > (0 if best is None else best.n_shared):
            best = Nearest(found, n_shared)
    return best


def n_shared_rows(run: ScoredRun, other: ScoredRun) -> int:
    """How many rows of a run are in the other with the same id and the same inputs."""
    if run.digests is None or other.digests is None:
        return 0
    known = dict(zip(other.ids, other.digests[:, :N_INPUTS].tolist(), strict=True))
    rows = zip(run.ids, run.digests[:, :N_INPUTS].tolist(), strict=True)
    return sum(_same(inputs, known.get(name)) for name, inputs in rows)


def _same(inputs: list[int], other: list[int] | None) -> bool:
    """Whether question and ground truth agree, and relevant ids as far as both are known."""
    if other is None or not inputs[0] or inputs[0] != other[0]:
        return False
    return all(one == two or not one or not two for one, two in zip(inputs, other, strict=True))


def without_missing(baseline: ScoredRun, run: ScoredRun) -> ScoredRun:
    """A baseline without the rows whose id a run does not have."""
    there = set(run.ids)
    rows = np.array([name in there for name in baseline.ids], np.bool_)
    if rows.all() or not rows.any():
        return baseline
    places = np.flatnonzero(rows).tolist()
    return replace(
        baseline,
        ids=[baseline.ids[place] for place in places],
        scores=baseline.scores[rows],
        null_reasons=baseline.null_reasons[rows],
        metric_passed=baseline.metric_passed[rows],
        composite=baseline.composite[rows],
        passed=baseline.passed[rows],
        columns={
            name: [values[place] for place in places] for name, values in baseline.columns.items()
        },
        digests=None if baseline.digests is None else baseline.digests[rows],
    )
