"""A file of scores and a file of labels -> rows that have both, joined by their ids.

Scores come from a result file or from a table with a column of the metric; tables are JSON lines,
a JSON array or CSV.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import GenericAlias
from typing import Any, Final, NamedTuple

import msgspec

from rag_eval.calibration.files import write_calibrations
from rag_eval.calibration.fitting import Calibration, calibrate
from rag_eval.calibration.probabilities import Method
from rag_eval.errors import InputError, SignatureMismatchError, suggestion
from rag_eval.inputs.byte_files import file_bytes, source_name
from rag_eval.inputs.tables import table_rows
from rag_eval.metrics.registry import to_metric_id
from rag_eval.options.signature import Signature
from rag_eval.plumbing import json_text
from rag_eval.plumbing.spelling import camel_case
from rag_eval.samples import MetricId

_SHOWN_IDS: Final = 3
_SHOWN_FIELDS: Final = 20
_LABELS: Final = {"1": True, "true": True, "0": False, "false": False}


@dataclass(frozen=True, slots=True)
class FileCalibration:
    """A calibration from files, and what its reader should know about them."""

    calibration: Calibration
    notes: list[str]


def calibrate_files(
    scores: str | Path,
    labels: str | Path,
    *,
    metric: str,
    method: Method = "isotonic",
    precision: float | None = None,
    id_field: str = "id",
    label_field: str = "label",
    group_field: str | None = None,
    output: str | Path | None = None,
) -> FileCalibration:
    """Calibrate the scores in one file by the labels in another.

    Parameters
    ----------
    scores : path
        A result file (.json or .jsonl), or a table whose column of scores is named like the metric
        or ``score``.
    labels : path
        A table of ids and labels: 0 and 1, or false and true.
    metric, method, precision
        As for :func:`rag_eval.calibrate`.
    id_field : str
        Under this name both files say which row is which; in a result file, of its samples.
    label_field : str
    group_field : str, optional
        Field of ``labels`` that says which rows belong together.
    output : path, optional
        Write the calibration there.

    Raises
    ------
    InputError
        Naming file, row and field; among others when no id is in both files.
    """
    name = to_metric_id(metric)
    rows = _joined(
        _read_scores(scores, name, id_field),
        _read_labels(labels, id_field, label_field, group_field),
        source_name(scores),
        source_name(labels),
    )
    calibration = calibrate(
        rows.scores,
        rows.labels,
        metric=name,
        method=method,
        precision=precision,
        groups=None if group_field is None else rows.groups,
        signature=rows.signature,
    )
    if output is not None:
        write_calibrations(calibration, output)
    return FileCalibration(calibration, rows.notes)


# ------------------------------------------------------------------------------------- joining


class _Scores(NamedTuple):
    by_id: dict[str, float | None]
    signature: Signature | None


class _Label(NamedTuple):
    good: bool
    group: object


class _JoinedRows(NamedTuple):
    scores: list[float | None]
    labels: list[bool]
    groups: list[object]
    signature: Signature | None
    notes: list[str]


def _joined(
    scores: _Scores, labels: Mapping[str, _Label], scores_name: str, labels_name: str
) -> _JoinedRows:
    """The rows of both, in the order of the scores."""
    shared = [name for name in scores.by_id if name in labels]
    if not shared:
        raise InputError(
            f"no id is in both files: {scores_name} has {_some(scores.by_id)}, "
            f"{labels_name} has {_some(labels)}"
        )
    notes = []
    unlabelled = len(scores.by_id) - len(shared)
    if unlabelled:
        notes.append(f"{unlabelled:,} of {len(scores.by_id):,} rows in {scores_name} have no label")
    unscored = len(labels) - len(shared)
    if unscored:
        notes.append(f"{unscored:,} of {len(labels):,} labels in {labels_name} have no row")
    if scores.signature is None:
        notes.append(
            f"{scores_name} has no signature: for which settings the calibration holds is not known"
        )
    found = [labels[name] for name in shared]
    return _JoinedRows(
        [scores.by_id[name] for name in shared],
        [label.good for label in found],
        [label.group for label in found],
        scores.signature,
        notes,
    )


def _some(names: Mapping[str, object]) -> str:
    shown = [repr(name) for name, _ in zip(names, range(_SHOWN_IDS), strict=False)]
    return ", ".join(shown) + (", …" if len(names) > _SHOWN_IDS else "") if shown else "no rows"


class _Ids:
    """The ids of a file's rows, each of them once."""

    def __init__(self, source: str, field: str) -> None:
        self._source = source
        self._field = field
        self._places: dict[str, str] = {}

    def add(self, place: str, value: object) -> str:
        """The id of the row at a place, as text: CSV has no other kind."""
        if value is None or value == "":
            raise InputError(f"{self._source}, {place}: {self._field} is missing")
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            raise InputError(
                f"{self._source}, {place}: {self._field} must be a str or a whole number, "
                f"got {type(value).__name__}"
            )
        name = str(value)
        if name in self._places:
            raise InputError(
                f"{self._source}: {self._field} {name!r} is in {self._places[name]} "
                f"and in {place}; wanted each once"
            )
        self._places[name] = place
        return name


# -------------------------------------------------------------------------------------- labels


def _read_labels(
    path: str | Path, id_field: str, label_field: str, group_field: str | None
) -> dict[str, _Label]:
    source = source_name(path)
    ids = _Ids(source, id_field)
    wanted = (
        [id_field, label_field] if group_field is None else [id_field, label_field, group_field]
    )
    labels: dict[str, _Label] = {}
    for place, row in table_rows(path):
        for field in wanted:
            _require(field, row, f"{source}, {place}")
        name = ids.add(place, row[id_field])
        good = _label(row[label_field], f"{source}, {place}: {label_field}")
        group = None
        if group_field is not None:
            group = row[group_field]
            if isinstance(group, bool) or not isinstance(group, (str, int)) or group == "":
                raise InputError(
                    f"{source}, {place}: {group_field} must be a str or a whole number, "
                    f"got {group!r:.80}"
                )
        labels[name] = _Label(good, group)
    return labels


def _label(value: object, where: str) -> bool:
    """0, 1, false, true: as JSON has them, or as text."""
    if value is None or value == "":
        raise InputError(f"{where} is missing; wanted 0 or 1")
    if isinstance(value, (bool, int, float)) and value in (0, 1):
        return bool(value)
    text = value.strip().lower() if isinstance(value, str) else ""
    # Tools that hold labels as floats write 1.0.
    found = _LABELS.get(text.removesuffix(".0"))
    if found is None:
        raise InputError(f"{where} must be 0 or 1, got {value!r:.80}")
    return found


def _require(field: str, row: Mapping[str, object], where: str) -> None:
    if field not in row:
        hint = suggestion(field, row)
        raise InputError(f"{where}: no field {field!r}{hint} (fields: {_fields(row)})")


def _fields(row: Mapping[str, object]) -> str:
    names = list(row)[:_SHOWN_FIELDS]
    return ", ".join(names) + (", …" if len(row) > _SHOWN_FIELDS else "") if names else "none"


# -------------------------------------------------------------------------------------- scores


def _read_scores(path: str | Path, metric: MetricId, id_field: str) -> _Scores:
    name = Path(path).name.lower().removesuffix(".gz")
    if name.endswith(".json"):
        return _result_file_scores(path, metric, id_field)
    source = source_name(path)
    ids = _Ids(source, id_field)
    scores: dict[str, float | None] = {}
    signature: Signature | None = None
    signed_at = ""
    for place, row in table_rows(path):
        where = f"{source}, {place}"
        sample = row.get("sample")
        if not isinstance(row.get("metrics"), dict) or not isinstance(sample, dict):
            _require(id_field, row, where)
            scores[ids.add(place, row[id_field])] = _table_score(row, metric, where)
            continue
        _require(id_field, sample, f"{where}: sample")
        scores[ids.add(place, sample[id_field])] = _metric_score(row["metrics"], metric, where)
        if row.get("signature") is not None:
            found = _signature(row["signature"], where)
            if signature is None:
                signature, signed_at = found, place
            elif differences := found.differences(signature, [metric]):
                raise SignatureMismatchError(
                    f"{where} was scored under other settings than {signed_at} "
                    f"({'; '.join(differences)})"
                )
    return _Scores(scores, signature)


def _table_score(row: Mapping[str, Any], metric: MetricId, where: str) -> float | None:
    for field in (metric, camel_case(metric), "score"):
        if field in row:
            return _score(row[field], f"{where}: {field}")
    raise InputError(f"{where}: no field {metric!r} and no field 'score' (fields: {_fields(row)})")


def _metric_score(metrics: Mapping[str, Any], metric: MetricId, where: str) -> float | None:
    entry = metrics.get(camel_case(metric), metrics.get(metric))
    if not isinstance(entry, dict):
        raise InputError(_not_scored(where, metric, metrics))
    return _score(entry.get("score"), f"{where}: score of {metric}")


def _not_scored(where: str, metric: MetricId, metrics: Mapping[str, object]) -> str:
    return f"{where}: no scores of {metric} (metrics: {', '.join(metrics) or 'none'})"


def _score(value: object, where: str) -> float | None:
    """A score as JSON has it, or as text; None for null and the empty text."""
    if value is None or value == "":
        return None
    try:
        if isinstance(value, (bool, list, dict)):
            raise ValueError
        number = float(value)  # type: ignore[arg-type]
    except (ValueError, OverflowError):
        raise InputError(f"{where} must be a number, got {value!r:.80}") from None
    if math.isinf(number):
        raise InputError(f"{where} must be finite, got {value!r:.80}")
    return None if math.isnan(number) else number


def _signature(value: object, where: str) -> Signature:
    try:
        return Signature.from_dict(value)
    except (InputError, TypeError, ValueError) as error:
        raise InputError(f"{where}: {error}") from None


class _Score(msgspec.Struct):
    score: float | None = None


def _result_file_scores(path: str | Path, metric: MetricId, id_field: str) -> _Scores:
    """Ids, scores and signature of a result file."""
    source = source_name(path)
    data = file_bytes(path)
    try:
        found = _decoded(data, _result_file(id_field))
    except msgspec.ValidationError as error:
        raise InputError(f"{source} is no result file: {error}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} is not JSON: {error}") from None
    ids = _Ids(source, id_field)
    scores: dict[str, float | None] = {}
    for number, row in enumerate(found.results):
        place = f"results[{number}]"
        entry = row.metrics.get(camel_case(metric), row.metrics.get(metric))
        if entry is None:
            raise InputError(_not_scored(f"{source}, {place}", metric, row.metrics))
        scores[ids.add(place, row.sample.id)] = entry.score
    signature = None if found.signature is None else _signature(found.signature, source)
    return _Scores(scores, signature)


def _result_file(id_field: str) -> Any:
    """What is read of a result file: the texts of its samples are passed over."""
    sample = msgspec.defstruct("_Sample", [("id", Any, None)], rename={"id": id_field})
    row = msgspec.defstruct("_Row", [("sample", sample), ("metrics", dict[str, _Score])])
    return msgspec.defstruct(
        "_File", [("results", GenericAlias(list, row)), ("signature", dict[str, Any] | None, None)]
    )


def _decoded(data: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        # Escapes of lone surrogates, which msgspec does not take, anywhere in the file.
        return msgspec.convert(json_text.loads(data), kind)
