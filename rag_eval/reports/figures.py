"""How reports write numbers."""

from __future__ import annotations

import math
import re
from typing import Final

from rag_eval.plumbing.spelling import decimal_text
from rag_eval.results.aggregates import CompositeAggregate, MetricAggregate
from rag_eval.results.summaries import MeanScore
from rag_eval.stats.intervals import Interval

NONE: Final = "–"
_TOO_FEW: Final = "[too few]"
_NOTABLE_GAP: Final = 0.05
# Metrics that are named for a fault and yet are better when they are higher.
_NAMED_FOR_FAULTS: Final = frozenset({"hallucination_rate", "mastra.noise_sensitivity"})
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|\+00:00)")


def shown_name(metric: str) -> str:
    """A metric for a table: ``hallucination_rate (1 = none)``."""
    one = "(1\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}none)"
    return f"{metric} {one}" if metric in _NAMED_FOR_FAULTS else metric


def time_text(moment: str) -> str:
    """``2026-11-22 14:30:01 UTC`` for a time in ISO 8601; any other text as it is."""
    found = _TIME.fullmatch(moment)
    return f"{found[1]} {found[2]} UTC" if found else moment


def number_text(value: float | None, digits: int = 2, sign: str = "") -> str:
    """A number with that many decimals; a dash for None."""
    if value is None or math.isnan(value):
        return NONE
    return decimal_text(value, digits, sign)


def bounds_text(found: Interval, digits: int = 2, between: str = ", ") -> str:
    """``0.79, 0.86``; empty if the interval has no bounds."""
    if found.low is None or found.high is None:
        return ""
    return f"{decimal_text(found.low, digits)}{between}{decimal_text(found.high, digits)}"


def known_bounds(found: Interval | None) -> str:
    """``[0.79, 0.86]`` or ``[too few]``; empty if no interval was computed."""
    if found is None:
        return ""
    bounds = "" if found.too_few else bounds_text(found)
    return f"[{bounds}]" if bounds else _TOO_FEW


def are_equal(aggregate: MetricAggregate | CompositeAggregate) -> bool:
    """Whether there are several scores, and no two that differ: no interval comes of them."""
    return aggregate.n > 1 and aggregate.min == aggregate.max


def mean_bounds(aggregate: MetricAggregate | CompositeAggregate) -> str:
    """As :func:`known_bounds`, or ``[all equal]`` where equal scores leave the interval unknown."""
    found = known_bounds(aggregate.interval)
    return "[all equal]" if found == _TOO_FEW and are_equal(aggregate) else found


def mean_text(mean: MeanScore) -> str:
    """``0.83 (412/500)``, without the share if it is unknown."""
    text = number_text(mean.mean)
    return text if mean.n is None else f"{text} ({mean.n}/{mean.n_rows})"


def gap_text(n: int, n_rows: int) -> str:
    """``12 % not measured``, to stand beside a mean; empty if no more than 5 % are null."""
    rate = (n_rows - n) / n_rows if n_rows else 0.0
    return f"{rate:.0%} not measured".replace("%", " %") if rate > _NOTABLE_GAP else ""


def score_text(value: float | None) -> str:
    """Two decimals; a dash for None, and exponents for values far outside 0 to 1."""
    if value is None or math.isnan(value):
        return NONE
    return f"{value:.2f}" if abs(value) < 100_000 else f"{value:.3g}"


def signed_text(value: float | None) -> str:
    """Three decimals and a sign."""
    if value is None or math.isnan(value):
        return NONE
    text = decimal_text(value, 3, "+") if abs(value) < 100_000 else f"{value:+.3g}"
    return text.replace("-", "−")


def share_text(value: float | None) -> str:
    """A percentage with at most one decimal; 100 and 0 only if they are exact."""
    if value is None or math.isnan(value):
        return NONE
    text = f"{value:.1%}"
    if text == "100.0%" and value != 1:
        return "> 99.9 %"
    if text == "0.0%" and value != 0:
        return "< 0.1 %"
    return text.replace(".0%", "%").replace("%", " %")


def interval_text(interval: Interval | None, *, signed: bool = False) -> str:
    """``0.79 to 0.86``, or why there is no interval."""
    if interval is None:
        return "no interval"
    if interval.too_few or interval.low is None or interval.high is None:
        return "too few differing scores"
    shown = signed_text if signed else score_text
    return f"{shown(interval.low)} to {shown(interval.high)}"


def mean_interval_text(aggregate: MetricAggregate | CompositeAggregate) -> str:
    """The interval of a mean, or ``no scores``."""
    return "no scores" if math.isnan(aggregate.mean) else interval_text(aggregate.interval)


def limit_text(value: float) -> str:
    """A threshold with two decimals, or with as many as it has: ``0.60``, ``0.625``."""
    return f"{value:.2f}" if round(value, 2) == value else f"{value:g}"


def p_value_text(value: float) -> str:
    """Three decimals, or ``< 0.001``."""
    return "< 0.001" if value < 0.0005 else f"{value:.3f}"
