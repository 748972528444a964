"""Contracts of metrics that a judge scores, in the form of those that kernels score."""

from __future__ import annotations

from rag_eval.judge.styles import JudgeStyle
from rag_eval.metrics.seven import MetricSpec
from rag_eval.samples import MetricId


def judged_spec(metric: MetricId, style: JudgeStyle) -> MetricSpec:
    """The contract of a metric when a judge scores it in a style."""
    if metric.startswith("mastra."):
        return _mastra_spec(metric)
    from rag_eval.judge.metrics import JUDGED_METRICS

    found = JUDGED_METRICS[metric]
    return MetricSpec(
        id=metric,
        number=-1,
        threshold=found.thresholds[style],
        fields=found.fields,
        options=(),
        needs_ground_truth="ground_truth" in found.fields and "ground_truth" not in found.optional,
        summary=found.summary,
        in_composite=not metric.startswith("omk."),
        null_when="a field is missing, there is nothing to judge, or the judge failed",
    )


def _mastra_spec(metric: MetricId) -> MetricSpec:
    from rag_eval.scorers.mastra import MASTRA_SCORERS

    found = MASTRA_SCORERS[metric]
    return MetricSpec(
        id=metric,
        number=-1,
        threshold=None,
        fields=found.fields,
        options=(),
        needs_ground_truth="ground_truth" in found.fields,
        summary=found.summary,
        higher_is_better=found.higher_is_better,
        in_composite=False,
        null_when="a field is missing, or the judge failed",
        range=found.range,
    )
