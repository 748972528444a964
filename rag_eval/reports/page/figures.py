"""Numbers in; the few characters that stand for them on a page out."""

from __future__ import annotations

import math
from typing import Final

from rag_eval.stats.intervals import Interval

NONE: Final = "–"


def score_text(value: float | None) -> str:
    """Two decimals; a dash for none, and powers of ten for what is far outside of 0 to 1."""
    if value is None or math.isnan(value):
        return NONE
    return f"{value:.2f}" if abs(value) < 100_000 else f"{value:.3g}"


def signed_text(value: float | None) -> str:
    """Three decimals and a sign."""
    if value is None or math.isnan(value):
        return NONE
    text = f"{value:+.3f}" if abs(value) < 100_000 else f"{value:+.3g}"
    return text.replace("-", "−")


def share_text(value: float | None) -> str:
    """Per cent, one decimal where it is not whole; 100 and 0 only where they are exact."""
    if value is None or math.isnan(value):
        return NONE
    text = f"{value:.1%}"
    if text == "100.0%" and value != 1:
        return "> 99.9%"
    if text == "0.0%" and value != 0:
        return "< 0.1%"
    return text.replace(".0%", "%")


def interval_text(interval: Interval | None, *, signed: bool = False) -> str:
    """``0.79 to 0.86``, or why there is none."""
    if interval is None:
        return "no interval"
    if interval.too_few or interval.low is None or interval.high is None:
        return "too few rows"
    shown = signed_text if signed else score_text
    return f"{shown(interval.low)} to {shown(interval.high)}"


def p_value_text(value: float) -> str:
    """Three decimals; below the least of them, just that."""
    return "< 0.001" if value < 0.0005 else f"{value:.3f}"


def exact_text(value: float | None) -> str:
    """As a script sorts it: six decimals, empty for none."""
    if value is None or not math.isfinite(value):
        return ""
    return f"{value:.6f}" if abs(value) < 1e15 else repr(float(value))
