"""Reads values of flags: metrics, numbers, fields, prompts, bands; all know the flag's name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from rag_eval.errors import InputError
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.metrics.registry import to_metric_id
from rag_eval.options.declared import NUMBER_BY_METRIC, Kind, Option
from rag_eval.plumbing.checked_values import number_of
from rag_eval.plumbing.unreadable import unreadable
from rag_eval.samples import MetricId

if TYPE_CHECKING:
    _Number = click.ParamType[float]
else:
    _Number = click.ParamType  # in the lowest click it cannot be subscripted


class _Share(_Number):
    """A share of all, such as ``0.9`` or ``90%``."""

    name = "share"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The share as a number; the error for other texts shows how to write it."""
        try:
            share = number_of(value) if isinstance(value, str) else float(value)
        except ValueError:
            share = float("nan")
        if not 0 <= share <= 1:
            wanted = "expected a share from 0 to 1, such as 0.9 or 90%"
            self.fail(f"{wanted}, got {value!r}{_percentage_hint(value)}", param, ctx)
        return share


class _PlainNumber(_Number):
    """A number that is usually a share, such as a limit, and may be written as a percentage."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """``0.9`` or ``90%`` as a number; its range depends on the scores."""
        try:
            return number_of(value) if isinstance(value, str) else float(value)
        except ValueError:
            return self.fail(f"expected a number such as 0.9 or 90%, got {value!r}", param, ctx)


def _percentage_hint(value: object) -> str:
    """A hint for a percentage that was given without its sign."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    try:
        return f"; to give a percentage, write {text}%" if 2 <= float(text) <= 100 else ""
    except ValueError:
        return ""


def check_limit(flag: str, metric: str | None, number: float | None) -> None:
    """Raise an InputError for a limit outside the range of the seven metrics."""
    if metric in METRIC_IDS and number is not None:
        _check_share(f"{flag} of {metric}", number)


def _check_share(name: str, number: float) -> None:
    if not 0 <= number <= 1:
        hint = _percentage_hint(number)
        raise InputError(f"{name} must be between 0 and 1, got {number:g}{hint}")


A_SHARE: Final = _Share()
A_NUMBER: Final = _PlainNumber()


# Their numbers are shares for any metric, or scores, which are shares for our own.
_OF_SHARES: Final = ("--max-null-rate",)
_OF_SCORES: Final = ("--min-mean", "--max-mean", "--thresholds")


def column_names(text: str | None) -> list[str]:
    """``a,b`` -> the columns."""
    return [] if text is None else [name.strip() for name in text.split(",")]


def metric_names(flag: str, texts: Iterable[str]) -> list[MetricId] | None:
    """``a,b`` -> the metrics; the last one counts if a flag is repeated; None without the flag."""
    given = [*texts]
    return [_metric(flag, name) for name in given[-1].split(",")] if given else None


def metric_numbers(flag: str, texts: Iterable[str]) -> dict[MetricId, float]:
    """``a=0.8,b=1``, once or several times -> a number per metric."""
    numbers: dict[MetricId, float] = {}
    for part in _parts(texts):
        name, value = _pair(flag, part, "METRIC=NUMBER, such as faithfulness=0.7")
        metric = _metric(flag, name)
        try:
            number = number_of(value)
        except ValueError:
            raise InputError(
                f"{flag}: {name} must be a number such as 0.7 or 70%, got {value!r}"
            ) from None
        if flag in _OF_SHARES or (flag in _OF_SCORES and metric in METRIC_IDS):
            _check_share(f"{flag}: {metric}", number)
        if metric in numbers and numbers[metric] != number:
            raise InputError(f"{flag}: {metric} is given twice, as {numbers[metric]} and {number}")
        numbers[metric] = number
    return numbers


def margins(flag: str, texts: Iterable[str]) -> dict[str, float]:
    """``0.01`` for all metrics (``*``), ``METRIC=0.02`` for one.

    Raises
    ------
    click.BadParameter
        For a value that is not a number, or a repeated metric.
    """
    found: dict[str, float] = {}
    for text in texts:
        metric, equals, value = text.rpartition("=")
        try:
            margin = number_of(value)
        except ValueError:
            raise click.BadParameter(
                f"expected a number or METRIC=number, got {text!r}", param_hint=flag
            ) from None
        name = metric if equals else "*"
        if name in found:
            raise click.BadParameter(
                f"{text!r}: a second value for {metric or 'all metrics'}", param_hint=flag
            )
        if name in METRIC_IDS:
            _check_share(f"{flag}: {name}", margin)
        found[name] = margin
    return found


def null_rates(flag: str, texts: Iterable[str]) -> float | dict[str, float] | None:
    """``0.05`` or ``5%`` for every metric, ``METRIC=0.05`` for one."""
    given = [*texts]
    if not given:
        return None
    if "=" in given[0] or len(given) > 1:
        return dict(metric_numbers(flag, given))
    return A_SHARE.convert(given[0], None, None)


def _field_mapping(flag: str, texts: Iterable[str]) -> dict[str, str]:
    """``question=user_input,answer=output``, once or several times -> a column per field."""
    mapping: dict[str, str] = {}
    for part in _parts(texts):
        name, column = _pair(flag, part, "FIELD=COLUMN, such as question=user_input")
        if not column:
            raise InputError(f"{flag}: expected FIELD=COLUMN, got {part!r}")
        if mapping.get(name, column) != column:
            raise InputError(f"{flag}: {name} is given twice")
        mapping[name] = column
    return mapping


def _metric_modes(flag: str, texts: Iterable[str]) -> dict[str, str]:
    return dict(_pair(flag, part, "METRIC=llm or METRIC=heuristic") for part in _parts(texts))


def _prompts(flag: str, texts: Iterable[str]) -> dict[MetricId, Any]:
    found: dict[MetricId, Any] = {}
    for text in texts:
        name, path = _pair(flag, text, "METRIC=FILE or METRIC/STEP=FILE")
        metric, _, step = name.partition("/")
        try:
            body = Path(path).read_text("utf-8-sig")
        except OSError as error:
            raise unreadable(path, error) from None
        except UnicodeDecodeError as error:
            raise InputError(f"{path} is not UTF-8: byte {error.start + 1}") from None
        if not step:
            found[to_metric_id(metric)] = body
        else:
            steps = found.setdefault(to_metric_id(metric), {})
            if isinstance(steps, str):
                raise InputError(f"{flag}: {metric} is given with a step and without one")
            steps[step] = body
    return found


def _scorer_options(flag: str, texts: Iterable[str]) -> dict[MetricId, Any]:
    """Options of scorers, from flags such as ``omk.contains={"value": "a"}``."""
    found: dict[MetricId, Any] = {}
    for text in texts:
        name, value = _pair(flag, text, "SCORER=JSON")
        try:
            found[to_metric_id(name)] = json.loads(value)
        except InputError:
            raise
        except ValueError:
            raise InputError(
                f"{flag} {name}: {value!r:.80} is not JSON; expected SCORER=JSON, such as "
                """'omk.contains={"value": "Paris"}'"""
            ) from None
    return found


def _bands(flag: str, texts: Iterable[str]) -> Any:
    given = [*texts]
    bands: dict[MetricId, tuple[float, float]] = {}
    for text in given:
        name, equals, ends = text.rpartition("=")
        try:
            low, high = map(number_of, ends.split(":"))
        except ValueError:
            raise InputError(f"{flag}: expected LOW:HIGH, got {ends!r}") from None
        if equals:
            bands[to_metric_id(name.strip())] = low, high
        elif len(given) > 1:
            raise InputError(
                f"{flag}: LOW:HIGH without a metric applies to all metrics and must be given alone"
            )
        else:
            return low, high
    return bands


def _verifier_band(flag: str, texts: Iterable[str]) -> Any:
    found = _bands(flag, [*texts][-1:])
    if isinstance(found, dict) and found:
        raise InputError(f"{flag}: expected LOW:HIGH, without a metric")
    return found


def _judges(flag: str, texts: Iterable[str]) -> list[str]:
    given = [*texts]
    if not given:
        return []
    from rag_eval.adapters.addresses import checked_addresses

    return checked_addresses(given[-1])


def _judge_options(flag: str, texts: Iterable[str]) -> dict[str, Any]:
    """``temperature=0.2`` or ``extra_body.top_k=5``: values are JSON, other texts strings."""
    found: dict[str, Any] = {}
    for text in texts:
        if "=" not in text:
            # Not repeated in the message, because it may be a header with a key.
            raise InputError(f"{flag}: expected NAME=VALUE, such as max_output_tokens=4096")
        name, value = _pair(flag, text, "NAME=VALUE")
        table, dot, key = name.partition(".")
        is_header = table == "extra_headers"
        if dot and not is_header and table != "extra_body":
            raise InputError(f"{flag}: {table} has no parts, got {name!r:.80}")
        # A header that looks like a number is a text all the same.
        read = value if is_header and dot else _json_or_text(value)
        inner = found.setdefault(table, {}) if dot else found
        if not isinstance(inner, dict) or (key or table) in inner:
            raise InputError(f"{flag}: {name} is given twice")
        inner[key or table] = read
    return found


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _parts(texts: Iterable[str]) -> Iterable[str]:
    return (part for text in texts for part in text.split(","))


def _pair(flag: str, text: str, wanted: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"{flag}: expected {wanted}, got {text!r}")
    return name.strip(), value.strip()


def _metric(flag: str, name: str) -> MetricId:
    if len(words := name.split()) > 1:
        raise InputError(f"{flag}: separate names by commas: {','.join(words)}")
    try:
        return to_metric_id(name.strip())
    except InputError as error:
        raise InputError(f"{flag}: {error}") from None


_Reader = Callable[[str, Iterable[str]], Any]
# How the texts of a flag, which may be given again, become the value of its option.
OF_KIND: Final[Mapping[Kind, _Reader]] = {NUMBER_BY_METRIC: metric_numbers}
OF_OPTION: Final[Mapping[str, _Reader]] = {
    "metrics": metric_names,
    "mapping": _field_mapping,
    "metric_modes": _metric_modes,
    "prompt_overrides": _prompts,
    "scorer_options": _scorer_options,
    "cascade_band": _bands,
    "verifier_band": _verifier_band,
    "judges": _judges,
    "judge_options": _judge_options,
    "judge_allow_http": lambda flag, texts: [*texts],
    "margin": margins,
    "tolerance": margins,
}


# ---------------------------------------------------------------------------------- completion


def completion(option: Option) -> Callable[..., list[str]] | None:
    """A function that completes a value of a flag in the shell; None if it is unknown."""
    return {
        "metrics": completed_metrics,
        "gating": completed_metric,
        "metric_modes": completed_numbers,
        "scorer_options": completed_number,
        "prompt_overrides": completed_number,
        "cascade_band": completed_number,
        "margin": completed_number,
        "tolerance": completed_number,
    }.get(option.name, completed_numbers if option.kind is NUMBER_BY_METRIC else None)


def completed_metric(context: click.Context, flag: click.Parameter, begun: str) -> list[str]:
    """Ids of metrics, or one id."""
    from rag_eval.metrics.registry import known_metric_ids

    return [metric for metric in known_metric_ids() if metric.startswith(begun)]


def completed_metrics(context: click.Context, flag: click.Parameter, begun: str) -> list[str]:
    """Ids of metrics between commas."""
    before, comma, name = begun.rpartition(",")
    return [f"{before}{comma}{metric}" for metric in completed_metric(context, flag, name)]


def completed_number(context: click.Context, flag: click.Parameter, begun: str) -> list[str]:
    """``METRIC=``; the user types the number."""
    return [f"{metric}=" for metric in completed_metric(context, flag, begun)]


def completed_numbers(context: click.Context, flag: click.Parameter, begun: str) -> list[str]:
    """``METRIC=`` between commas."""
    return [f"{name}=" for name in completed_metrics(context, flag, begun)]
