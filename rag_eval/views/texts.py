"""A result in; the available texts of its sample out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from rag_eval.results.row import EvalResult, MetricResult, sample_dict
from rag_eval.samples import EvalSample, NullReason
from rag_eval.scoring.explaining import MetricScore


def fields_of(result: EvalResult) -> dict[str, Any]:
    """The sample as a dict in the spelling of result files; empty if it was not kept."""
    sample = result.sample
    if isinstance(sample, (dict, EvalSample)):
        return sample_dict(sample)
    return {}


def text_of(result: EvalResult, name: str) -> str:
    """A text of the sample, ``question`` or ``answer``; empty if it has none."""
    value = fields_of(result).get(name)
    return value if isinstance(value, str) else ""


def contexts_of(result: EvalResult) -> tuple[str, ...]:
    """The contexts; a value that is not a text becomes empty, to keep the positions."""
    return contexts_in(fields_of(result))


def truths_of(result: EvalResult) -> tuple[str, ...]:
    """The ground truth, or each of the acceptable ones."""
    return truths_in(fields_of(result))


def contexts_in(fields: dict[str, Any]) -> tuple[str, ...]:
    """As :func:`contexts_of`, of what :func:`fields_of` gave."""
    return _texts(fields.get("contexts"))


def truths_in(fields: dict[str, Any]) -> tuple[str, ...]:
    """As :func:`truths_of`, of what :func:`fields_of` gave."""
    value = fields.get("groundTruth")
    return (value,) if isinstance(value, str) else _texts(value)


DECLINES: Final = "declines to answer"
"""The remark on a row whose answer declines."""
ALTHOUGH: Final = ", although relevant contexts were retrieved"
"""... where it need not have."""


def null_text(metric: MetricResult | MetricScore) -> str:
    """Why there is no score, such as ``nothing to measure``."""
    if metric.null_reason == NullReason.MEASURED:
        return "not measured"
    return metric.null_reason.name.lower().replace("_", " ")


def _texts(value: object) -> tuple[str, ...]:
    # A list is one of the others, and asking for an Iterable takes longer than all the rest.
    if type(value) is not list and (
        isinstance(value, (str, bytes, dict)) or not isinstance(value, Iterable)
    ):
        return ()
    return tuple(text if isinstance(text, str) else "" for text in value)
