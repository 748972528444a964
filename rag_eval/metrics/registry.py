"""Every scorer that needs no judge, by its id: those of other tools, and the caller's own."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator
from typing import Final

from rag_eval.errors import InputError
from rag_eval.metrics.contract import ScorerSpec
from rag_eval.samples import MetricId, add_metric_id, drop_metric_id

# Where the contracts are; each module has a tuple SPECS.
_ROOMS: Final[dict[str, tuple[str, ...]]] = {
    "mastra": (
        "mastra.text_specs",
        "mastra.completeness_specs",
        "mastra.agent_specs",
        "mastra.check_specs",
    ),
    "hazel": ("hazel.specs", "hazel.agent_specs"),
    "regtrace": ("regtrace.format_specs", "regtrace.meaning_specs", "regtrace.regression"),
    "omk": ("omk.specs",),
}
_MEASURES: Final = "ir"

_own: Final[dict[MetricId, ScorerSpec]] = {}


def spec_of(metric: MetricId) -> ScorerSpec | None:
    """The contract of a scorer that needs no judge; None for all other metrics."""
    if metric in _own:
        return _own[metric]
    tool = metric.partition(".")[0]
    if tool == _MEASURES:
        from rag_eval.scorers.ir import spec_of as measure_of

        return measure_of(metric)
    return _specs_of(tool).get(metric) if tool in _ROOMS else None


@functools.cache
def _specs_of(tool: str) -> dict[MetricId, ScorerSpec]:
    found: dict[MetricId, ScorerSpec] = {}
    for room in _ROOMS[tool]:
        module = importlib.import_module(f"rag_eval.scorers.{room}")
        for spec in module.SPECS:
            assert spec.id not in found, f"{spec.id} has two contracts"
            found[spec.id] = spec
    return found


def all_specs() -> Iterator[ScorerSpec]:
    """All contracts: tool by tool, measures of retrieval at the usual cutoffs, the caller's own."""
    from rag_eval.scorers.ir import LISTED

    for tool in _ROOMS:
        yield from _specs_of(tool).values()
    for measure in LISTED:
        spec = spec_of(measure)
        assert spec is not None
        yield spec
    yield from _own.values()


def register(spec: ScorerSpec) -> None:
    """Make a scorer of the caller's known, for this process.

    Raises
    ------
    InputError
        When its id is taken or no id.
    """
    if not isinstance(spec, ScorerSpec):
        raise InputError(f"a ScorerSpec was wanted, got {type(spec).__name__}")
    add_metric_id(spec.id)
    _own[spec.id] = spec


def unregister(metric: MetricId) -> None:
    """Forget a scorer of the caller's.

    Raises
    ------
    InputError
        When there is none of that id.
    """
    if metric not in _own:
        raise InputError(f"{metric!r} is no metric that was registered")
    del _own[metric]
    drop_metric_id(metric)
