"""Labelled answers -> how many good and bad ones pass, under the defaults and under other gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import rag_eval
from benchmarks.validity.sets import Trial
from rag_eval.kernels.verdicts import verdicts_of
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.options.plan import make_plan

# What version 2 of the profile failed a row by.
_EARLIER: Final[dict[str, float]] = {
    "faithfulness": 0.60,
    "hallucination_rate": 0.70,
    "context_recall": 0.60,
    "context_relevance": 0.50,
    "context_precision": 0.50,
    "answer_relevance": 0.40,
    "answer_correctness": 0.40,
}
_NO_BAR: Final = -1.0  # which every score reaches
# Gates by name, as options; the last but one are the defaults.
GATES: Final[dict[str, dict[str, Any]]] = {
    "earlier defaults (version 2)": {
        "thresholds": _EARLIER,
        "composite_threshold": 0.50,
    },
    "defaults, and the composite from 0.50": {"composite_threshold": 0.50},
    "**defaults**": {},
    "faithfulness from 0.60 alone": {
        "thresholds": {name: _NO_BAR for name in METRIC_IDS if name != "faithfulness"}
    },
}


@dataclass(frozen=True, slots=True)
class Passed:
    """Of one set, under one choice of gates: shares of the good and of the bad answers."""

    good: float
    bad: float

    @property
    def balanced(self) -> float:
        """Balanced accuracy of the verdict."""
        return (self.good + 1 - self.bad) / 2


def passed_shares(trial: Trial) -> dict[str, Passed]:
    """Per choice of gates, what passes of the answers of a set."""
    batch = rag_eval.evaluate_batch(trial.samples, profile="grounded", allow_missing=True)
    good = np.asarray(trial.good, bool)
    found = {}
    for name, options in GATES.items():
        plan = make_plan(None, {"profile": "grounded", **options})
        passed = verdicts_of(batch.scores, plan.rule, batch.null_reasons).passed
        found[name] = Passed(float(passed[good].mean()), float(passed[~good].mean()))
    return found


def means(by_set: Sequence[Mapping[str, Passed]]) -> dict[str, Passed]:
    """Per choice of gates the means over sets."""
    return {
        name: Passed(
            float(np.mean([found[name].good for found in by_set])),
            float(np.mean([found[name].bad for found in by_set])),
        )
        for name in GATES
    }
