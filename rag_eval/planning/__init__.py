"""What a dataset can show before a run, and how much runs vary: warnings, splits, diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.planning.before_a_run import PowerWarning as PowerWarning
    from rag_eval.planning.before_a_run import power_warnings as power_warnings
    from rag_eval.planning.diagnostics import DiagnosedSample as DiagnosedSample
    from rag_eval.planning.diagnostics import Outcome as Outcome
    from rag_eval.planning.diagnostics import SampleDiagnostics as SampleDiagnostics
    from rag_eval.planning.diagnostics import SampleIssue as SampleIssue
    from rag_eval.planning.diagnostics import sample_diagnostics as sample_diagnostics
    from rag_eval.planning.holdout import HoldoutMeans as HoldoutMeans
    from rag_eval.planning.holdout import HoldoutSplit as HoldoutSplit
    from rag_eval.planning.holdout import holdout_breakdown as holdout_breakdown
    from rag_eval.planning.holdout import holdout_split as holdout_split
    from rag_eval.planning.repeat_noise import RepeatNoise as RepeatNoise
    from rag_eval.planning.repeat_noise import repeat_noise as repeat_noise
    from rag_eval.planning.repeat_noise import repeat_noise_of_run as repeat_noise_of_run
    from rag_eval.planning.repeated_rows import Flakiness as Flakiness
    from rag_eval.planning.repeated_rows import RowFlakiness as RowFlakiness
    from rag_eval.planning.repeated_rows import flakiness as flakiness
    from rag_eval.planning.repeated_rows import flakiness_of_run as flakiness_of_run

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
    "repeat_noise": ("RepeatNoise", "repeat_noise", "repeat_noise_of_run"),
    "repeated_rows": ("Flakiness", "RowFlakiness", "flakiness", "flakiness_of_run"),
}

__all__ = sorted(name for names in _HOMES.values() for name in names)

__getattr__ = late_names(__name__, _HOMES)
