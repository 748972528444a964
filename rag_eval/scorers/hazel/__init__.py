"""The scorers of HazelJS eval: answers against contexts and tools, and its judge."""

from rag_eval.plumbing.late_names import stubbed_names

__getattr__ = stubbed_names(__name__)
