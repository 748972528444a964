"""What flags hold: lists of metrics, numbers per metric."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rag_eval.errors import InputError
from rag_eval.metrics.registry import to_metric_id
from rag_eval.samples import MetricId

ENDED_CODES: Final = "130 interrupted (Ctrl-C) · 143 terminated (SIGTERM)"
EXIT_CODES: Final = (
    "Exit codes: 0 every gate held · 1 a gate failed · 2 bad input or usage · "
    f"3 judge unavailable or budget reached · {ENDED_CODES}, partial result written"
)


def column_names(text: str | None) -> list[str]:
    """``a,b`` -> the columns."""
    return [] if text is None else [name.strip() for name in text.split(",")]


def metric_names(flag: str, text: str | None) -> list[MetricId] | None:
    """``a,b`` -> the metrics; None for a flag that was not given."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    try:
        return [to_metric_id(name) for name in names]
    except InputError as error:
        raise InputError(f"{flag}: {error}") from None


def metric_numbers(flag: str, texts: Iterable[str]) -> dict[MetricId, float]:
    """``a=0.8,b=1``, once or several times -> a number per metric."""
    numbers: dict[MetricId, float] = {}
    for part in (part for text in texts for part in text.split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"{flag}: wanted METRIC=NUMBER, got {part!r}")
        try:
            metric, number = to_metric_id(name.strip()), float(value)
        except InputError as error:
            raise InputError(f"{flag}: {error}") from None
        except ValueError:
            raise InputError(f"{flag}: {name} must be a number, got {value!r}") from None
        if metric in numbers and numbers[metric] != number:
            raise InputError(f"{flag}: {metric} is given twice, as {numbers[metric]} and {number}")
        numbers[metric] = number
    return numbers
