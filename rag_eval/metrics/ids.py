"""The metrics that kernels score, by their ids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rag_eval.samples import MetricId

# The order of these and then of the diagnostics is that of the kernels' metric numbers.
METRIC_IDS: Final[tuple[MetricId, ...]] = (
    "faithfulness",
    "answer_relevance",
    "context_precision",
    "context_recall",
    "context_relevance",
    "answer_correctness",
    "hallucination_rate",
)
DIAGNOSTIC_IDS: Final[tuple[MetricId, ...]] = (
    "context_utilization",
    "noise_sensitivity",
    "claim_recall",
    "self_knowledge",
    "unsupported_numbers",
    "unsupported_names",
)
ALL_METRIC_IDS: Final = METRIC_IDS + DIAGNOSTIC_IDS
METRIC_NUMBERS: Final = {metric: number for number, metric in enumerate(ALL_METRIC_IDS)}
"""How kernels call them."""
OF_ANSWER: Final[tuple[MetricId, ...]] = ("faithfulness", "hallucination_rate")
"""Those that hold the sentences of the answer against the contexts."""
COMPOSITE: Final = "composite"
"""The composite score, where it stands beside metrics."""

_KERNEL_METRICS: Final = frozenset(ALL_METRIC_IDS)


def is_scorer_id(metric: MetricId) -> bool:
    """Whether a metric is a scorer, of another tool or custom, and not computed by kernels."""
    return metric not in _KERNEL_METRICS


def are_of_kernels(metrics: Iterable[MetricId]) -> bool:
    """Whether kernels compute all of these metrics, which is the usual case."""
    return _KERNEL_METRICS.issuperset(metrics)
