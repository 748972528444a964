"""Labelled faithfulness -> what a low score and a high one say, and the cut that is best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from benchmarks.validity.measures import Floats
from rag_eval.calibration.thresholds import LabelledScores

# By name the scores from which, and below which, a row is in the band.
BANDS: Final = {
    "below 0.40": (-math.inf, 0.40),
    "from 0.60 on": (0.60, math.inf),
    "from 0.95 on": (0.95, math.inf),
}


@dataclass(frozen=True, slots=True)
class Band:
    """Shares of the good rows and of the bad ones whose score is in a band."""

    good: float
    bad: float

    @property
    def share_bad(self) -> float:
        """Of the rows in the band, if there were as many bad rows as good ones; else NaN."""
        return self.bad / (self.good + self.bad) if self.good + self.bad else math.nan


@dataclass(frozen=True, slots=True)
class Certainty:
    """Of a set: its bands by name, and the cut of the best balanced accuracy."""

    bands: dict[str, Band]
    best_cut: float


def certainty(good: Sequence[bool], scores: Floats) -> Certainty:
    """Of one set; a row without a score counts as 0."""
    labels, given = np.asarray(good, bool), np.nan_to_num(scores)
    labelled = LabelledScores(given, labels)
    cut = float(labelled.thresholds(labelled.one_each(), None)[0])
    bands = {}
    for name, (begin, end) in BANDS.items():
        inside = (begin <= given) & (given < end)
        bands[name] = Band(float(inside[labels].mean()), float(inside[~labels].mean()))
    return Certainty(bands, cut)


def pooled(found: Sequence[Certainty]) -> dict[str, Band]:
    """The bands of several sets, each set counting the same."""
    return {
        name: Band(
            float(np.mean([one.bands[name].good for one in found])),
            float(np.mean([one.bands[name].bad for one in found])),
        )
        for name in BANDS
    }
