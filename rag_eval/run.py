"""Runs over files: scores, statistics and a verdict.  Public names of :mod:`rag_eval.jobs`."""

from rag_eval.jobs.file_reports import FileReport, RunReport, ScoreFileReport
from rag_eval.jobs.file_run import run_file

__all__ = ["FileReport", "RunReport", "ScoreFileReport", "run_file"]
