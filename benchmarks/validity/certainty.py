"""Labelled faithfulness -> what a low score and a high one say, and the cut that is best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from benchmarks.validity.measures import Floats, Labels
from rag_eval.calibration.thresholds import LabelledScores

LOW: Final = 0.40
HIGH: Final = 0.95


@dataclass(frozen=True, slots=True)
class Band:
    """Shares of the good rows and of the bad ones whose score is in a band."""

    good: float
    bad: float

    @property
    def share_bad(self) -> float:
        """Of the rows in the band, if there were as many bad rows as good ones; else NaN."""
        return self.bad / (self.good + self.bad) if self.good + self.bad else float("nan")


@dataclass(frozen=True, slots=True)
class Certainty:
    """Rows below ``LOW`` and from ``HIGH`` on, and the cut of the best balanced accuracy."""

    low: Band
    high: Band
    best_cut: float


def certainty(good: Sequence[bool], scores: Floats) -> Certainty:
    """Of one set; a row without a score counts as 0."""
    labels, given = np.asarray(good, bool), np.nan_to_num(scores)
    labelled = LabelledScores(given, labels)
    cut = float(labelled.thresholds(labelled.one_each(), None)[0])
    return Certainty(_band(labels, given < LOW), _band(labels, given >= HIGH), cut)


def pooled(bands: Sequence[Band]) -> Band:
    """Of several sets, each counting the same."""
    return Band(
        float(np.mean([band.good for band in bands])), float(np.mean([band.bad for band in bands]))
    )


def _band(good: Labels, inside: Labels) -> Band:
    return Band(float(inside[good].mean()), float(inside[~good].mean()))
