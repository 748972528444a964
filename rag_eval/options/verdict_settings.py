"""Thresholds and weights: the settings that turn scores into composite scores and verdicts.

They change no score of a metric, so they are not part of a signature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag_eval.metrics.ids import COMPOSITE, METRIC_IDS
from rag_eval.metrics.registry import metric_or_column
from rag_eval.options.plan import Plan
from rag_eval.plumbing.json_fields import Fields
from rag_eval.plumbing.spelling import camel_case
from rag_eval.samples import MetricId


@dataclass(frozen=True, slots=True)
class VerdictSettings:
    """How the scores of a run became verdicts.

    Attributes
    ----------
    thresholds : mapping of float or None
        Per metric; None if every score passes.
    weights : mapping of float
        Per metric, its weight in the composite score.
    composite_threshold : float or None
    """

    thresholds: Mapping[MetricId, float | None]
    weights: Mapping[MetricId, float]
    composite_threshold: float | None

    @classmethod
    def of(cls, plan: Plan) -> VerdictSettings:
        """Those of a plan; a metric that is named twice has twice the weight."""
        weights = {name: plan.metrics.count(name) * one for name, one in plan.weights.items()}
        return cls(dict(plan.thresholds), weights, plan.composite_threshold)

    @property
    def can_fail(self) -> bool:
        """Whether a score can fail a row: by a threshold, or by a composite score of something."""
        if any(threshold is not None for threshold in self.thresholds.values()):
            return True
        is_composed = any(one != 0 or name in METRIC_IDS for name, one in self.weights.items())
        return is_composed and self.composite_threshold is not None

    @classmethod
    def from_dict(cls, value: object, place: str = "settings") -> VerdictSettings:
        """Read back what :meth:`to_dict` wrote.

        Raises
        ------
        InputError
            Naming the field.
        """
        found = Fields(value, place)
        thresholds, weights = found.inner("thresholds"), found.inner("compositeWeights")
        return cls(
            {
                metric_or_column(name): thresholds.number_or_none(name)
                for name in thresholds.names()
            },
            {metric_or_column(name): weights.number(name) for name in weights.names()},
            found.number_or_none("compositeThreshold"),
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, in the style of result files."""
        return {
            "thresholds": {camel_case(name): value for name, value in self.thresholds.items()},
            "compositeWeights": {camel_case(name): value for name, value in self.weights.items()},
            "compositeThreshold": self.composite_threshold,
        }

    def weight_differences(self, other: VerdictSettings) -> list[str]:
        """What makes composite scores incomparable: ``weight of faithfulness: 2, not 1``."""
        return _differences("weight", self.weights, other.weights, 0.0)

    def threshold_differences(self, other: VerdictSettings) -> list[str]:
        """What else makes verdicts on rows incomparable."""
        ours, theirs = (
            {**each.thresholds, COMPOSITE: each.composite_threshold} for each in (self, other)
        )
        return _differences("threshold", ours, theirs, None)


def _differences(
    what: str,
    ours: Mapping[str, float | None],
    theirs: Mapping[str, float | None],
    missing: float | None,
) -> list[str]:
    pairs = [(n, ours.get(n, missing), theirs.get(n, missing)) for n in {**theirs, **ours}]
    return [
        f"{what} of {name}: {_text(one)}, not {_text(other)}"
        for name, one, other in pairs
        if one != other
    ]


def _text(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"
