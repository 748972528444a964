"""The scorers of Regtrace: factuality, format and tone, and its own formulas under their names.

The function for ``regtrace.factuality`` is in the module of that name, which keeps it out of here.
"""

from rag_eval.plumbing.late_names import stubbed_names

__getattr__ = stubbed_names(__name__)
