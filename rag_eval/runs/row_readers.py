"""Rows of any file of scores, decoded and with their places, in; their scores into columns out.

Result rows have their sample and their metrics inside; rows of score files are flat.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.metrics.registry import metric_of_file, to_metric_id
from rag_eval.runs.run_rows import JUDGE_FAILURES, RunRows
from rag_eval.runs.scored_run import NOT_JUDGED
from rag_eval.samples import MetricId, NullReason

_REASONS: Final = {reason.name.lower(): reason for reason in NullReason}
_VERDICTS: Final = {
    True: 1,
    False: 0,
    None: NOT_JUDGED,
    "": NOT_JUDGED,
    "true": 1,
    "True": 1,
    "1": 1,
    "1.0": 1,
    "false": 0,
    "False": 0,
    "0": 0,
    "0.0": 0,
}
_MISSING: Final = int(NullReason.MISSING_FIELD)
_SHOWN_FIELDS: Final = 20
_NAME_LIMIT: Final = 40
# What lies beside the scores of a metric is no help in finding one.
_BESIDE: Final = ("_null_reason", "_mode")

PlacedRows: TypeAlias = Iterable[tuple[str, Mapping[str, Any]]]
"""Rows, each with the place that messages call it by."""


class MissingColumn(NamedTuple):
    """A column that no row had, and what is wrong with that."""

    name: str
    fields: Sequence[str]

    def error(self, source: str) -> InputError:
        """As an error about a file."""
        hint = suggestion(self.name, self.fields)
        known = shown_names(self.fields)
        return InputError(
            f"{source}: no row has a field {glance(self.name)}{hint} (fields: {known})"
        )


def read_rows(
    rows: PlacedRows,
    into: RunRows,
    metrics: Sequence[MetricId] | None,
    missing: list[MissingColumn],
    kind: type[NestedRows | FlatRows] | None = None,
) -> None:
    """Read rows of a kind; where none is named the first of them tells.

    Columns that no row has are added to ``missing``.
    """
    reader: NestedRows | FlatRows | None = None
    for place, row in rows:
        if reader is None:
            chosen = kind or (NestedRows if _is_nested(row) else FlatRows)
            reader = chosen(into, metrics, row)
        reader.add(row, place)
    if reader is None:
        raise InputError(f"{into.source} has no rows")
    missing += [
        MissingColumn(name, sorted(reader.fields)) for name in into.columns if not reader.has(name)
    ]


def _is_nested(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("metrics"), Mapping) and isinstance(row.get("sample"), Mapping)


# ---------------------------------------------------------------------------------- result rows


class NestedRows:
    """Reads rows as result files have them: a sample, and metrics by their names."""

    def __init__(
        self, into: RunRows, metrics: Sequence[MetricId] | None, first: Mapping[str, Any]
    ) -> None:
        self._into = into
        self._wanted = None if metrics is None else frozenset(metrics)
        # Names in the file, which are in camelCase.
        self._metrics: dict[str, MetricId] = {}
        self._unwanted: set[str] = set()
        self._seen: set[str] = set()
        sample = first.get("sample")
        found = sample if isinstance(sample, Mapping) else {}
        metadata = found.get("metadata")
        self.fields = {*found, *(metadata if isinstance(metadata, Mapping) else ())}

    def has(self, column: str) -> bool:
        """Whether some row had a value of metadata under that name."""
        return column in self._seen

    def add(self, row: Mapping[str, Any], place: str) -> None:
        """Take in the next row."""
        into, sample, metrics = self._into, row.get("sample"), row.get("metrics")
        if not isinstance(sample, Mapping):
            raise InputError(f"{into.source}, {place}: wanted a sample and its metrics")
        into.add_id(sample.get(into.id_field), place)
        if not isinstance(metrics, Mapping):
            raise InputError(f"{into.source}, {place}: wanted a sample and its metrics")
        if not metrics.keys() <= self._metrics.keys():
            self._add_metrics(metrics)
        for name, metric in self._metrics.items():
            self._add_score(metric, metrics.get(name), place)
        into.composite.append(number(row.get("compositeScore"), into, place, "compositeScore"))
        into.passed.append(verdict(row.get("passed"), into, place, "passed"))
        for column in into.columns:
            value = metadata_of(sample, column)
            if value is not None:
                self._seen.add(column)
            into.add_value(column, value, place)
        if row.get("signature") is not None:
            into.sign(row["signature"], place)

    def _add_metrics(self, found: Mapping[str, Any]) -> None:
        for name in found:
            if name in self._metrics or name in self._unwanted:
                continue
            metric = _metric_or_none(name)
            if metric is None or (self._wanted is not None and metric not in self._wanted):
                self._unwanted.add(name)
                self._into.unread[metric or name] = None
                continue
            self._metrics[name] = metric
            self._into.add_metric(metric)

    def _add_score(self, metric: MetricId, entry: Any, place: str) -> None:
        into = self._into
        if not isinstance(entry, Mapping):
            into.scores[metric].append(math.nan)
            into.null_reasons[metric].append(NullReason.SKIPPED)
            into.metric_passed[metric].append(NOT_JUDGED)
            return
        score = number(entry.get("score"), into, place, metric)
        named = entry.get("nullReason")
        why = reason(score, named, into, place)
        into.scores[metric].append(score)
        into.null_reasons[metric].append(why)
        into.metric_passed[metric].append(verdict(entry.get("passed"), into, place, metric))
        judge = entry.get("judge")
        if judge is not None:
            into.n_judgements += 1
            fell_back = isinstance(judge, Mapping) and judge.get("fallback") is True
            into.n_failed_judgements += fell_back or why in JUDGE_FAILURES


def _metric_or_none(name: str) -> MetricId | None:
    try:
        return metric_of_file(name)
    except InputError:
        return None


def metadata_of(sample: Mapping[str, Any], name: str) -> Any:
    """A field of a sample, which usually is one of its metadata."""
    metadata = sample.get("metadata")
    if isinstance(metadata, Mapping) and name in metadata:
        return metadata[name]
    return sample.get(name)


# ------------------------------------------------------------------------------------ flat rows


class FlatColumns(NamedTuple):
    """Which columns of a flat table hold what; a name is None where there is none."""

    scores: dict[MetricId, str]
    reasons: dict[MetricId, str | None]
    modes: dict[MetricId, str | None]
    composite: str | None
    passed: str | None


def flat_columns(
    names: Sequence[str],
    metrics: Sequence[MetricId] | None,
    source: str,
    known: Iterable[str] = (),
) -> FlatColumns:
    """The columns of a score file, whose scores may have names with a prefix; or of any table.

    Columns are metrics when they are named so, or have a column of null reasons beside them.
    ``known`` columns hold something else.

    Raises
    ------
    InputError
        Without any column of scores, or without those of ``metrics``.
    """
    there = set(names)
    prefix = _prefix(names)
    scores: dict[MetricId, str] = {}
    for name in names:
        metric = _metric_of_column(name, prefix, there)
        if metric is not None and name not in known and metric not in scores:
            scores[metric] = name
    if metrics is not None:
        # What is asked for by name may have any.
        scores = {m: scores.get(m, m) for m in metrics if m in scores or m in there}
        if absent := [metric for metric in metrics if metric not in scores]:
            hint = suggestion(absent[0], names)
            raise InputError(
                f"{source}: no column {glance(absent[0])}{hint} (columns: {shown_names(names)})"
            )
    if not scores:
        raise InputError(
            f"{source}: no column is named like a metric (columns: {shown_names(names)}); if these "
            "are samples, score them first (rag-eval score); if scores have other names, name them "
            "(metrics)"
        )

    def beside(ending: str) -> dict[MetricId, str | None]:
        return {
            m: found if (found := name + ending) in there else None for m, name in scores.items()
        }

    return FlatColumns(
        scores,
        beside("_null_reason"),
        beside("_mode"),
        found if (found := prefix + "composite_score") in there else None,
        found if (found := prefix + "passed") in there else None,
    )


def _prefix(names: Sequence[str]) -> str:
    ends = [
        name.removesuffix("composite_score") for name in names if name.endswith("composite_score")
    ]
    return min(ends, key=len, default="")


def _metric_of_column(name: str, prefix: str, names: set[str]) -> MetricId | None:
    bare = name.removeprefix(prefix)
    try:
        return metric_of_file(bare) if f"{name}_null_reason" in names else to_metric_id(bare)
    except InputError:
        return None


def shown_names(names: Iterable[str]) -> str:
    """Names of columns for a message: some of them, and of long ones the beginning."""
    told = [name for name in names if not name.endswith(_BESIDE)]
    shown = [n if len(n) <= _NAME_LIMIT else n[: _NAME_LIMIT - 1] + "…" for n in told]
    more = [", …"] * (len(shown) > _SHOWN_FIELDS)
    return "".join([", ".join(shown[:_SHOWN_FIELDS]), *more]) or "none"


class FlatRows:
    """Reads rows that have a field for each score."""

    def __init__(
        self, into: RunRows, metrics: Sequence[MetricId] | None, first: Mapping[str, Any]
    ) -> None:
        self._into = into
        self._seen: set[str] = set()
        self.fields = set(first)
        if into.id_field not in first:
            hint = suggestion(into.id_field, first)
            into.add_id(None, f"the first row (fields: {shown_names(first)}){hint}")
        self._columns = flat_columns(list(first), metrics, into.source, into.columns)
        self._is_judged = any(self._columns.modes.values())
        for metric in self._columns.scores:
            into.add_metric(metric)

    def has(self, column: str) -> bool:
        """Whether some row had a value under that name."""
        return column in self._seen

    def add(self, row: Mapping[str, Any], place: str) -> None:
        """Take in the next row."""
        into, columns = self._into, self._columns
        into.add_id(row.get(into.id_field), place)
        for metric, name in columns.scores.items():
            score, why = number(row.get(name), into, place, name), 0
            if score != score:  # NaN
                why = reason(score, _cell(row, columns.reasons[metric]), into, place)
            into.scores[metric].append(score)
            into.null_reasons[metric].append(why)
            into.metric_passed[metric].append(NOT_JUDGED)
            mode = _cell(row, columns.modes[metric]) if self._is_judged else None
            if mode == "llm" or mode == "fallback" or why in JUDGE_FAILURES:
                into.n_judgements += 1
                into.n_failed_judgements += mode == "fallback" or why in JUDGE_FAILURES
        composite, passed = columns.composite, columns.passed
        into.composite.append(number(_cell(row, composite), into, place, "composite_score"))
        into.passed.append(verdict(_cell(row, passed), into, place, "passed"))
        for column in into.columns:
            value = row.get(column)
            if value is not None and value != "":
                self._seen.add(column)
            into.add_value(column, value, place)


def _cell(row: Mapping[str, Any], name: str | None) -> Any:
    return None if name is None else row.get(name)


# ---------------------------------------------------------------------------------------- values


def number(value: Any, into: RunRows, place: str, name: str) -> float:
    """A score as JSON has it, or as text; NaN for null and the empty text."""
    if type(value) is float:
        found = value
    elif value is None or value == "":
        return math.nan
    else:
        try:
            if isinstance(value, (bool, list, Mapping)):
                raise ValueError
            found = float(value)
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                f"{into.source}, {place}: {name} must be a number, got {value!r:.80}"
            ) from None
    if not math.isfinite(found):
        raise InputError(f"{into.source}, {place}: {name} must be finite, got {value!r:.80}")
    return found


def reason(score: float, named: Any, into: RunRows, place: str) -> int:
    """Why a score is null; 0 where it is not."""
    if score == score:  # not NaN
        return 0
    if named is None or named == "":
        return _MISSING
    found = _REASONS.get(named) if isinstance(named, str) else None
    if found is None:
        raise InputError(
            f"{into.source}, {place}: no such null reason: {named!r:.80} "
            f"(known: {', '.join(list(_REASONS)[1:])})"
        )
    return int(found) or _MISSING


def verdict(value: Any, into: RunRows, place: str, name: str) -> int:
    """1 and 0 for passed and failed, -1 where nothing is said."""
    try:
        return _VERDICTS[value]
    except (KeyError, TypeError):
        what = name if name == "passed" else f"passed of {name}"
        raise InputError(
            f"{into.source}, {place}: {what} must be true or false, got {value!r:.80}"
        ) from None
