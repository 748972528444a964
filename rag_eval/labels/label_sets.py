"""Folders of YAML and tables of labels in; labels with a row per annotator out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np

from rag_eval.errors import InputError, glance
from rag_eval.inputs.byte_files import source_name
from rag_eval.inputs.tables import cell_of, name_of, table_rows
from rag_eval.labels.gold_dataset import GoldDataset, read_gold_dataset
from rag_eval.plumbing.descriptors import is_standard_input
from rag_eval.plumbing.unreadable import unreadable
from rag_eval.stats.arrays import Floats

_WORDS: Final = {"true": 1.0, "false": 0.0}
_SHOWN_ISSUES: Final = 3
_SHOWN_NAMES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSet:
    """Labels of some samples by one or more annotators.

    Attributes
    ----------
    name : str
        The file names, for messages.
    ids : tuple of str
        U samples, in the order of the files.
    annotators : tuple of str
    ratings : float64, shape (annotators, U)
        NaN where an annotator gave none.
    scale : tuple of float or None
        Smallest and largest label, if the files give them.
    notes : tuple of str
        Parts of the files that were skipped or look like mistakes.
    """

    name: str
    ids: tuple[str, ...]
    annotators: tuple[str, ...]
    ratings: Floats = field(repr=False)
    scale: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)


def read_labels(
    *sources: str | Path,
    id_field: str = "id",
    label_field: str = "label",
    annotator_field: str = "annotator",
) -> LabelSet:
    """Read the labels of one or more annotators.

    Parameters
    ----------
    *sources : path
        Each a gold dataset of omk, which has one annotator, or a table (CSV, JSON lines, a JSON
        array) of ids and labels, with an annotator per row if there are several.
    id_field, label_field, annotator_field : str
        Columns of tables. Labels are numbers, or true and false; an empty one means that the
        sample has no label yet.

    Raises
    ------
    InputError
        With the file, row and field; for two labels of one sample by one annotator, folders
        without a valid dataset, and sources on different scales.
    """
    if not sources:
        raise InputError("give at least one file of labels")
    for source in sources:
        if not is_standard_input(source) and not Path(source).exists():
            raise unreadable(source, FileNotFoundError("no such file or folder"))
    columns = (id_field, label_field, annotator_field)
    found = [
        _folder_labels(source) if Path(source).is_dir() else _table_labels(source, columns)
        for source in sources
    ]
    return found[0] if len(found) == 1 else _together(found)


def mean_labels(ratings: Floats) -> Floats:
    """Mean label of each sample, shape (U,); NaN without labels."""
    given = ~np.isnan(ratings)
    n = given.sum(axis=0)
    sums = np.where(given, ratings, 0.0).sum(axis=0)
    return np.asarray(np.where(n > 0, sums / np.maximum(n, 1), np.nan), np.float64)


def some_names(names: Iterable[str]) -> str:
    """The first three, for a message."""
    found = list(islice(map(repr, names), _SHOWN_NAMES + 1))
    return ", ".join(found[:_SHOWN_NAMES]) + (", …" if len(found) > _SHOWN_NAMES else "")


def _folder_labels(folder: str | Path) -> LabelSet:
    reading = read_gold_dataset(folder)
    if reading.dataset is None:
        shown = "; ".join(map(str, reading.issues[:_SHOWN_ISSUES]))
        raise InputError(f"{folder}: {shown}")
    skipped = [f"{folder}: skipped: {issue}" for issue in reading.issues]
    warnings = [f"{folder}: {warning}" for warning in reading.warnings]
    return labels_of(reading.dataset, str(folder), notes=[*skipped, *warnings])


def labels_of(dataset: GoldDataset, name: str, notes: Sequence[str] = ()) -> LabelSet:
    """The labels of a gold dataset."""
    return LabelSet(
        name=name,
        ids=tuple(one.sample_id for one in dataset.annotations),
        annotators=(dataset.metadata.annotator,),
        ratings=np.array([[one.score for one in dataset.annotations]], np.float64),
        scale=dataset.metadata.scale,
        notes=tuple(notes),
    )


def _table_labels(path: str | Path, columns: tuple[str, str, str]) -> LabelSet:
    id_field, label_field, annotator_field = columns
    source = source_name(path)
    labels: dict[tuple[str, str], float] = {}
    places: dict[tuple[str, str], str] = {}
    n_empty = 0
    for place, row in table_rows(path):
        where = f"{source}, {place}"
        name = name_of(cell_of(row, id_field, where), id_field, where)
        annotator = source
        if row.get(annotator_field) not in (None, ""):
            annotator = name_of(row[annotator_field], annotator_field, where)
        key = (annotator, name)
        if key in places:
            by = "" if annotator == source else f" by {annotator}"
            raise InputError(
                f"{source}: {id_field} {name!r} has two labels{by}, in {places[key]} and in {place}"
            )
        places[key] = place
        labels[key] = _label(row, label_field, where)
        n_empty += math.isnan(labels[key])
    if n_empty == len(labels):
        raise InputError(f"{source}: the column {label_field!r} is empty; fill it with labels")
    notes = [f"{source}: rows without a label: {n_empty:,} of {len(labels):,}"] * bool(n_empty)
    return _label_set(source, labels, None, notes)


def _label_set(
    name: str,
    labels: Mapping[tuple[str, str], float],
    scale: tuple[float, float] | None,
    notes: Sequence[str],
) -> LabelSet:
    annotators = {who: row for row, who in enumerate(dict.fromkeys(who for who, _ in labels))}
    units = {unit: place for place, unit in enumerate(dict.fromkeys(unit for _, unit in labels))}
    ratings = np.full((len(annotators), len(units)), np.nan)
    for (annotator, unit), label in labels.items():
        ratings[annotators[annotator], units[unit]] = label
    return LabelSet(
        name=name,
        ids=tuple(units),
        annotators=tuple(annotators),
        ratings=ratings,
        scale=scale,
        notes=tuple(notes),
    )


def _together(found: Sequence[LabelSet]) -> LabelSet:
    """The labels of several annotators side by side."""
    scales = {one.scale for one in found}
    if len(scales) > 1:
        texts = [f"{one.name}: {_scale_text(one.scale)}" for one in found]
        raise InputError(f"labels on different scales cannot be compared ({'; '.join(texts)})")
    labels: dict[tuple[str, str], float] = {}
    for one in found:
        for row, annotator in enumerate(one.annotators):
            if any(who == annotator for who, _ in labels):
                raise InputError(f"{one.name}: an earlier file also has labels by {annotator!r}")
            labels |= {
                (annotator, unit): float(label)
                for unit, label in zip(one.ids, one.ratings[row], strict=True)
            }
    name = ", ".join(one.name for one in found)
    return _label_set(name, labels, found[0].scale, [n for one in found for n in one.notes])


def _scale_text(scale: tuple[float, float] | None) -> str:
    return "no scale" if scale is None else f"{scale[0]:g} to {scale[1]:g}"


def _label(row: Mapping[str, Any], column: str, where: str) -> float:
    value = cell_of(row, column, where)
    if value is None or (isinstance(value, str) and not value.strip()):
        return math.nan
    try:
        if isinstance(value, (list, dict)):
            raise ValueError
        text = value.strip().lower() if isinstance(value, str) else value
        found = _WORDS[text] if text in _WORDS else float(text)
        if not math.isfinite(found):
            raise ValueError
    except (ValueError, TypeError, OverflowError):
        raise InputError(
            f"{where}: {column} must be a number, or true or false, got {glance(value)}"
        ) from None
    return found
