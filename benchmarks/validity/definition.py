"""Scores every row of the labelled sets by the definition in ``tests/oracle`` and by the kernels.

Prints, set by set, the AUROC under both and how many scores differ: of answer_relevance and of
chunks by more than 1e-9, of all others by a bit. The exit code is 1 where one differs.

    python -m benchmarks.validity.definition [--sets a,b]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

import rag_eval
from benchmarks.validity.command import SetsParser
from benchmarks.validity.measures import Floats, auroc
from benchmarks.validity.sets import Sample, Trial, load_trials
from rag_eval.metrics.ids import METRIC_IDS
from tests.oracle import grounded

_NEAR: Final = 1e-9
# Logarithms and roots enter, on which C libraries differ in the last bit.
_RELEVANCE: Final = METRIC_IDS.index("answer_relevance")


class Both(NamedTuple):
    """Scores of R samples by one side: of the metrics (R, 7), and of all chunks in order."""

    scores: Floats
    chunks: Floats


def defined(samples: Sequence[Sample]) -> Both:
    """By the definition."""
    rows = [grounded.evaluate(sample) for sample in samples]
    scores = [[row.scores[metric] for metric in METRIC_IDS] for row in rows]
    chunks = [score for row in rows for score in row.chunk_scores or []]
    return Both(np.array(scores, float), np.array(chunks, float))


def built(samples: Sequence[Sample]) -> Both:
    """By the kernels."""
    batch = rag_eval.evaluate_batch(samples, profile="grounded", allow_missing=True)
    found = (row.metrics["context_relevance"].chunk_scores for row in batch.results)
    chunks = [score for scores in found for score in scores or ()]
    return Both(np.asarray(batch.scores, float), np.array(chunks, float))


def n_different(left: Both, right: Both) -> int:
    """Scores that are not the same."""
    bits = left.scores.view(np.int64) != right.scores.view(np.int64)
    bits &= ~(np.isnan(left.scores) & np.isnan(right.scores))
    bits[:, _RELEVANCE] = ~_near(left.scores, right.scores)[:, _RELEVANCE]
    return int(bits.sum()) + int((~_near(left.chunks, right.chunks)).sum())


def _near(left: Floats, right: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    return np.isclose(left, right, rtol=0, atol=_NEAR, equal_nan=True)


def compared(trial: Trial) -> tuple[float, float, int]:
    """AUROC under the definition and under the kernels, and how many scores differ."""
    sides = defined(trial.samples), built(trial.samples)
    good = np.array(trial.good)
    column = METRIC_IDS.index(trial.metric)
    areas = [
        auroc(good, np.nan_to_num(side.chunks if trial.by_chunk else side.scores[:, column]))
        for side in sides
    ]
    return areas[0], areas[1], n_different(*sides)


def labelled_trials(sets: dict[str, Path]) -> Iterator[Trial]:
    """The first trial of each set: others have the same texts, or stand in for what is missing."""
    return (load_trials(name, path)[0] for name, path in sets.items())


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, print."""
    _, sets = SetsParser("benchmarks.validity.definition", __doc__).asked(arguments)
    n_rows = n_found = 0
    for trial in labelled_trials(sets):
        area, ours, different = compared(trial)
        n_rows, n_found = n_rows + len(trial.good), n_found + different
        print(
            f"{trial.set_name}, {trial.metric}: {len(trial.good):,} rows, AUROC {area:.4f} "
            f"defined, {ours:.4f} built, {different} scores differ",
            flush=True,
        )
    print(f"{n_rows:,} rows, {n_found} scores differ")
    return int(n_found > 0)


if __name__ == "__main__":
    sys.exit(main())
