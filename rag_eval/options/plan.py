"""Options, merged and by their own names -> what a call is to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final

from rag_eval.errors import InputError, glance
from rag_eval.kernels.settings import COMPOSITE_THRESHOLDS, LARGEST_WEIGHT, Settings, settings_of
from rag_eval.metrics.contract import Metric
from rag_eval.metrics.ids import METRIC_IDS, are_of_kernels, is_scorer_id
from rag_eval.metrics.registry import judged_rule, needs_judge, to_metric_id
from rag_eval.metrics.seven import PROFILE_METRICS
from rag_eval.options.judge_types import asks_for_judging
from rag_eval.plumbing.checked_values import number, plain
from rag_eval.samples import MetricId, Profile

if TYPE_CHECKING:
    from rag_eval.kernels.verdicts import VerdictRule
    from rag_eval.options.judging import Judging
    from rag_eval.options.scorers import ChosenScorer


def _weight(value: object, name: str) -> float:
    """A number whose products and sums with scores stay finite."""
    checked = number(plain(value), name)
    if abs(checked) > LARGEST_WEIGHT:
        raise InputError(f"{name} must be at most {LARGEST_WEIGHT:g}, got {value}")
    return checked


@dataclass(frozen=True)
class Plan:
    """What one call computes and how its scores become a verdict; calls may share one.

    Attributes
    ----------
    metrics : tuple of MetricId
        As requested; a metric that is named twice counts twice in the composite score.
    columns : tuple of MetricId
        The same without repeats: the columns of the score matrix.
    composite_threshold : float or None
        None if the composite score does not affect the verdict.
    thresholds, weights : dict
        Per metric in ``columns``; a threshold of None lets every score pass.
    specs : dict of Metric
        The contracts of the columns.
    calibrations : dict of Calibration
        Per metric, where one was given.
    judging : Judging or None
        The judging of the call; None without a judge.
    scorers : dict of ChosenScorer
        The scorers among the columns that need no judge.
    """

    metrics: tuple[MetricId, ...]
    columns: tuple[MetricId, ...]
    thresholds: dict[MetricId, float | None]
    weights: dict[MetricId, float]
    composite_threshold: float | None
    settings: Settings
    specs: Mapping[MetricId, Metric]
    calibrations: Mapping[MetricId, Any] = field(default_factory=dict)
    judging: Judging | None = None
    scorers: Mapping[MetricId, ChosenScorer] = field(default_factory=dict)

    @cached_property
    def native_columns(self) -> tuple[MetricId, ...]:
        """The columns that kernels compute, even if a judge replaces the score."""
        if self.judging is None and not self.scorers:
            return self.columns
        return tuple(metric for metric in self.columns if not is_scorer_id(metric))

    @cached_property
    def rule(self) -> VerdictRule:
        """What verdicts follow from."""
        from rag_eval.kernels.verdicts import VerdictRule

        return VerdictRule.of(
            self.metrics,
            self.columns,
            self.thresholds,
            self.weights,
            self.composite_threshold,
            self.specs,
        )

    @property
    def computed_columns(self) -> tuple[MetricId, ...]:
        """The columns that kernels and scorers compute before any judge is called."""
        if self.judging is None:
            return self.columns
        return tuple(metric for metric in self.columns if not needs_judge(metric))

    @property
    def scorer_fields(self) -> tuple[str, ...]:
        """The fields of a sample that the scorers among the columns read."""
        specs = [chosen.spec for chosen in self.scorers.values()]
        return tuple(dict.fromkeys(name for s in specs for name in s.reads))


def metric_list(metrics: Iterable[str] | None) -> tuple[MetricId, ...]:
    """The metrics asked for, all seven for None."""
    if metrics is None:
        return METRIC_IDS
    if isinstance(metrics, (str, bytes, Mapping)) or not isinstance(metrics, Iterable):
        raise InputError(
            f"metrics must be a list of metric ids, got {glance(metrics)}; expected "
            "['faithfulness', ...]"
        )
    return tuple(to_metric_id(name) for name in metrics)


def _thresholds(
    given: Mapping[str, Any], specs: Mapping[MetricId, Metric], columns: Iterable[MetricId]
) -> dict[MetricId, float | None]:
    checked = {name: number(plain(value), f"thresholds[{name!r}]") for name, value in given.items()}
    return {metric: checked.get(metric, specs[metric].threshold) for metric in columns}


def _weights(
    given: Mapping[str, Any], specs: Mapping[MetricId, Metric], columns: Iterable[MetricId]
) -> dict[MetricId, float]:
    weights: dict[MetricId, float] = {}
    for metric in columns:
        weight, spec = given.get(metric), specs[metric]
        owner = f"composite_weights[{metric!r}]"
        if weight is None:
            weights[metric] = 1.0 if spec.in_composite else 0.0
            continue
        if not spec.in_composite and not is_scorer_id(metric):
            raise InputError(f"{owner}: a diagnostic cannot be part of the composite score")
        if is_scorer_id(metric) and (spec.range != (0.0, 1.0) or not spec.higher_is_better):
            raise InputError(
                f"{owner}: only scores from 0 to 1 for which higher is better can be part of the "
                "composite score"
            )
        weights[metric] = _weight(weight, owner)
    return weights


def _specs(
    columns: Iterable[MetricId],
    profile: Profile,
    judging: Judging | None,
    scorers: Mapping[MetricId, ChosenScorer],
) -> dict[MetricId, Metric]:
    """The contracts of the columns, by whoever scores them."""
    specs: dict[MetricId, Metric] = {}
    for metric in columns:
        if metric in scorers:
            specs[metric] = scorers[metric].spec
        elif judging is not None and metric in judging.judged and not judging.is_cascade:
            specs[metric] = judged_rule(metric).metric[judging.style]
        elif metric not in PROFILE_METRICS[profile]:
            raise InputError(
                f"the metric {metric!r} needs --profile grounded (in Python: profile='grounded')"
            )
        else:
            specs[metric] = PROFILE_METRICS[profile][metric]
    return specs


def _settings(options: Mapping[str, Any], judging: Judging | None) -> Settings:
    if judging is None or not judging.is_cascade:
        return settings_of(options)
    if options.get("profile") not in (None, "grounded"):
        raise InputError(
            "mode 'cascade' needs --profile grounded (in Python: profile='grounded'), whose scores "
            "can be calibrated"
        )
    return settings_of({**options, "profile": "grounded"})


def _beside_kernels(
    options: Mapping[str, Any], columns: tuple[MetricId, ...]
) -> tuple[Judging | None, Mapping[MetricId, ChosenScorer]]:
    """What is asked of a judge and of scorers: of neither in most calls, which load neither."""
    if are_of_kernels(columns) and not asks_for_judging(options):
        return None, {}
    from rag_eval.options.judging import make_judging
    from rag_eval.options.scorers import chosen_scorers

    return make_judging(options, columns), chosen_scorers(options, columns)


# What most calls name, and nothing else; the last ones do not matter to a plan.
_USUAL: Final = frozenset({"profile", "threads", "keep_texts", "on_progress"})


def make_plan(metrics: Iterable[str] | None, options: Mapping[str, Any]) -> Plan:
    """The plan of a call from its normalized options."""
    asked, profile = metric_list(metrics), options.get("profile")
    is_usual = _USUAL.issuperset(options) and are_of_kernels(asked)
    if is_usual and (profile is None or type(profile) is str):
        return _usual_plan(asked, profile)
    return _plan(asked, options)


@lru_cache(maxsize=64)
def _usual_plan(metrics: tuple[MetricId, ...], profile: str | None) -> Plan:
    return _plan(metrics, {"profile": profile})


def _plan(metrics: tuple[MetricId, ...], options: Mapping[str, Any]) -> Plan:
    columns = tuple(dict.fromkeys(metrics))
    judging, scorers = _beside_kernels(options, columns)
    settings = _settings(options, judging)
    specs = _specs(columns, settings.profile, judging, scorers)
    threshold = options.get("composite_threshold")
    return Plan(
        metrics=metrics,
        columns=columns,
        thresholds=_thresholds(options.get("thresholds") or {}, specs, columns),
        weights=_weights(options.get("composite_weights") or {}, specs, columns),
        composite_threshold=COMPOSITE_THRESHOLDS[settings.profile]
        if threshold is None
        else number(plain(threshold), "composite_threshold"),
        settings=settings,
        specs=specs,
        judging=judging,
        scorers=scorers,
    )
