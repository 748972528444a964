"""A result and thresholds for its scores in; the outcome of each threshold out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rag_eval.errors import InputError
from rag_eval.gating.limits import apart
from rag_eval.metrics.ids import COMPOSITE, is_scorer_id
from rag_eval.metrics.registry import higher_is_better, to_metric_id
from rag_eval.plumbing.checked_values import number, share
from rag_eval.results.row import EvalResult
from rag_eval.samples import MetricId, NullReason


@dataclass(frozen=True, slots=True, kw_only=True)
class BarOutcome:
    """The outcome of one threshold for one sample.

    Attributes
    ----------
    metric : MetricId or "composite"
    held : bool
        False without a score, unless the answer only declines to answer (reason ``refusal``).
    found : float or None
    wanted : float
    rises : bool
        Higher is better: the threshold is the lowest allowed score, otherwise the highest.
    null_reason : str
        Why there is no score, such as ``missing_field``; empty if there is one.
    explanation : str
        The explanation of the score.
    """

    metric: str
    held: bool
    found: float | None
    wanted: float
    rises: bool
    null_reason: str = ""
    explanation: str = ""

    @property
    def texts(self) -> tuple[str, str]:
        """Score and threshold, with as many decimals as it takes to tell them apart."""
        if self.found is None:
            return "null", f"{self.wanted:.2f}"
        return apart(self.found, self.wanted)


def checked_bars(given: Mapping[str, object], owner: str) -> dict[str, float]:
    """Thresholds by metric id, ``composite`` last.

    Raises
    ------
    InputError
        For a metric that does not exist, one that is given twice, or a bar that no score reaches.
    """
    bars: dict[str, float] = {}
    for name, value in given.items():
        metric = name if name == COMPOSITE else to_metric_id(name)
        if metric in bars:
            raise InputError(f"{owner}: the threshold of {metric} is given twice")
        check = number if metric != COMPOSITE and is_scorer_id(metric) else share
        bars[metric] = check(value, f"{owner}: the threshold of {metric}")
    if COMPOSITE in bars:
        bars[COMPOSITE] = bars.pop(COMPOSITE)
    return bars


def check_bars(result: EvalResult, bars: Mapping[str, float]) -> list[BarOutcome]:
    """The outcome of every threshold, in the given order."""
    return [
        _composite_outcome(result, bar) if name == COMPOSITE else _outcome(result, name, bar)
        for name, bar in bars.items()
    ]


def _outcome(result: EvalResult, metric: MetricId, bar: float) -> BarOutcome:
    found = result.metrics[metric]
    rises, score = higher_is_better(metric), found.score
    if score is None:
        held = found.null_reason == NullReason.REFUSAL  # as for the verdict on a row
    else:
        held = score >= bar if rises else score <= bar
    return BarOutcome(
        metric=metric,
        held=held,
        found=score,
        wanted=bar,
        rises=rises,
        null_reason="" if score is not None else NullReason(found.null_reason).name.lower(),
        explanation=found.explanation,
    )


def _composite_outcome(result: EvalResult, bar: float) -> BarOutcome:
    score = result.composite_score
    return BarOutcome(
        metric=COMPOSITE,
        held=score is not None and score >= bar,
        found=score,
        wanted=bar,
        rises=True,
        null_reason="" if score is not None else "no metric that is part of it has a score",
    )
