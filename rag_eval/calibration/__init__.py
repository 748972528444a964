"""Scores and labels -> thresholds, probabilities and weights, applied to a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.calibration.fitting import CalibrationWarning, calibrate
    from rag_eval.calibration.refitting import Refit
    from rag_eval.calibration.result import Calibration

_HOMES: Final = {
    "fitting": ("CalibrationWarning", "calibrate"),
    "refitting": ("Refit",),
    "result": ("Calibration",),
}

__all__ = [
    "Calibration",
    "CalibrationWarning",
    "Refit",
    "calibrate",
]

__getattr__ = late_names(__name__, _HOMES)
