"""What is measured: one contract for every metric, one registry, the caller's."""

from rag_eval.plumbing.late_names import stubbed_names

__getattr__ = stubbed_names(__name__)
