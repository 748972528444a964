"""What a data set can show before a run, and how steady runs are: warnings, splits, diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.planning.before_a_run import PowerWarning, power_warnings
    from rag_eval.planning.diagnostics import (
        DiagnosedSample,
        Outcome,
        SampleDiagnostics,
        SampleIssue,
        sample_diagnostics,
    )
    from rag_eval.planning.holdout import (
        HoldoutMeans,
        HoldoutSplit,
        holdout_breakdown,
        holdout_split,
    )
    from rag_eval.planning.repeated_rows import (
        Flakiness,
        RowFlakiness,
        flakiness,
        flakiness_of_run,
    )

_HOMES: Final = {
    "before_a_run": ("PowerWarning", "power_warnings"),
    "diagnostics": (
        "DiagnosedSample",
        "Outcome",
        "SampleDiagnostics",
        "SampleIssue",
        "sample_diagnostics",
    ),
    "holdout": ("HoldoutMeans", "HoldoutSplit", "holdout_breakdown", "holdout_split"),
    "repeated_rows": ("Flakiness", "RowFlakiness", "flakiness", "flakiness_of_run"),
}

__all__ = [
    "DiagnosedSample",
    "Flakiness",
    "HoldoutMeans",
    "HoldoutSplit",
    "Outcome",
    "PowerWarning",
    "RowFlakiness",
    "SampleDiagnostics",
    "SampleIssue",
    "flakiness",
    "flakiness_of_run",
    "holdout_breakdown",
    "holdout_split",
    "power_warnings",
    "sample_diagnostics",
]

__getattr__ = late_names(__name__, _HOMES)
