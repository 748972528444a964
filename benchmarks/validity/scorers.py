"""This library's two profiles on a trial, and what the grounded definition itself scores."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

import rag_eval
from benchmarks.validity.sets import Sample, Trial
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.metrics.seven import PROFILE_METRICS
from rag_eval.samples import Profile

Scores: TypeAlias = npt.NDArray[np.float64]

# The one that is shown first comes first.
PROFILES: Final[tuple[Profile, ...]] = ("grounded", "overlap")
# Default pass marks of a sample, None where it passes by other metrics.
THRESHOLDS: Final[dict[str, dict[str, float | None]]] = {
    profile: {metric: PROFILE_METRICS[profile][metric].threshold for metric in METRIC_IDS}
    for profile in PROFILES
}
# From here on a chunk counts as relevant; the pass mark above is for the share of such chunks.
CHUNK_CUTS: Final = {"grounded": 0.30, "overlap": 0.20}

# AUROC of the grounded definition, in slow plain Python, for the metric each set was labelled for.
DEFINITION_AUROC: Final = {
    "begin_wow": 0.9315,
    "begin_cmu": 0.9623,
    "faithdial_audit": 0.8645,
    "q2_wow": 0.7821,
    "wice": 0.7730,
    "summedits": 0.5340,
    "halueval_qa": 0.9451,
    "wice_evidence": 0.8692,
    "cranfield": 0.7029,
    "evouna_nq": 0.9572,
    "nq301": 0.8473,
    "stsb": 0.8577,
    "mtrag_approp": 0.6830,
}
# The same of version 2, by its last build, as are the means below.
EARLIER_AUROC: Final = {
    "begin_wow": 0.9350,
    "begin_cmu": 0.9621,
    "faithdial_audit": 0.8658,
    "q2_wow": 0.7684,
    "wice": 0.7604,
    "summedits": 0.5194,
    "halueval_qa": 0.9450,
    "wice_evidence": 0.8692,
    "cranfield": 0.7029,
    "evouna_nq": 0.9552,
    "nq301": 0.8460,
    "stsb": 0.8529,
    "mtrag_approp": 0.6561,
}
DEFINITION_TOLERANCE: Final = 0.001


class Means(NamedTuple):
    """Figures of the grounded profile on a metric, means over sets."""

    n_sets: int
    auroc: float
    precision: float
    balanced: float | None


EARLIER_MEANS: Final = {
    "faithfulness": Means(7, 0.822, 0.741, 0.731),
    "hallucination_rate": Means(7, 0.743, 0.557, 0.730),
    "context_relevance": Means(2, 0.786, 0.591, 0.693),
    "answer_correctness": Means(3, 0.885, 0.860, 0.811),
    "answer_relevance": Means(1, 0.656, 0.835, 0.580),
    "context_recall": Means(1, 0.760, 0.616, 0.684),
    "context_precision": Means(2, 0.684, 0.499, 0.641),
}


def threshold(trial: Trial, profile: str) -> float | None:
    """The default cut for a case of the trial, where there is one."""
    return CHUNK_CUTS[profile] if trial.by_chunk else THRESHOLDS[profile][trial.metric]


def profile_scores(trial: Trial, profile: str) -> Scores:
    """A profile's score of each case; NaN where it has none."""
    if trial.by_chunk:
        return _CHUNK_SCORES[profile](trial)
    if profile == "overlap":
        return _best_gold_scores(trial)
    return _batch(trial.samples, trial.metric, profile).scores[:, 0]


def _batch(samples: list[Sample], metric: str, profile: str) -> Any:
    return rag_eval.evaluate_batch(samples, metrics=[metric], profile=profile, language=None)


def _best_gold_scores(trial: Trial) -> Scores:
    """The overlap profile takes one gold: each is scored alone and the best counts."""
    single: list[Sample] = []
    owners: list[int] = []
    for number, sample in enumerate(trial.samples):
        for gold in sample.get("ground_truth") or [None]:
            single.append({**sample, "ground_truth": gold})
            owners.append(number)
    best = np.full(len(trial.samples), np.nan)
    # fmax: NaN gives way to any score.
    np.fmax.at(best, owners, _batch(single, trial.metric, "overlap").scores[:, 0])
    return best


def _grounded_chunk_scores(trial: Trial) -> Scores:
    results = _batch(trial.samples, trial.metric, "grounded").results
    chunk_scores = [
        results[i].metrics[trial.metric].chunk_scores for i in range(len(trial.samples))
    ]
    return np.concatenate([np.asarray(scores, float) for scores in chunk_scores])


def _overlap_chunk_scores(trial: Trial) -> Scores:
    """What the profile holds against its cut for each chunk."""
    return np.array(
        [
            rag_eval.weighted_ngram_overlap(sample["question"], chunk)
            for sample in trial.samples
            for chunk in sample["contexts"]
        ]
    )


_CHUNK_SCORES: Final = {"grounded": _grounded_chunk_scores, "overlap": _overlap_chunk_scores}
