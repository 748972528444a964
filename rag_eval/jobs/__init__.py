"""Whole jobs in bounded memory: score files, run gates, check judges, estimate costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.jobs.file_reports import FileReport, RunReport, ScoreFileReport
    from rag_eval.jobs.file_run import run_file
    from rag_eval.jobs.file_scoring import score_file

_HOMES: Final = {
    "file_reports": ("FileReport", "RunReport", "ScoreFileReport"),
    "file_run": ("run_file",),
    "file_scoring": ("score_file",),
}

__all__ = [
    "FileReport",
    "RunReport",
    "ScoreFileReport",
    "run_file",
    "score_file",
]

__getattr__ = late_names(__name__, _HOMES)
