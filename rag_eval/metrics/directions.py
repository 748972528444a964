"""Which way a metric is better, whoever scores it, and between what numbers."""

from __future__ import annotations

import math

from rag_eval.metrics.seven import GROUNDED_METRICS
from rag_eval.samples import MetricId, needs_judge


def higher_is_better(metric: MetricId) -> bool:
    """The direction of a metric, the same in every profile that has it and for every judge."""
    if metric in GROUNDED_METRICS:
        return GROUNDED_METRICS[metric].higher_is_better
    if not needs_judge(metric):
        from rag_eval.metrics.registry import spec_of

        spec = spec_of(metric)
        return spec is None or spec.higher_is_better
    if metric.startswith("mastra."):
        from rag_eval.scorers.mastra import MASTRA_SCORERS

        return MASTRA_SCORERS[metric].higher_is_better
    return True


def bounds_of(metric: MetricId) -> tuple[float, float] | None:
    """Least and greatest score of a metric; None where there is no end, or none is known."""
    if metric in GROUNDED_METRICS:
        found = GROUNDED_METRICS[metric].range
    elif needs_judge(metric):
        found = (0.0, 1.0)
    else:
        from rag_eval.metrics.registry import spec_of

        spec = spec_of(metric)
        if spec is None:
            return None
        found = spec.range
    low, high = found
    return found if -math.inf < low and high < math.inf else None
