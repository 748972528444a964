"""The scorers of omk: assertions, their layers, and its ratings by a judge."""

from rag_eval.plumbing.late_names import stubbed_names

__getattr__ = stubbed_names(__name__)
