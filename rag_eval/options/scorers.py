"""Scorers among the metrics: their options in, checked scorers out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.judge.replies import JudgeFn
from rag_eval.metrics.contract import JudgedScorer, Metric, Scorer
from rag_eval.metrics.ids import are_of_kernels, is_scorer_id
from rag_eval.metrics.registry import judged_rule, metric_of, needs_judge, to_metric_id
from rag_eval.plumbing.json_text import json_value
from rag_eval.plumbing.spelling import snake_case
from rag_eval.samples import MetricId


@dataclass(frozen=True, slots=True)
class ChosenScorer:
    """A scorer that a call asks for, with its settings.

    Attributes
    ----------
    spec : Metric
    options : dict
        Those that were given, by their own names.
    scorer : Scorer
    """

    spec: Metric
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
        For an option that a scorer does not have, a required option that is missing, or an invalid
        value.
    """
    if are_of_kernels(columns):
        return {}
    wanted = [metric for metric in columns if is_scorer_id(metric) and not needs_judge(metric)]
    if not wanted:
        return {}
    given = scorer_options(options, columns)
    found = {}
    for metric in wanted:
        spec = metric_of(metric)
        if spec is None:
            raise InputError(f"metric {metric!r} is no longer registered")
        found[metric] = _chosen(spec, given.get(metric, {}))
    return found


def _chosen(spec: Metric, given: Mapping[str, Any]) -> ChosenScorer:
    owner = f"scorer_options[{spec.id!r}]"
    known = (*spec.required_options, *spec.options)
    options: dict[str, Any] = {}
    for name, value in given.items():
        key = snake_case(str(name))
        if key not in known:
            hint = suggestion(key, known) or (f" (options: {', '.join(known)})" if known else "")
            raise InputError(f"{owner}: {spec.id} has no option {name!r}{hint}")
        if key in options:
            raise InputError(f"{owner}: {key} is given twice")
        options[key] = value
    missing = [name for name in spec.required_options if options.get(name) is None]
    if missing:
        raise InputError(
            f"{spec.id} needs the option {missing[0]!r}: "
            f"--scorer-options '{spec.id}={{\"{missing[0]}\": ...}}' (in Python: "
            f"scorer_options={{{spec.id!r}: {{{missing[0]!r}: ...}}}})"
        )
    try:
        scorer = spec.scorer(**options)
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
        For a name that is not a scorer among the columns, and for two spellings of one.
    """
    found: dict[MetricId, Mapping[str, Any]] = {}
    given = options.get("scorer_options") or {}
    if not isinstance(given, Mapping):
        raise InputError(f"scorer_options must be a mapping of metrics, got {glance(given)}")
    for name, value in given.items():
        metric = to_metric_id(name)
        if not is_scorer_id(metric) or metric not in columns:
            raise InputError(
                f"scorer_options names {name}, which is not a scorer among the metrics"
            )
        if not isinstance(value, Mapping):
            raise InputError(f"scorer_options[{name!r}] must be a mapping of options")
        if value and needs_judge(metric) and judged_rule(metric).create is None:
            raise InputError(f"scorer_options: {metric} takes no options")
        if metric in found:
            raise InputError(f"scorer_options names {metric} twice")
        found[metric] = dict(value)
    return found


def judged_scorers(
    judged: Iterable[MetricId],
    judge: JudgeFn,
    options: Mapping[MetricId, Mapping[str, Any]],
) -> dict[MetricId, JudgedScorer]:
    """The scorers that only a judge can score, each made once, with its options.

    What is wrong with an option is said here, before any call.
    """
    found = {}
    for metric in judged:
        create = judged_rule(metric).create if needs_judge(metric) else None
        if create is not None:
            found[metric] = create(judge, options.get(metric) or {})
    return found
