"""Scores and labels -> thresholds and probabilities, applied to a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.calibration.fitting import Calibration, CalibrationWarning, calibrate

_HOMES: Final = {
    "fitting": ("Calibration", "CalibrationWarning", "calibrate"),
}

__all__ = [
    "Calibration",
    "CalibrationWarning",
    "calibrate",
]

__getattr__ = late_names(__name__, _HOMES)
