"""The cascade: which rows the judge scores, and the common scale of all rows.

The score of a row that is not judged is the calibrated probability that a person would call it
good. The score of a judged row is the verdict, 1 or 0. Without a calibration, a row that is not
judged has only a verdict, and columns of verdicts have no mean.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.metrics.registry import judged_rule
from rag_eval.metrics.seven import GROUNDED_METRICS
from rag_eval.options.judge_types import UNCERTAIN
from rag_eval.options.plan import Plan
from rag_eval.samples import MetricId

Scores = npt.NDArray[np.float64]

# On the shared scale: more probably good than not.
EVEN: Final = 0.5
_HASH_RANGE: Final = 2.0**64


def cascade_plan(plan: Plan, given_thresholds: Iterable[MetricId]) -> Plan:
    """A cascade's plan on its scale, once the calibrations are known; other plans as they are.

    Raises
    ------
    InputError
        When a metric has neither a calibration nor a band.
    """
    judging = plan.judging
    if judging is None or not judging.is_cascade:
        return plan
    given = set(given_thresholds)
    specs, thresholds, weights = dict(plan.specs), dict(plan.thresholds), dict(plan.weights)
    for metric in judging.judged:
        if metric not in plan.calibrations and metric not in judging.bands:
            raise InputError(
                f"mode='cascade' cannot tell which scores of {metric} are inconclusive: "
                "give a calibration (--calibration FILE) or a band: --cascade-band LOW:HIGH (in "
                "Python: cascade_band=(low, high))"
            )
        has_scale = metric in plan.calibrations
        specs[metric] = replace(specs[metric], threshold=EVEN, in_composite=has_scale)
        if metric not in given:
            thresholds[metric] = EVEN
        if not has_scale:
            weights[metric] = 0.0
    return replace(plan, specs=specs, thresholds=thresholds, weights=weights)


def is_verdict_only(plan: Plan, metric: MetricId) -> bool:
    """Whether a column holds verdicts and no scores: a cascade without a calibration."""
    judging = plan.judging
    return (
        judging is not None
        and judging.is_cascade
        and metric in judging.judged
        and metric not in plan.calibrations
    )


def uncertain(plan: Plan, metric: MetricId, native: Scores) -> npt.NDArray[np.bool_]:
    """Which rows lie in the band, by their native scores; a null score does not."""
    assert plan.judging is not None
    band = plan.judging.bands.get(metric)
    values = native if band is not None else plan.calibrations[metric].probabilities(native)
    low, high = UNCERTAIN if band is None else band
    with np.errstate(invalid="ignore"):
        return np.asarray((values >= low) & (values <= high), np.bool_)


def audited(plan: Plan, metric: MetricId, ordinals: Iterable[int]) -> npt.NDArray[np.bool_]:
    """Which rows are audited, by their numbers in the input: the same in every run of a seed."""
    judging = plan.judging
    assert judging is not None
    limit = judging.audit_share * _HASH_RANGE
    prefix = f"{judging.seed}:{metric}:".encode()
    return np.array([_draw(prefix, ordinal) < limit for ordinal in ordinals], np.bool_)


def _draw(prefix: bytes, ordinal: int) -> int:
    digest = hashlib.blake2b(prefix + struct.pack("<q", ordinal), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def unjudged_scores(plan: Plan, metric: MetricId, native: Scores) -> Scores:
    """The score of rows that are not judged: a probability, or else the verdict 1 or 0."""
    if metric in plan.calibrations:
        return np.asarray(plan.calibrations[metric].probabilities(native), np.float64)
    return cut_at(native, _native_cut(plan, metric))


def unjudged_passes(plan: Plan, metric: MetricId, native: float) -> bool:
    """Whether a row with this native score passes if it is not judged."""
    (score,) = unjudged_scores(plan, metric, np.array([native])).tolist()
    threshold = plan.thresholds[metric]
    return threshold is None or score >= threshold


def _native_cut(plan: Plan, metric: MetricId) -> float:
    """The native score from which a row passes without a judgement.

    The default threshold; of a metric that has none, the middle of its band: whoever is not judged
    is on one side of it.
    """
    threshold = GROUNDED_METRICS[metric].threshold
    if threshold is not None:
        return threshold
    assert plan.judging is not None
    return sum(plan.judging.bands[metric]) / 2


def judge_threshold(plan: Plan, metric: MetricId) -> float | None:
    """From where a judge's own score passes, or up to where, if lower is better.

    In a cascade the caller's thresholds are on the shared scale, which the judge's score is not on.
    """
    assert plan.judging is not None
    if plan.judging.is_cascade:
        return judged_rule(metric).metric[plan.judging.style].threshold
    return plan.thresholds[metric]


def verifier_threshold(plan: Plan, metric: MetricId) -> float:
    """From where a verifier's own score passes; it is a share of claims, as that of a judge is."""
    assert plan.judging is not None
    given = None if plan.judging.is_cascade else plan.thresholds[metric]
    own = judged_rule(metric).metric["claims"].threshold
    assert own is not None
    return own if given is None else given


def cut_at(scores: Scores, threshold: float) -> Scores:
    """1 from the threshold on, 0 below, NaN where null."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isnan(scores), math.nan, (scores >= threshold).astype(np.float64))
