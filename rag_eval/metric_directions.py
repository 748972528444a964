"""Which way a metric is better, whoever scores it."""

from __future__ import annotations

from rag_eval.metrics.registry import GROUNDED_METRICS
from rag_eval.samples import MetricId, needs_judge


def higher_is_better(metric: MetricId) -> bool:
    """The direction of a metric, the same in every profile that has it and for every judge."""
    if metric in GROUNDED_METRICS:
        return GROUNDED_METRICS[metric].higher_is_better
    if not needs_judge(metric):
        from rag_eval.scorers.registry import spec_of

        spec = spec_of(metric)
        return spec is None or spec.higher_is_better
    if metric.startswith("mastra."):
        from rag_eval.scorers.mastra import MASTRA_SCORERS

        return MASTRA_SCORERS[metric].higher_is_better
    return True
