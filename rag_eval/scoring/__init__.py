"""Plan and blocks -> scored and judged blocks -> results: ``evaluate`` and ``evaluate_batch``."""

from rag_eval.plumbing.late_names import stubbed_names

__getattr__ = stubbed_names(__name__)
