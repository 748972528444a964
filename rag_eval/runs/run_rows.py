"""Rows of scores, one at a time or a column at a time, in; a scored run of flat columns out."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from rag_eval.errors import InputError, SignatureMismatchError, glance, suggestion
from rag_eval.options.signature import Signature
from rag_eval.plumbing import json_text
from rag_eval.runs.scored_run import NOT_JUDGED, ScoredRun
from rag_eval.samples import MetricId, NullReason

JUDGE_FAILURES: Final = frozenset(
    reason for reason in NullReason if reason.name.startswith("JUDGE_")
)


class MissingIdsError(InputError):
    """A run has no ids by which its rows could be found again."""


class RunRows:
    """The rows of one file as they are read; the texts of samples are not among them.

    A row takes its id, 10 bytes for each metric, 9 more, and 8 bytes for each column.

    Parameters
    ----------
    source : str
        How messages call the file.
    columns : sequence of str
        Metadata that is kept.
    repeats : bool
        Whether an id may come more than once.
    """

    def __init__(
        self, source: str, columns: Sequence[str] = (), *, id_field: str, repeats: bool = False
    ) -> None:
        self.source = source
        self.id_field = id_field
        self.ids: list[str] = []
        self.scores: dict[MetricId, array[float]] = {}
        self.null_reasons: dict[MetricId, bytearray] = {}
        self.metric_passed: dict[MetricId, array[int]] = {}
        self.unread: dict[MetricId, None] = {}
        self.composite = array("d")
        self.passed = array("b")
        self.columns: dict[str, list[str | None]] = {name: [] for name in columns}
        self.lower_is_better: frozenset[MetricId] = frozenset()
        self.n_judgements = 0
        self.n_failed_judgements = 0
        self._signature: tuple[Any, Signature] | None = None
        self._signed_at = ""
        self._repeats = repeats
        self._rows: dict[str, int] = {}
        # Of a metadata field many rows have few values.
        self._values: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self.ids)

    def add_metric(self, metric: MetricId) -> None:
        """Make room for a metric; rows that were before it have no score of it."""
        n_rows = len(self.passed)
        self.scores[metric] = array("d", [np.nan]) * n_rows
        self.null_reasons[metric] = bytearray([NullReason.SKIPPED]) * n_rows
        self.metric_passed[metric] = array("b", [NOT_JUDGED]) * n_rows

    def add_id(self, value: object, place: str) -> None:
        """The id of the next row."""
        name = value if type(value) is str and value else self._id(value, place)
        row = len(self.ids)
        before = self._rows.setdefault(name, row)
        if before != row and not self._repeats:
            raise InputError(
                f"{self.source}: {self.id_field} {glance(name)} is in rows {before + 1:,} and "
                f"{row + 1:,}; wanted each once (repeats of a run are several files, or asked for)"
            )
        self.ids.append(name)

    def _id(self, value: object, place: str) -> str:
        if value is None or value == "":
            raise MissingIdsError(
                f"{self.source}, {place}: {self.id_field} is missing; rows are paired by it, so "
                "give each sample one, or name the field that holds it (id_field)"
            )
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            raise InputError(
                f"{self.source}, {place}: {self.id_field} must be a str or a whole number, "
                f"got {type(value).__name__}"
            )
        return str(value)

    def add_value(self, column: str, value: object, place: str) -> None:
        """A value of metadata of the row whose id came last."""
        if value is None or value == "":
            self.columns[column].append(None)
            return
        if not isinstance(value, str):
            if isinstance(value, (list, dict)):
                raise InputError(
                    f"{self.source}, {place}: {column} must be a text, a number or a "
                    f"boolean, got {type(value).__name__}"
                )
            value = json_text.dumps(value).decode()
        self.columns[column].append(self._values.setdefault(value, value))

    def sign(self, value: object, place: str) -> None:
        """The signature that a row, or the file, comes with; all must say the same.

        Raises
        ------
        InputError
            When it is none.
        SignatureMismatchError
            When rows were scored under different settings.
        """
        if self._signature is not None and self._signature[0] == value:
            return
        try:
            found = Signature.from_dict(value)
        except (InputError, TypeError, ValueError) as error:
            raise InputError(f"{self.source}, {place}: {error}") from None
        if self._signature is None:
            self._signature, self._signed_at = (value, found), place
        elif differences := found.differences(self._signature[1], self.scores):
            raise SignatureMismatchError(
                f"{self.source}, {place} was scored under other settings than {self._signed_at} "
                f"({'; '.join(differences)})"
            )

    @property
    def signature(self) -> Signature | None:
        """Of all rows."""
        return None if self._signature is None else self._signature[1]

    def run(self, metrics: Iterable[MetricId] | None = None) -> ScoredRun:
        """What was read; of all metrics, or of those named."""
        wanted = tuple(self.scores if metrics is None else metrics)
        if absent := [metric for metric in wanted if metric not in self.scores]:
            names = [*self.scores, *self.unread]
            hint = suggestion(absent[0], names)
            raise InputError(
                f"{self.source}: no scores of {absent[0]}{hint} "
                f"(metrics: {', '.join(names) or 'none'})"
            )
        n_rows = len(self.ids)
        return ScoredRun(
            name=self.source,
            ids=self.ids,
            metrics=wanted,
            scores=_stacked([self.scores[metric] for metric in wanted], n_rows, np.float64),
            null_reasons=_stacked([self.null_reasons[m] for m in wanted], n_rows, np.uint8),
            metric_passed=_stacked([self.metric_passed[m] for m in wanted], n_rows, np.int8),
            composite=np.array(self.composite, np.float64),
            passed=np.array(self.passed, np.int8),
            columns=self.columns,
            signature=self.signature,
            lower_is_better=self.lower_is_better.intersection(wanted),
            n_judgements=self.n_judgements,
            n_failed_judgements=self.n_failed_judgements,
        )


def _stacked(columns: Sequence[Any], n_rows: int, kind: Any) -> Any:
    found = np.empty((n_rows, len(columns)), kind)
    for number, column in enumerate(columns):
        found[:, number] = np.frombuffer(column, kind) if n_rows else ()
    return found
