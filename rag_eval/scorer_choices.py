"""Scorers of other tools among the metrics: their options in, checked scorers out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from rag_eval.errors import InputError
from rag_eval.judge.replies import JudgeFn
from rag_eval.samples import MetricId, is_scorer_id, to_metric_id

if TYPE_CHECKING:
    from rag_eval.scorers.mastra import MastraScorer


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
        raise InputError(f"scorer_options must be a mapping of metrics, got {given!r:.80}")
    for name, value in given.items():
        metric = to_metric_id(name)
        if not is_scorer_id(metric) or metric not in columns:
            raise InputError(f"scorer_options names {name}, which is no scorer among the metrics")
        if not isinstance(value, Mapping):
            raise InputError(f"scorer_options[{name!r}] must be a mapping of options")
        if not metric.startswith("mastra.") and value:
            raise InputError(f"scorer_options: {metric} takes no options")
        if metric in found:
            raise InputError(f"scorer_options names {metric} twice")
        found[metric] = dict(value)
    return found


def scorer_of(
    metric: MetricId, judge: JudgeFn, options: Mapping[MetricId, Mapping[str, Any]]
) -> tuple[MastraScorer[Any], bool]:
    """A scorer with its options, and whether it asks for a reason: its option ``with_reason``."""
    from rag_eval.scorers.mastra import MASTRA_SCORERS

    given = dict(options.get(metric) or {})
    with_reason = given.pop("with_reason", given.pop("withReason", True))
    if not isinstance(with_reason, bool):
        raise InputError(f"{metric}: with_reason must be true or false, got {with_reason!r}")
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
    if not metric.startswith("mastra."):
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
