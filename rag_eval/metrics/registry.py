"""Every metric by its id: those of kernels, of other tools, and custom ones.

A family, which is a tool, is imported when one of its names is asked for. Each of its modules lists
its metrics in ``METRICS``; a scorer that is listed there is known everywhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Final

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.metrics.contract import JudgedRule, Metric
from rag_eval.metrics.ids import ALL_METRIC_IDS, COMPOSITE, METRIC_IDS, are_of_kernels
from rag_eval.metrics.seven import GROUNDED_METRICS, PROFILE_METRICS
from rag_eval.plumbing.spelling import camel_case, snake_case
from rag_eval.samples import MetricId, Profile

FAMILIES: Final[Mapping[str, tuple[str, ...]]] = {
    "ir": ("rag_eval.scorers.ir",),
    "mastra": (
        "rag_eval.scorers.mastra.judged_specs",
        "rag_eval.scorers.mastra.similarity",
        "rag_eval.scorers.mastra.keyword_coverage",
        "rag_eval.scorers.mastra.tone_consistency",
        "rag_eval.scorers.mastra.completeness",
        "rag_eval.scorers.mastra.tool_call_accuracy_code",
        "rag_eval.scorers.mastra.trajectory_comparison",
        "rag_eval.scorers.mastra.trajectory_unified",
        "rag_eval.scorers.mastra.text_checks",
        "rag_eval.scorers.mastra.call_checks",
    ),
    "hazel": ("rag_eval.scorers.hazel.retrieval", "rag_eval.scorers.hazel.trajectory"),
    "regtrace": (
        "rag_eval.scorers.regtrace.specs",
        "rag_eval.scorers.regtrace.regression",
    ),
    "omk": ("rag_eval.scorers.omk.specs",),
}
"""Per tool, whose name its ids begin with, the modules that list its metrics."""

_MEASURES: Final = "ir"
_OWN_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}(\.[a-z0-9_]{1,64}){0,3}", re.ASCII)

_own: Final[dict[MetricId, Metric]] = {}


@cache
def _family(tool: str) -> dict[MetricId, Metric]:
    """The metrics of a tool, under both spellings of their ids."""
    found: dict[MetricId, Metric] = {}
    for module in FAMILIES[tool]:
        for metric in import_module(module).METRICS:
            assert metric.id not in found, f"{metric.id} has two contracts"
            found[metric.id] = found[camel_case(metric.id)] = metric
    return found


def metric_of(metric: MetricId, profile: Profile = "overlap") -> Metric | None:
    """The contract of a metric by its id; None if there is none.

    Those of the seven differ by profile; one that a profile does not have is that of the other.
    """
    if metric in GROUNDED_METRICS:
        return PROFILE_METRICS[profile].get(metric) or GROUNDED_METRICS[metric]
    return _own.get(metric) or _of_family(metric)


def _of_family(name: str) -> Metric | None:
    tool = name.partition(".")[0]
    if tool not in FAMILIES:
        return None
    found = _family(tool).get(name)
    if found is None and tool == _MEASURES:
        measure: Metric | None = import_module(FAMILIES[tool][0]).measure_of(name)
        return measure
    return found


def all_metrics(profile: Profile = "overlap") -> Iterator[Metric]:
    """All contracts: those of kernels, of other tools one by one, and custom ones.

    Measures of retrieval have any cutoff; those at the usual ones stand for all.
    """
    for name in ALL_METRIC_IDS:
        metric = metric_of(name, profile)
        assert metric is not None
        yield metric
    for tool in FAMILIES:
        yield from {metric.id: metric for metric in _family(tool).values()}.values()
    yield from _own.values()


def known_metric_ids() -> tuple[MetricId, ...]:
    """All metrics by their ids, those of the caller among them."""
    return tuple(metric.id for metric in all_metrics())


def family_of(metric: MetricId) -> str:
    """The tool of a metric; ``rag_eval`` for those of kernels, ``own`` for custom ones."""
    if are_of_kernels((metric,)):
        return "rag_eval"
    tool = metric.partition(".")[0]
    return tool if "." in metric and tool in FAMILIES else "own"


def place_of(metric: str) -> tuple[int, int]:
    """Where a metric stands in a list of many: kernels first, then tool by tool, then all else."""
    if metric in ALL_METRIC_IDS:
        return 0, ALL_METRIC_IDS.index(metric)
    tool = metric.partition(".")[0]
    if tool not in FAMILIES or metric not in _family(tool):
        return len(FAMILIES) + 1, 0
    return 1 + list(FAMILIES).index(tool), list(_family(tool)).index(metric)


# ------------------------------------------------------------------------------------------- names


def _found(name: object) -> MetricId | None:
    """The id of a metric in any spelling of its name."""
    if not isinstance(name, str):
        return None
    snake = snake_case(name)
    if snake in GROUNDED_METRICS and name in (snake, camel_case(snake)):
        return snake
    if name in _own:
        return name
    if (found := _of_family(name)) is not None:
        return found.id
    if snake in _own:
        return snake
    from rag_eval.metrics.measure_names import canonical_name

    return canonical_name(name) or canonical_name(snake)


def to_metric_id(name: object) -> MetricId:
    """The metric of that name, in snake_case or camelCase.

    Raises
    ------
    InputError
        When there is none; the message suggests the nearest.
    """
    metric = _found(name)
    if metric is None:
        if name == COMPOSITE:
            raise InputError(
                "composite is no metric but the score of a whole row: composite_threshold "
                "(--composite-threshold) is its limit, and min_pass_rate (--min-pass-rate) counts "
                "the rows that pass"
            )
        known = known_metric_ids()
        hint = suggestion(name, known)
        own = isinstance(name, str) and not hint and _OWN_NAME.fullmatch(snake_case(name))
        raise InputError(
            f"unknown metric {glance(name)}{hint} (`rag-eval metrics` lists all {len(known)}; "
            f"the usual ones: {', '.join(METRIC_IDS)}"
            f"{'; a custom metric is known after its module has been imported' if own else ''})"
        )
    return metric


def metric_of_file(name: str) -> MetricId:
    """The metric of that name in a result file, where it may be another caller's own.

    Raises
    ------
    InputError
        If no metric can have that name.
    """
    found = _found(name)
    if found is not None:
        return found
    own = snake_case(name)
    return own if _OWN_NAME.fullmatch(own) else to_metric_id(name)


def metric_or_column(name: str) -> str:
    """A metric under its own name in any spelling, or the column of a table as it is."""
    try:
        return metric_of_file(name)
    except InputError:
        return name


# ----------------------------------------------------------------------------- what is asked of all


def needs_judge(metric: MetricId) -> bool:
    """Whether only a judge can score a metric."""
    if are_of_kernels((metric,)):
        return False
    found = metric_of(metric)
    return found is not None and found.needs_judge


def can_be_judged(metric: MetricId) -> bool:
    """Whether a judge can score a metric, whoever else can."""
    found = metric_of(metric)
    return found is not None and bool(found.judged)


def judged_rule(metric: MetricId) -> JudgedRule:
    """How a judge scores a metric that it can score."""
    found = metric_of(metric)
    assert found is not None
    module, _, function = found.judged.partition(":")
    rule: JudgedRule = getattr(import_module(module), function)(metric)
    return rule


def higher_is_better(metric: MetricId) -> bool:
    """The direction of a metric, the same in every profile that has it and for every judge."""
    found = metric_of(metric)
    return found is None or found.higher_is_better


def bounds_of(metric: MetricId) -> tuple[float, float] | None:
    """Least and greatest score of a metric; None if there is no end, or none is known."""
    found = metric_of(metric)
    if found is None or not all(map(math.isfinite, found.range)):
        return None
    return found.range


# --------------------------------------------------------------------------------- the caller's


def register(metric: Metric) -> None:
    """Register a custom metric in this process.

    Raises
    ------
    InputError
        If its id is taken or invalid.
    """
    if not isinstance(metric, Metric):
        raise InputError(f"expected a ScorerSpec, got {type(metric).__name__}")
    _own[_free_name(metric.id)] = metric


def _free_name(name: object) -> MetricId:
    if not isinstance(name, str) or not _OWN_NAME.fullmatch(name):
        raise InputError(
            "a metric id must consist of lowercase words (letters, digits, underscores) "
            "joined by dots, "
            f"got {name!r:.80}"
        )
    if _found(name) is not None:
        raise InputError(f"metric id {name!r} is already taken")
    if name.partition(".")[0] in FAMILIES:
        raise InputError(
            f"metric id {name!r}: names that begin with {name.partition('.')[0]}. are those of "
            "that tool's scorers"
        )
    return name


def unregister(metric: MetricId) -> None:
    """Forget a custom metric.

    Raises
    ------
    InputError
        If there is no metric with that id.
    """
    if metric not in _own:
        raise InputError(f"{metric!r} is not a registered metric")
    del _own[metric]
