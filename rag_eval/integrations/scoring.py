"""Score, verdict and reason per metric of a sample, as tools show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rag_eval.calibration.applied import planned
from rag_eval.metrics.registry import higher_is_better
from rag_eval.reports.plain_text import plain_text
from rag_eval.results.row import EvalResult, MetricResult
from rag_eval.samples import MetricId
from rag_eval.scoring.evaluator import Evaluator, create_evaluator

# Reasons are shown in table cells and on terminals.
_MOST_FINDINGS: Final = 5
_LONGEST: Final = 300  # characters of an explanation or a finding


@dataclass(frozen=True, slots=True)
class MetricScore:
    """One metric of one sample, as the integrations pass it on.

    Attributes
    ----------
    metric : str
    score : float or None
        Exactly that of :func:`rag_eval.evaluate`; None for a null, never 0.
    passed : bool or None
        By the threshold and direction of the metric.
    reason : str
        The explanation and the most severe signals, on one line, safe to print.
    null_reason : str
        Why the score is null, such as ``missing_field``; empty if there is a score.
    facts : dict
        Metadata of the score: ``passed``, ``threshold``, ``higher_is_better`` and
        ``null_reason``, without values that are None.
    """

    metric: MetricId
    score: float | None
    passed: bool | None
    reason: str
    null_reason: str
    facts: dict[str, Any]


class SampleScorer:
    """Scores samples one at a time, with options that are checked once.

    Parameters
    ----------
    metrics : iterable of str or None
        As for :func:`rag_eval.evaluate`.
    options : mapping
        Those of :func:`rag_eval.create_evaluator`; the default profile is ``grounded``.

    Attributes
    ----------
    plan : Plan
        The metrics with their thresholds and fields.
    """

    __slots__ = ("_evaluator", "plan")

    def __init__(self, metrics: Iterable[str] | None, options: Mapping[str, Any]) -> None:
        self._evaluator = evaluator(metrics, options)
        known = self._evaluator.config
        self.plan = planned(known["metrics"], known)[0]

    def score(self, sample: Mapping[str, Any]) -> list[MetricScore]:
        """The scores of one sample, in the order of the metrics."""
        return metric_scores(self._evaluator.evaluate(dict(sample)))

    async def ascore(self, sample: Mapping[str, Any]) -> list[MetricScore]:
        """Like :meth:`score`, with the judge called in the caller's event loop."""
        return metric_scores(await self._evaluator.aevaluate(dict(sample)))


def evaluator(metrics: Iterable[str] | None, options: Mapping[str, Any]) -> Evaluator:
    """An evaluator of the grounded profile, unless the options name another.

    Users of these tools compare scores with human judgement, not with rag-eval-node-ts, for which
    the library's own default exists.
    """
    named = None if metrics is None else list([metrics] if isinstance(metrics, str) else metrics)
    return create_evaluator(**{"profile": "grounded", **options, "metrics": named})


def metric_scores(result: EvalResult) -> list[MetricScore]:
    """What tools get for each metric of a result."""
    return [_score(metric, found) for metric, found in result.metrics.items()]


def _score(metric: MetricId, found: MetricResult) -> MetricScore:
    null_reason = found.null_reason.name.lower() if found.null_reason else ""
    facts = {
        "passed": found.passed,
        "threshold": found.threshold,
        "higher_is_better": higher_is_better(metric),
        "null_reason": null_reason or None,
    }
    known = {name: value for name, value in facts.items() if value is not None}
    return MetricScore(metric, found.score, found.passed, _reason(found), null_reason, known)


def _reason(found: MetricResult) -> str:
    severities = {"critical": 0, "warning": 1, "info": 2}
    worst = sorted(found.signals, key=lambda signal: severities[signal.severity])
    lines = [plain_text(found.explanation, _LONGEST)]
    for signal in worst[:_MOST_FINDINGS]:
        text = plain_text(signal.message, _LONGEST)
        evidence = plain_text(signal.evidence or "", _LONGEST)
        lines.append(f"{text} “{evidence}”" if evidence else text)
    if len(worst) > _MOST_FINDINGS:
        lines.append(f"({len(worst) - _MOST_FINDINGS} more)")
    return " ".join(lines)
