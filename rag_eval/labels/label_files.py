"""Check files of labels and compare them with files of scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rag_eval.errors import InputError
from rag_eval.labels.comparing_labels import compare_labels
from rag_eval.labels.comparisons import LabelComparison
from rag_eval.labels.gold_dataset import read_gold_dataset
from rag_eval.labels.label_sets import LabelSet, labels_of, read_labels, some_names
from rag_eval.labels.omk_gold import column_of_omk_report
from rag_eval.labels.score_columns import ScoreColumn, column_of_run
from rag_eval.runs.run_files import read_run


@dataclass(frozen=True, slots=True)
class LabelCheck:
    """The result of checking labels; made by :func:`check_labels`.

    Attributes
    ----------
    name : str
    labels : LabelSet or None
        None if nothing could be read.
    issues : tuple of dict
        ``file``, ``index`` and ``message`` of each error.
    warnings : tuple of str
        Parts that were read but look like mistakes.
    """

    name: str
    labels: LabelSet | None
    issues: tuple[dict[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there are labels and no issues."""
        return self.labels is not None and not self.issues

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        labels = self.labels
        return {
            "name": self.name,
            "ok": self.ok,
            "nSamples": 0 if labels is None else len(labels),
            "annotators": [] if labels is None else list(labels.annotators),
            "nLabels": 0 if labels is None else int((~np.isnan(labels.ratings)).sum()),
            "issues": list(self.issues),
            "warnings": list(self.warnings),
        }


def check_labels(source: str | Path, **fields: str) -> LabelCheck:
    """Check a gold dataset of omk, or a table of ids and labels.

    Reports all issues of a folder, but only the first of a table. ``fields`` are those of
    :func:`~rag_eval.labels.label_sets.read_labels`.
    """
    name = str(source)
    if Path(source).is_dir():
        reading = read_gold_dataset(source)
        labels = None if reading.dataset is None else labels_of(reading.dataset, name)
        issues = tuple(issue.to_dict() for issue in reading.issues)
        return LabelCheck(name, labels, issues, reading.warnings)
    try:
        found = read_labels(source, **fields)
    except InputError as error:
        if not Path(source).exists():
            raise
        message = str(error).removeprefix(name).removeprefix(":").lstrip(" ,")
        return LabelCheck(name, None, ({"file": name, "index": None, "message": message},))
    return LabelCheck(name, found, (), found.notes)


def compare_label_files(
    labels: Sequence[str | Path],
    scores: str | Path | Sequence[str | Path],
    *,
    metric: str | None = None,
    variant: str | None = None,
    id_field: str = "id",
    label_field: str = "label",
    annotator_field: str = "annotator",
    **options: Any,
) -> LabelComparison:
    """Compare the scores in a file with labels.

    Parameters
    ----------
    labels : sequence of path
        As for :func:`~rag_eval.labels.label_sets.read_labels`.
    scores : path, or a list of them
        Results of a run or a table of scores, as for :func:`~rag_eval.runs.run_files.read_run`; a
        list holds repeats. With a variant, a report of omk.
    metric : str
        Not for a report of omk.
    variant : str, optional
        Variant in a report of omk; an empty string stands for the first.
    id_field, label_field, annotator_field : str
    **options
        As for :func:`~rag_eval.labels.comparing_labels.compare_labels`.

    Raises
    ------
    InputError
        With the file, row and field; also if labels and scores share no sample.
    """
    found = read_labels(
        *labels, id_field=id_field, label_field=label_field, annotator_field=annotator_field
    )
    column = _column(scores, metric, variant, id_field)
    if not any(name in column.scores for name in found.ids):
        raise InputError(
            f"labels and scores share no id: {found.name} has {some_names(found.ids)}, "
            f"{column.name} has {some_names(column.scores)}; give labels of the samples that were "
            "scored"
        )
    return compare_labels(found, column, **options)


def _column(scores: Any, metric: str | None, variant: str | None, id_field: str) -> ScoreColumn:
    if variant is not None:
        if not isinstance(scores, (str, Path)):
            raise InputError("variant needs one report of omk, got several files")
        if metric is not None:
            raise InputError(
                "variant and metric exclude each other: a report of omk has no metrics"
            )
        return column_of_omk_report(scores, variant or None)
    if metric is None:
        raise InputError(
            "give the metric that the labels are about, for example --metric faithfulness"
        )
    run = read_run(scores, id_field=id_field, metrics=[metric], repeats=True)
    return column_of_run(run, run.metrics[0])
