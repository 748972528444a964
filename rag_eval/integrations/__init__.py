"""Samples of other tools in, our scores in the words of that tool out; one module per tool.

Each module is imported by its name: ``from rag_eval.integrations.langsmith import rag_evaluator``.
None imports its tool before it has to, and none is imported by the rest of the package.
"""
