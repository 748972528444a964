"""Two runs -> differences of their means, and which of them are regressions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rag_eval.errors import InputError, SignatureMismatchError
from rag_eval.metrics.registry import higher_is_better, to_metric_id
from rag_eval.options.signature import Signature
from rag_eval.plumbing.checked_values import number, share
from rag_eval.plumbing.spelling import camel_case
from rag_eval.results.aggregates import MetricAggregate
from rag_eval.samples import MetricId

_ACCEPT: Final = (
    "add --allow-signature-mismatch (in Python: allow_signature_mismatch=True) to compare them "
    "anyway"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRegression:
    """One metric's mean now and in the baseline.

    Attributes
    ----------
    delta : float
        Current minus baseline; NaN where not comparable.
    regressed : bool
        The mean got worse by more than the regression threshold.
    not_comparable : bool
        The baseline has scores and this run has none, which fails a gate.
    unscored : bool
        Neither run has scores. Both means are 0 then.
    """

    metric_id: MetricId
    baseline_mean: float
    current_mean: float
    delta: float
    regressed: bool
    not_comparable: bool = False
    unscored: bool = False

    @property
    def failed(self) -> bool:
        """Whether this fails a gate."""
        return self.regressed or self.not_comparable

    def to_dict(self) -> dict[str, Any]:
        """The change in the schema of result files; a missing mean is null."""
        result: dict[str, Any] = {
            "metricId": camel_case(self.metric_id),
            "baselineMean": _or_null(self.baseline_mean),
            "currentMean": _or_null(self.current_mean),
            "delta": _or_null(self.delta),
            "regressed": self.regressed,
        }
        if self.not_comparable:
            result["notComparable"] = True
        return result


def _or_null(mean: float) -> float | None:
    return None if math.isnan(mean) else mean


@dataclass(frozen=True, slots=True)
class Baseline:
    """The means and the signature of an earlier run, for comparison.

    ``unscored`` names the metrics that were null in every row; files hold a mean of 0 for them. A
    table of scores ``is_table``: without a signature it may be of any settings.
    """

    means: dict[MetricId, float]
    unscored: frozenset[MetricId]
    signature: Signature | None
    is_table: bool = False

    @classmethod
    def of(cls, value: object) -> Baseline:
        """The baseline in a batch result, or in one loaded from a JSON file of either library."""
        aggregates: Any = getattr(value, "aggregates", None)
        if isinstance(value, Mapping):
            aggregates = value.get("aggregates")
            found = value.get("signature")
            signature = None if found is None else Signature.from_dict(found)
        else:
            signature = getattr(value, "signature", None)
        if not isinstance(aggregates, Mapping):
            raise InputError(
                "baseline_result must be a batch result with aggregates, got "
                + (f"keys {sorted(value)}" if isinstance(value, Mapping) else type(value).__name__)
            )
        return cls.of_means(aggregates, signature)

    @classmethod
    def of_means(
        cls, aggregates: Mapping[str, Any], signature: Signature | None, *, is_table: bool = False
    ) -> Baseline:
        """The baseline whose metrics have these statistics, as objects or as a file has them."""
        means: dict[MetricId, float] = {}
        unscored: set[MetricId] = set()
        for name, aggregate in aggregates.items():
            try:
                metric = to_metric_id(name)
            except InputError:
                continue  # a metric of its own that the other library computed
            if not _has_mean(aggregate):
                continue  # verdicts alone
            means[metric], null_rate = _mean_and_null_rate(name, aggregate)
            if null_rate == 1:
                unscored.add(metric)
        return cls(means, frozenset(unscored), signature, is_table)


def _has_mean(aggregate: object) -> bool:
    """Whether rows had scores; a cascade without a calibration writes verdicts alone."""
    if isinstance(aggregate, MetricAggregate):
        return not (aggregate.n and math.isnan(aggregate.mean))
    if not isinstance(aggregate, Mapping) or "passRate" not in aggregate:
        return True
    return aggregate.get("mean", 0) is not None


def _mean_and_null_rate(name: str, aggregate: object) -> tuple[float, float]:
    if isinstance(aggregate, MetricAggregate):
        return (aggregate.mean, aggregate.null_rate) if aggregate.n else (0.0, 1.0)
    found = aggregate if isinstance(aggregate, Mapping) else {}
    place = f"baseline_result: aggregates.{name}"
    mean = number(found.get("mean"), f"{place}.mean")
    null_rate = found.get("nullRate")
    return mean, 0.0 if null_rate is None else share(null_rate, f"{place}.nullRate")


def check_signatures(
    current: Signature, baseline: Baseline, metrics: Iterable[MetricId]
) -> str | None:
    """Raise an error for a baseline with other settings; return a note if they are unknown.

    Only what the metrics compared depend on counts.

    Raises
    ------
    SignatureMismatchError
        Naming each setting that differs.
    """
    compared = [metric for metric in metrics if metric in baseline.means]
    theirs = baseline.signature
    if theirs is None and baseline.is_table:
        return unknown_settings("the baseline")
    if theirs is None:
        if current.profile != "overlap":
            raise SignatureMismatchError(
                "the baseline has no signature, so it counts as profile overlap; this run uses "
                f"{current.profile}. Score its samples again, or {_ACCEPT}"
            )
        return (
            "the baseline has no signature: it is assumed to use profile overlap with default "
            "options"
        )
    differences = current.differences(theirs, compared)
    if differences:
        raise SignatureMismatchError(
            "this run was scored with other settings than the baseline "
            f"({'; '.join(differences)}). Use the same settings for both, or {_ACCEPT}"
        )
    return None


def unknown_settings(name: str) -> str:
    """What to say about a table of scores without a signature; without a name, about both."""
    who = f"{name} does not record its" if name else "the runs do not record their"
    return f"{who} settings, so the settings are not compared"


def compare_means(
    current: Mapping[MetricId, MetricAggregate],
    baseline: Baseline,
    metrics: Iterable[MetricId],
    threshold: float,
) -> list[MetricRegression]:
    """One row per metric that the baseline also has, in the order of ``metrics``.

    A drop of more than ``threshold`` is a regression, or a rise where lower is better; one of
    exactly that much is not.
    """
    shared = [metric for metric in metrics if metric in baseline.means]
    return [
        mean_regression(
            metric,
            baseline.means[metric],
            current[metric].mean,
            threshold,
            unscored=metric in baseline.unscored,
        )
        for metric in shared
    ]


def mean_regression(
    metric: MetricId, before: float, now: float, threshold: float, *, unscored: bool = False
) -> MetricRegression:
    """The means of one metric in both runs; ``unscored``: the baseline has no scores."""
    is_null = math.isnan(now)
    if unscored:
        before = 0.0
        now = 0.0 if is_null else now
    delta = now - before
    rises = unscored or higher_is_better(metric)  # any score is better than none
    return MetricRegression(
        metric_id=metric,
        baseline_mean=before,
        current_mean=now,
        delta=delta,
        regressed=(delta if rises else -delta) < -threshold,
        not_comparable=is_null and not unscored,
        unscored=is_null and unscored,
    )
