"""What comes out, as data: rows, batches, aggregates, verdicts, regressions, and result files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.results.aggregates import Aggregate, MetricAggregate
    from rag_eval.results.batch import BatchEvalResult, BatchSummary
    from rag_eval.results.regressions import MetricRegression
    from rag_eval.results.row import (
        ByMetric,
        CostTracker,
        EvalResult,
        EvalSignal,
        MetricResult,
        SentenceEvidence,
        Severity,
    )

_HOMES: Final = {
    "aggregates": ("Aggregate", "MetricAggregate"),
    "batch": ("BatchEvalResult", "BatchSummary"),
    "regressions": ("MetricRegression",),
    "row": (
        "ByMetric",
        "CostTracker",
        "EvalResult",
        "EvalSignal",
        "MetricResult",
        "SentenceEvidence",
        "Severity",
    ),
}

__all__ = [
    "Aggregate",
    "BatchEvalResult",
    "BatchSummary",
    "ByMetric",
    "CostTracker",
    "EvalResult",
    "EvalSignal",
    "MetricAggregate",
    "MetricRegression",
    "MetricResult",
    "SentenceEvidence",
    "Severity",
]

__getattr__ = late_names(__name__, _HOMES)
