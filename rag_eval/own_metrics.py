"""Metrics of your own: a function becomes one that every command and call knows."""

from rag_eval.metrics.own import metric

__all__ = ["metric"]
