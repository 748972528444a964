"""Scores in the form that other tools expect; one module per tool.

Import each module by its name: ``from rag_eval.integrations.langsmith import rag_evaluator``.
A module imports its tool only when needed, and the rest of the package imports no module here.
"""
