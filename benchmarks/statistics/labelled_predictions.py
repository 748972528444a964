"""Labelled data -> how often intervals cover the mean that people gave, from few of their labels.

Rows lie where :mod:`benchmarks.validity` finds them; without them the section says so.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

import rag_eval
from benchmarks.validity.sets import Trial, absence, found_sets, load_trials
from rag_eval.stats.arrays import Floats
from rag_eval.stats.ppi import ppi_mean
from rag_eval.stats.sampling_designs import uniform_draw

_N_LABELS: Final = 100
_N_DRAWS: Final = 4_000
_METRICS: Final = ("faithfulness", "answer_correctness")


def labelled_section(seed: int) -> str:
    """Coverage and width on rows that people labelled, as Markdown."""
    head = (
        "\n### Rows that people labelled\n\n"
        f"{_N_LABELS} labels of each set, drawn {_N_DRAWS:,} times; the mean label of the set is\n"
        "known. Scores are from the profile grounded. The Monte-Carlo error near 0.95 is ± 0.007.\n"
        "The last column is the median.\n\n"
    )
    sets = found_sets()
    if not sets:
        return f"{head}Not run: {absence()}.\n"
    lines = [
        "| set | metric | rows | good | ρ | covers | width | labels alone | as many as labels |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, path in sets.items():
        trials = [trial for trial in load_trials(name, path) if trial.metric in _METRICS]
        lines += [_line(trial, seed) for trial in trials]
    return head + "\n".join(lines) + "\n"


def _line(trial: Trial, seed: int) -> str:
    batch = rag_eval.evaluate_batch(trial.samples, [trial.metric], profile="grounded")
    scores = np.asarray(batch.scores[:, 0], np.float64)
    labels = np.array(trial.good, np.float64)
    covered, widths, alone, as_many = [], [], [], []
    for draw in range(_N_DRAWS):
        rows = uniform_draw(len(labels), _N_LABELS, seed=seed + draw).rows
        found = ppi_mean(scores, labels[rows], rows)
        low, high = found.interval.low, found.interval.high
        if low is None or high is None or found.labels_alone.low is None:
            continue
        covered.append(low <= labels.mean() <= high)
        widths.append(high - low)
        assert found.labels_alone.high is not None
        alone.append(found.labels_alone.high - found.labels_alone.low)
        as_many.append(found.equivalent_labels or math.nan)
    return (
        f"| {trial.set_name} | {trial.metric} | {len(labels):,} | {labels.mean():.2f} "
        f"| {_correlation(scores, labels):.2f} | {np.mean(covered):.3f} | {np.mean(widths):.3f} "
        f"| {np.mean(alone):.3f} | {np.nanmedian(as_many):.0f} |"
    )


def _correlation(scores: Floats, labels: Floats) -> float:
    known = ~np.isnan(scores)
    return float(np.corrcoef(scores[known], labels[known])[0, 1])
