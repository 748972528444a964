"""Scored runs in; what differs between them, with its uncertainty, out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.comparing.independent_runs import IndependentComparison as IndependentComparison
    from rag_eval.comparing.independent_runs import compare_independent as compare_independent
    from rag_eval.comparing.leaderboard import Leaderboard as Leaderboard
    from rag_eval.comparing.many_runs import compare_runs as compare_runs
    from rag_eval.comparing.run_comparison import RunComparison as RunComparison
    from rag_eval.comparing.statuses import Status as Status
    from rag_eval.comparing.tested_changes import MetricChange as MetricChange
    from rag_eval.comparing.tested_changes import Slice as Slice
    from rag_eval.comparing.two_runs import compare as compare

_HOMES: Final = {
    "independent_runs": ("IndependentComparison", "compare_independent"),
    "leaderboard": ("Leaderboard",),
    "many_runs": ("compare_runs",),
    "run_comparison": ("RunComparison",),
    "statuses": ("Status",),
    "tested_changes": ("MetricChange", "Slice"),
    "two_runs": ("compare",),
}

__all__ = sorted(name for names in _HOMES.values() for name in names)

__getattr__ = late_names(__name__, _HOMES)
