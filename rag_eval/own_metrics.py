"""Custom metrics: a function becomes a metric that every command and call knows."""

from rag_eval.metrics.own import metric

__all__ = ["metric"]
