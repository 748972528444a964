"""A batch result and its gates in; whether the run passes, and why not, out.

A verdict is None if no gate was set.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rag_eval.errors import InputError
from rag_eval.metrics.ids import METRIC_IDS, is_scorer_id
from rag_eval.metrics.registry import higher_is_better, to_metric_id
from rag_eval.metrics.seven import PROFILE_METRICS
from rag_eval.options.signature import Signature
from rag_eval.options.verdict_settings import VerdictSettings
from rag_eval.plumbing.checked_values import number, plain, share
from rag_eval.plumbing.json_records import record_json
from rag_eval.plumbing.spelling import camel_case, counted
from rag_eval.results.batch import BatchSummary
from rag_eval.results.missing_texts import MissingTexts
from rag_eval.results.regressions import MetricRegression
from rag_eval.samples import MetricId

_MOST_DIGITS: Final = 17


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """Limits that a run has to meet.

    Attributes
    ----------
    min_pass_rate : float, optional
        Minimum share of the scored samples that pass.
    min_mean : mapping of MetricId to float
        Minimum mean score per metric; a metric without any score fails.
    max_mean : mapping of MetricId to float
        Maximum allowed mean per lower-is-better metric; one without any score fails.
    max_judge_failures : float, optional
        Maximum share of failed judgements; a native score that replaces a judgement counts as
        failed. The default is 0 if another gate is set.
    allow_missing : bool
        Accept samples without a question, an answer or contexts. Otherwise a limit on the mean of
        a metric that reads the text fails, as nulls are excluded from means, and so does a limit
        on the pass rate if such a sample passes by its other metrics.

    A baseline adds one gate per metric that it shares with the run.
    """

    min_pass_rate: float | None = None
    min_mean: Mapping[MetricId, float] = field(default_factory=dict)
    max_judge_failures: float | None = None
    max_mean: Mapping[MetricId, float] = field(default_factory=dict)
    allow_missing: bool = False

    @classmethod
    def of(
        cls,
        min_pass_rate: object,
        min_mean: Mapping[str, object] | None,
        metrics: Iterable[MetricId],
        max_judge_failures: object = None,
        max_mean: Mapping[str, object] | None = None,
        *,
        allow_missing: bool = False,
    ) -> Gates:
        """Gates from options, checked against the metrics of the run.

        Raises
        ------
        InputError
            For a limit outside 0 to 1, or on a metric that is not computed.
        """
        computed = list(metrics)
        least = bars_on_means("min_mean", min_mean, computed, rises=True)
        largest = bars_on_means("max_mean", max_mean, computed, rises=False)
        rate = None if min_pass_rate is None else share(min_pass_rate, "min_pass_rate")
        failures = (
            None if max_judge_failures is None else share(max_judge_failures, "max_judge_failures")
        )
        return cls(
            min_pass_rate=rate,
            min_mean=least,
            max_judge_failures=failures,
            max_mean=largest,
            allow_missing=allow_missing,
        )


def bars_on_means(
    option: str, given: Mapping[str, object] | None, computed: list[MetricId], *, rises: bool
) -> dict[MetricId, float]:
    """The limits on means from an option, checked against the computed metrics."""
    if given is not None and not isinstance(given, Mapping):
        raise InputError(f"{option} must be a mapping of metrics, got {given!r}")
    bars: dict[MetricId, float] = {}
    for name, value in (given or {}).items():
        metric = to_metric_id(name)
        check = number if is_scorer_id(metric) else share
        bars[metric] = check(plain(value), f"{option}[{name!r}]")
        if higher_is_better(metric) != rises:
            way, other = ("lower", "max_mean") if rises else ("higher", "min_mean")
            raise InputError(
                f"{option} does not apply to {metric}, where {way} is better: use {other} "
                f"(--{other.replace('_', '-')})"
            )
        if metric not in computed:
            raise InputError(
                f"{option} is given for {metric}, which is not computed; "
                f"computed: {', '.join(computed)}. Name it among the metrics, too"
            )
    return bars


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOutcome:
    """The outcome of one gate.

    Attributes
    ----------
    gate : {"min_pass_rate", "min_mean", "max_mean", "missing_texts", "regression", ...}
        A stored run has more: see :class:`rag_eval.gating.guards.Guards`.
    metric_id : MetricId or None
        None if the gate is not about one metric.
    found, wanted : float or None
        Value and limit. For a regression: the difference from the baseline's mean and the largest
        accepted loss, with its sign. ``found`` is None without scores.
    message : str
        Both in a sentence.
    """

    gate: str
    metric_id: MetricId | None = None
    held: bool
    found: float | None
    wanted: float
    message: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        metric = {} if self.metric_id is None else {"metricId": camel_case(self.metric_id)}
        rest = record_json(self, without=("gate", "metric_id"))
        return {"gate": camel_case(self.gate), **metric, **rest}


def check_gates(
    result: BatchSummary,
    gates: Gates,
    regression_threshold: float,
    against: Sequence[GateOutcome] = (),
) -> list[GateOutcome]:
    """The outcome of every gate that was set.

    ``against`` holds the findings of a policy against a baseline.

    Raises
    ------
    InputError
        For a pass rate where no score can fail a row.
    """
    bars = {**gates.min_mean, **gates.max_mean}
    outcomes = [_mean_outcome(result, metric, bar) for metric, bar in bars.items()]
    outcomes += [regression_outcome(row, regression_threshold) for row in result.regressions or ()]
    outcomes += against
    if gates.min_pass_rate is not None:
        check_can_fail(result.settings, "min_pass_rate (--min-pass-rate)", "the run")
        outcomes.insert(0, pass_rate_outcome(result.n_passed, result.n_rows, gates.min_pass_rate))
    if not gates.allow_missing:
        rated = gates.min_pass_rate is not None
        outcomes += missing_texts_outcomes(
            result.missing_texts,
            bars,
            deciding_metrics(result.metrics, result.settings) if rated else (),
            "--allow-missing",
        )
    judging, failures = result.judging, gates.max_judge_failures
    if judging is not None and (outcomes or failures is not None):
        bar = 0.0 if failures is None else failures
        outcomes.append(judge_failure_outcome(judging.n_failed, judging.n_wanted, bar))
    return outcomes


def verdict_of(gates: Collection[GateOutcome], *, whole: bool = True) -> bool | None:
    """Whether a run is complete and meets every gate; None if no gate was set."""
    return (whole and all(gate.held for gate in gates)) if gates else None


def no_gate_text(
    metrics: Sequence[MetricId], n_failed: int = 0, *, signature: Signature | None = None
) -> str:
    """The text shown in place of a verdict: how to set a gate, also for failed judgements.

    The scores of the profile ``overlap`` are no good for one, so the text names the other profile.
    """
    profile = ""
    if signature is not None and signature.profile == "overlap" and set(metrics) & set(METRIC_IDS):
        profile = "--profile grounded "
    name = metrics[0] if metrics and "faithfulness" not in metrics else "faithfulness"
    limit = f"{'--min-mean' if higher_is_better(name) else '--max-mean'} {name}=0.7"
    failed = ""
    if n_failed:
        judgements = counted(n_failed, "failed judgement")
        do = "does" if n_failed == 1 else "do"
        failed = (
            f"; {judgements} {do} not affect the exit code: "
            "to fail such a run, add --max-judge-failures 0"
        )
    return f"no gate set: add {profile}{limit}, or compare runs with rag-eval gate{failed}"


def judge_failure_outcome(failed: int, wanted: int, bar: float) -> GateOutcome:
    """The share of failed judgements and its limit."""
    rate, counts = failed / wanted if wanted else 0.0, f"({failed}/{wanted})"
    return share_outcome("max_judge_failures", "share of failed judgements", rate, counts, bar)


def pass_rate_outcome(n_passed: int, n_rows: int, bar: float) -> GateOutcome:
    """The pass rate and its limit; without rows it fails."""
    rate = n_passed / n_rows if n_rows else 0.0
    held, counts = n_rows > 0 and rate >= bar, f"({n_passed}/{n_rows})"
    return share_outcome("min_pass_rate", "pass rate", rate, counts, bar, held=held)


def missing_texts_outcomes(
    missing: MissingTexts,
    limited: Collection[MetricId],
    deciding: Collection[MetricId],
    accept: str,
) -> list[GateOutcome]:
    """A failure if samples that lack a text have slipped through limits; otherwise nothing.

    Parameters
    ----------
    missing : MissingTexts
    limited : collection of MetricId
        Metrics whose means have a limit: nulls are excluded from means.
    deciding : collection of MetricId
        Metrics by which rows pass, if the pass rate has a limit: a row may pass by other metrics.
    accept : str
        The flag that accepts such samples.
    """
    if not missing.lack(limited) and not missing.lack_and_pass(deciding):
        return []
    message = f"{missing.text({*limited, *deciding})}; to accept that, add {accept}"
    return [GateOutcome(gate="missing_texts", held=False, found=None, wanted=0.0, message=message)]


def share_outcome(
    gate: str,
    what: str,
    found: float,
    counts: str,
    bar: float,
    *,
    held: bool | None = None,
    metric_id: MetricId | None = None,
) -> GateOutcome:
    """A share of rows and its limit.

    The limit is a minimum where ``held`` is given, otherwise a maximum.
    """
    is_held = found <= bar if held is None else held
    least, beyond = ("at most", "above") if held is None else ("at least", "below")
    shown, wanted = apart(found, bar)
    return GateOutcome(
        gate=gate,
        metric_id=metric_id,
        held=is_held,
        found=found,
        wanted=bar,
        message=f"{what} {shown} {counts} is {least if is_held else beyond} {wanted}",
    )


def deciding_metrics(
    metrics: Collection[MetricId], settings: VerdictSettings | None
) -> Collection[MetricId]:
    """The metrics by which rows pass or fail, by default thresholds if the settings are unknown.

    Those of the grounded profile: in the other, rows without a text are errors.
    """
    if settings is None:
        known = PROFILE_METRICS["grounded"]
        return [name for name in metrics if name in known and known[name].threshold is not None]
    if settings.composite_threshold is not None:
        return metrics
    return [name for name in metrics if settings.thresholds.get(name) is not None]


def check_can_fail(settings: VerdictSettings | None, gate: str, run: str) -> None:
    """Raise an InputError that names the gate if no score can fail a row of a run."""
    if settings is not None and settings.thresholds and not settings.can_fail:
        metrics = list(settings.thresholds)
        raise InputError(
            f"{gate}: no row of {run} can fail, because no threshold is set for "
            f"{', '.join(metrics)}. Score the rows again with one, such as --thresholds "
            f"{metrics[0]}=0.5"
        )


def _mean_outcome(result: BatchSummary, metric: MetricId, bar: float) -> GateOutcome:
    aggregate = result.aggregates[metric]
    return mean_outcome(metric, aggregate.mean, aggregate.n, aggregate.n_rows, bar)


def mean_outcome(metric: MetricId, mean: float, n: int, n_rows: int, bar: float) -> GateOutcome:
    """A mean over ``n`` of ``n_rows`` and its limit; without scores it fails."""
    share = f"({n}/{n_rows})"
    has_mean = n > 0 and not math.isnan(mean)
    rises = higher_is_better(metric)
    held = has_mean and (mean >= bar if rises else mean <= bar)
    found, wanted = apart(mean, bar)
    least, beyond = ("at least", "below") if rises else ("at most", "above")
    if has_mean:
        message = f"{metric} mean {found} {share} is {least if held else beyond} {wanted}"
    else:
        lack = "verdicts but no mean" if n else "no scores"
        message = f"{metric} has {lack} {share}; its mean must be {least} {wanted}"
    return GateOutcome(
        gate="min_mean" if rises else "max_mean",
        metric_id=metric,
        held=held,
        found=mean if has_mean else None,
        wanted=bar,
        message=message,
    )


def regression_outcome(row: MetricRegression, threshold: float) -> GateOutcome:
    """A mean and the baseline's mean, in words."""
    metric = row.metric_id
    measured = not (row.not_comparable or row.unscored)
    rises = higher_is_better(metric)
    if row.not_comparable:
        message = f"{metric} has no scores; the baseline's mean is {row.baseline_mean:.2f}"
    elif row.unscored:
        message = f"{metric} has no scores, neither in this run nor in the baseline"
    else:
        now, before = apart(row.current_mean, row.baseline_mean)
        change, limit = apart(abs(row.delta), threshold)
        way = "below" if row.delta < 0 else "above"
        message = f"{metric} mean {now} is {change} {way} the baseline's {before}"
        if now == before:
            message = f"{metric} mean {now}, same as the baseline"
        elif (row.delta < 0) == rises:
            message += f" (threshold {limit})"
    return GateOutcome(
        gate="regression",
        metric_id=metric,
        held=not row.failed,
        found=row.delta if measured else None,
        wanted=-threshold if rises else threshold,
        message=message,
    )


def apart(found: float, wanted: float) -> tuple[str, str]:
    """Two numbers with enough decimals, at least two, to tell them apart."""
    for digits in range(2, _MOST_DIGITS + 1):
        texts = f"{found:.{digits}f}", f"{wanted:.{digits}f}"
        if texts[0] != texts[1]:
            return texts
    return f"{found:.2f}", f"{wanted:.2f}"
