"""Scored runs: read from files and results, saved in a store, used as baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.runs.baseline_files import write_baseline_file as write_baseline_file
    from rag_eval.runs.git_state import detect_branch as detect_branch
    from rag_eval.runs.metric_intervals import mean_intervals as mean_intervals
    from rag_eval.runs.run_files import read_run as read_run
    from rag_eval.runs.scored_run import ScoredRun as ScoredRun
    from rag_eval.runs.store import RunStore as RunStore

_HOMES: Final = {
    "baseline_files": ("write_baseline_file",),
    "git_state": ("detect_branch",),
    "metric_intervals": ("mean_intervals",),
    "run_files": ("read_run",),
    "scored_run": ("ScoredRun",),
    "store": ("RunStore",),
}

__all__ = sorted(name for names in _HOMES.values() for name in names)

__getattr__ = late_names(__name__, _HOMES)
