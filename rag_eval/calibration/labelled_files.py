"""A file of scores and a file of labels -> rows that have both, joined by their ids.

Scores come from any file of results or scores; labels are a table: JSON lines, a JSON array or CSV.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from rag_eval.calibration.files import write_calibrations
from rag_eval.calibration.fitting import calibrated
from rag_eval.calibration.inputs import score_column, wanted_precision
from rag_eval.calibration.losses import NoLossesError
from rag_eval.calibration.probabilities import Method
from rag_eval.calibration.result import Calibration
from rag_eval.errors import InputError
from rag_eval.inputs.byte_files import source_name
from rag_eval.inputs.samples import SampleLike
from rag_eval.inputs.tables import cell_of, name_of, table_rows
from rag_eval.metrics.registry import to_metric_id
from rag_eval.options.signature import Signature
from rag_eval.results.reading import HOW_TO, ResultFile
from rag_eval.results.score_files import ScoreFile
from rag_eval.samples import MetricId
from rag_eval.stats.index_sources import Resampling

_SHOWN_IDS: Final = 3
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
    method: Method | None = None,
    precision: float | None = None,
    refit: bool = True,
    id_field: str = "id",
    label_field: str = "label",
    group_field: str | None = None,
    output: str | Path | None = None,
) -> FileCalibration:
    """Calibrate the scores in one file by the labels in another.

    Parameters
    ----------
    scores : path
        A file of results or scores of any form that :func:`rag_eval.runs.read_run` takes; in a
        table the column of scores is named like the metric or ``score``.
    labels : path
        A table of ids and labels: 0 and 1, or false and true.
    metric, method, precision, refit
        As for :func:`rag_eval.calibrate`. Weights are refitted where ``scores`` holds the texts, as
        the output of ``rag-eval run`` does.
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
    name, file = to_metric_id(metric), ResultFile(scores)
    rows = _joined(
        _read_scores(file, name, id_field),
        _read_labels(labels, id_field, label_field, group_field),
        source_name(scores),
        source_name(labels),
    )
    calibration, notes = calibrated(
        score_column(rows.scores, name, rows.signature),
        rows.labels,
        None if group_field is None else rows.groups,
        method,
        wanted_precision("balanced_accuracy", precision),
        Resampling(),
        partial(_samples, file, rows.ids, id_field) if refit else None,
    )
    if output is not None:
        write_calibrations(calibration, output)
    return FileCalibration(calibration, rows.notes + notes)


# ------------------------------------------------------------------------------------- joining


class _Scores(NamedTuple):
    by_id: dict[str, float | None]
    signature: Signature | None


class _Label(NamedTuple):
    good: bool
    group: object


class _JoinedRows(NamedTuple):
    ids: list[str]
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
        notes.append(
            f"{unscored:,} of {len(labels):,} labels in {labels_name} have no matching row"
        )
    if scores.signature is None:
        notes.append(
            f"{scores_name} has no signature, so it is unknown for which settings the "
            "calibration holds"
        )
    found = [labels[name] for name in shared]
    return _JoinedRows(
        shared,
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
        name = name_of(value, self._field, f"{self._source}, {place}")
        if name in self._places:
            raise InputError(
                f"{self._source}: {self._field} {name!r} is in {self._places[name]} "
                f"and in {place}; it must occur only once"
            )
        self._places[name] = place
        return name


# -------------------------------------------------------------------------------------- labels


def _read_labels(
    path: str | Path, id_field: str, label_field: str, group_field: str | None
) -> dict[str, _Label]:
    source = source_name(path)
    ids = _Ids(source, id_field)
    labels: dict[str, _Label] = {}
    for place, row in table_rows(path):
        where = f"{source}, {place}"
        name = ids.add(place, cell_of(row, id_field, where))
        good = _label(cell_of(row, label_field, where), f"{where}: {label_field}")
        group = None if group_field is None else cell_of(row, group_field, where)
        if group_field is not None:
            name_of(group, group_field, where)  # or an error
        labels[name] = _Label(good, group)
    return labels


def _label(value: object, where: str) -> bool:
    """0, 1, false, true: as JSON has them, or as text."""
    if value is None or value == "":
        raise InputError(f"{where} is missing; it must be 0 or 1")
    if isinstance(value, (bool, int, float)) and value in (0, 1):
        return bool(value)
    text = value.strip().lower() if isinstance(value, str) else ""
    # Tools that hold labels as floats write 1.0.
    found = _LABELS.get(text.removesuffix(".0"))
    if found is None:
        raise InputError(f"{where} must be 1 for good or 0 for bad, got {value!r:.80}")
    return found


# -------------------------------------------------------------------------------------- scores


def _read_scores(results: ResultFile, metric: MetricId, id_field: str) -> _Scores:
    file = ScoreFile(results, metrics=[metric], id_field=id_field)
    ids = _Ids(file.source, id_field)
    scores: dict[str, float | None] = {}
    for row in file.rows():
        name = ids.add(row.place, row.id)
        if not row.scores:
            known = ", ".join(file.unread) or "none"
            raise InputError(
                f"{file.source}, {row.place}: no scores of {metric} (metrics: {known})"
            )
        scores[name] = None if math.isnan(row.scores[0]) else row.scores[0]
    return _Scores(scores, file.signature)


def _samples(file: ResultFile, ids: Iterable[str], id_field: str) -> list[SampleLike]:
    """The samples of some rows of a file of scores, in its order, which is that of the ids.

    Raises
    ------
    NoLossesError
        When their texts are not in the file.
    """
    wanted, samples = set(ids), []
    for place, row in () if file.is_columns else file.rows():
        sample = row.get("sample", row)
        if name_of(sample.get(id_field), id_field, f"{file.source}, {place}") in wanted:
            samples.append(sample)
    if not any("contexts" in sample for sample in samples):
        raise NoLossesError(f"{file.source} has no texts of its rows; {HOW_TO}, with them")
    return samples
