"""Scorers among the metrics: their options in, checked scorers out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.judge.replies import JudgeFn
from rag_eval.metrics.contract import JudgedRule, Scorer, ScorerSpec
from rag_eval.metrics.seven import MetricSpec
from rag_eval.samples import (
    MetricId,
    are_of_kernels,
    is_scorer_id,
    needs_judge,
    snake_case,
    to_metric_id,
)

if TYPE_CHECKING:
    from rag_eval.scorers.mastra import MastraScorer


@dataclass(frozen=True, slots=True)
class ChosenScorer:
    """A scorer that a call asks for, with its settings.

    Attributes
    ----------
    spec : ScorerSpec
    options : dict
        Those that were given, by their own names.
    scorer : Scorer
    """

    spec: ScorerSpec
    options: Mapping[str, Any]
    scorer: Scorer = field(compare=False, repr=False)

    def signature(self) -> dict[str, Any]:
        """What could change a score, as JSON values."""
        given = {**self.options, **self.scorer.signed}
        changed = {
            name: json_value(value)
            for name, value in given.items()
            if name in self.spec.required_options or value != self.spec.options[name]
        }
        return {"version": self.spec.version, **({"options": changed} if changed else {})}


def chosen_scorers(
    options: Mapping[str, Any], columns: tuple[MetricId, ...]
) -> dict[MetricId, ChosenScorer]:
    """The scorers among the columns that need no judge, made by the options of the call.

    Raises
    ------
    InputError
        For an option that a scorer does not have, lacks, or whose value is none of it.
    """
    if are_of_kernels(columns):
        return {}
    wanted = [metric for metric in columns if is_scorer_id(metric) and not needs_judge(metric)]
    if not wanted:
        return {}
    from rag_eval.metrics.registry import spec_of

    given = scorer_options(options, columns)
    found = {}
    for metric in wanted:
        spec = spec_of(metric)
        if spec is None:
            raise InputError(f"metric {metric!r} was registered and is no more")
        found[metric] = _chosen(spec, given.get(metric, {}))
    return found


def scorer_spec(spec: ScorerSpec) -> MetricSpec:
    """The contract of a scorer in the form of those of kernels."""
    return MetricSpec(
        id=spec.id,
        number=-1,
        threshold=spec.threshold,
        fields=spec.fields,
        options=(),
        needs_ground_truth="ground_truth" in spec.fields,
        summary=spec.summary,
        higher_is_better=spec.higher_is_better,
        in_composite=False,
        null_when=spec.null_when or ("a field is missing" if spec.fields else "never"),
        range=spec.range,
    )


def _chosen(spec: ScorerSpec, given: Mapping[str, Any]) -> ChosenScorer:
    owner = f"scorer_options[{spec.id!r}]"
    known = (*spec.required_options, *spec.options)
    options: dict[str, Any] = {}
    for name, value in given.items():
        key = snake_case(str(name))
        if key not in known:
            hint = suggestion(key, known) or (f" (options: {', '.join(known)})" if known else "")
            raise InputError(f"{owner}: {spec.id} has no option {name!r}{hint}")
        if key in options:
            raise InputError(f"{owner} has {key} twice")
        options[key] = value
    missing = [name for name in spec.required_options if options.get(name) is None]
    if missing:
        raise InputError(
            f"{spec.id} needs the option {missing[0]}: "
            f"scorer_options={{{spec.id!r}: {{{missing[0]!r}: ...}}}}, on the command line "
            f"--scorer-options '{spec.id}={{\"{missing[0]}\": ...}}'"
        )
    try:
        scorer = spec.create(**{**spec.options, **options})
    except InputError as error:
        raise InputError(f"{owner}: {error}") from None
    chosen = ChosenScorer(spec, options, scorer)
    try:
        chosen.signature()
    except Exception as error:
        # Something within the options holds itself, or cannot be compared with the default.
        kind = type(error).__name__
        raise InputError(f"{owner}: an option cannot be part of a signature: {kind}") from None
    return chosen


def scorer_options(
    options: Mapping[str, Any], columns: tuple[MetricId, ...]
) -> dict[MetricId, Mapping[str, Any]]:
    """The options that a call gives scorers, by their ids.

    Raises
    ------
    InputError
        For a name that is no scorer among the columns, and for two spellings of one.
    """
    found: dict[MetricId, Mapping[str, Any]] = {}
    given = options.get("scorer_options") or {}
    if not isinstance(given, Mapping):
        raise InputError(f"scorer_options must be a mapping of metrics, got {glance(given)}")
    for name, value in given.items():
        metric = to_metric_id(name)
        if not is_scorer_id(metric) or metric not in columns:
            raise InputError(f"scorer_options names {name}, which is no scorer among the metrics")
        if not isinstance(value, Mapping):
            raise InputError(f"scorer_options[{name!r}] must be a mapping of options")
        if needs_judge(metric) and not metric.startswith("mastra.") and value:
            raise InputError(f"scorer_options: {metric} takes no options")
        if metric in found:
            raise InputError(f"scorer_options names {metric} twice")
        found[metric] = dict(value)
    return found


def judged_rule(metric: MetricId) -> JudgedRule:
    """How a judge scores a scorer that needs none."""
    from rag_eval.scorers.regtrace.judged import JUDGED

    return JUDGED[metric]


def scorer_of(
    metric: MetricId, judge: JudgeFn, options: Mapping[MetricId, Mapping[str, Any]]
) -> tuple[MastraScorer[Any], bool]:
    """A scorer with its options, and whether it asks for a reason: its option ``with_reason``."""
    from rag_eval.scorers.mastra import MASTRA_SCORERS

    given = dict(options.get(metric) or {})
    with_reason = given.pop("with_reason", given.pop("withReason", True))
    if not isinstance(with_reason, bool):
        raise InputError(f"{metric}: with_reason must be true or false, got {glance(with_reason)}")
    return MASTRA_SCORERS[metric].factory(judge, given), with_reason


def check_scorers(
    judged: tuple[MetricId, ...],
    judge: JudgeFn,
    options: Mapping[MetricId, Mapping[str, Any]],
) -> None:
    """Make each scorer once: what is wrong with its options is said before any call."""
    for metric in judged:
        if metric.startswith("mastra."):
            scorer_of(metric, judge, options)


def changed_settings(
    metric: MetricId, judge: JudgeFn, options: Mapping[MetricId, Mapping[str, Any]]
) -> dict[str, Any]:
    """The settings of a scorer that are not the usual ones, as JSON values.

    However they were spelled; whether a reason is asked for is none: it changes no score.
    """
    if not needs_judge(metric) or not metric.startswith("mastra."):
        return {}
    from rag_eval.scorers.mastra import MASTRA_SCORERS

    usual = MASTRA_SCORERS[metric].default_options
    scorer, _ = scorer_of(metric, judge, options)
    found = {each.name: getattr(scorer.settings, each.name) for each in fields(scorer.settings)}
    return {
        name: json_value(value)
        for name, value in found.items()
        if name not in usual or value != usual[name]
    }


def json_value(value: Any) -> Any:
    """A value as it comes back from JSON; what JSON does not have, a function, by its name."""
    if isinstance(value, Mapping):
        return {str(name): json_value(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: json_value(getattr(value, each.name)) for each in fields(value)}
    return getattr(value, "__qualname__", type(value).__qualname__)
