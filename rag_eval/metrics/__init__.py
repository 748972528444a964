"""Metrics: one contract for all of them, one registry, and custom metrics."""

from rag_eval.plumbing.late_names import stubbed_names

__getattr__ = stubbed_names(__name__)
