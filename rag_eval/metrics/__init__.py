"""What is measured: one contract for every metric, one registry, the caller's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.metrics.contract import Metric, Scored, Scorer
    from rag_eval.metrics.own import metric
    from rag_eval.metrics.registry import register, unregister

_HOMES: Final = {
    "contract": ("Metric", "Scored", "Scorer"),
    "own": ("metric",),
    "registry": ("register", "unregister"),
}

__all__ = [
    "Metric",
    "Scored",
    "Scorer",
    "metric",
    "register",
    "unregister",
]

__getattr__ = late_names(__name__, _HOMES)
