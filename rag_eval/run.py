"""Runs over files: scores, statistics and a verdict.  Public names of :mod:`rag_eval.jobs`."""

from rag_eval.jobs.file_run import RunReport, run_file

__all__ = ["RunReport", "run_file"]
