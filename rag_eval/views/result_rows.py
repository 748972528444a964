"""A result file in; its rows one at a time, one of them, or what is said of all, out.

No more of a file of lines is in memory than a row and the scores.
"""

from __future__ import annotations

import difflib
import heapq
import math
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from rag_eval.errors import InputError
from rag_eval.gating.limits import GateOutcome, pass_rate_outcome
from rag_eval.inputs.byte_files import file_bytes, plain_name, source_name
from rag_eval.inputs.tables import table_rows
from rag_eval.options.signature import Signature
from rag_eval.plumbing import json_text
from rag_eval.plumbing.json_fields import Fields
from rag_eval.results.aggregates import MetricAggregate, aggregate_composite, aggregate_metric
from rag_eval.results.batch import BatchEvalResult, BatchSummary
from rag_eval.results.files import batch_of, composites, matrices, read_row
from rag_eval.results.row import ByMetric, EvalResult
from rag_eval.runs.result_lines import is_line_by_line, result_lines
from rag_eval.samples import MetricId
from rag_eval.views.run_view import ViewedRow
from rag_eval.views.texts import id_text, row_name

_LINES: Final = (".jsonl", ".ndjson")
_WRITERS: Final = "rag-eval run --output, or --format jsonl, writes such rows"
# Among more ids than these nobody waits for the one that is most like another.
_COMPARED_IDS: Final = 20_000
_LIKE: Final = 3


class RawRow(NamedTuple):
    """A row as it is in the file, its number from 0, and how messages call the file."""

    number: int
    value: dict[str, Any]
    source: str

    def id(self, field: str = "id") -> str | None:
        """The id of its sample as a text."""
        sample = self.value.get("sample")
        return id_text({"id": sample.get(field)} if isinstance(sample, Mapping) else None)

    def viewed(self, field: str = "id") -> ViewedRow:
        """The row as a result."""
        known = self.id(field)
        name = row_name(self.number, known)
        return ViewedRow(number=self.number, name=name, id=known, result=self.result())

    def result(self) -> EvalResult:
        """Read; an InputError names file, row and field."""
        try:
            return read_row(self.value)
        except InputError as error:
            raise InputError(f"{self.source}, row {self.number}: {error}") from None


class ResultFile:
    """A result file: ``.json`` or ``.jsonl``, also packed; of this library or rag-eval-node-ts.

    Attributes
    ----------
    source : str
        How messages call it.
    summary : dict
        What it says beside its rows, known when all have been read; empty in a file of rows alone.
    """

    def __init__(self, path: str | Path) -> None:
        self.source = source_name(path)
        self.summary: dict[str, Any] = {}
        self._path = path

    @property
    def is_interrupted(self) -> bool:
        """The run ended before its samples did; known when all rows have been read."""
        return self.summary.get("interrupted") is True

    @property
    def n_skipped(self) -> int:
        """Samples that the run left out as invalid; known when all rows have been read."""
        try:
            return Fields(self.summary).count("nSkipped")
        except InputError as error:
            raise InputError(f"{self.source}: {error}") from None

    def rows(self) -> Iterator[RawRow]:
        """Its rows in order.

        Raises
        ------
        InputError
            At the first that is none, and for a file without rows.
        """
        number = -1
        for number, (place, row) in enumerate(self._found()):
            if not isinstance(row, dict) or not isinstance(row.get("metrics"), Mapping):
                raise InputError(
                    f"{self.source}, {place}: is no row of a result: it has no metrics; {_WRITERS}"
                )
            yield RawRow(number, row, self.source)
        if number < 0:
            raise InputError(f"{self.source} has no rows; {_WRITERS}")

    def _found(self) -> Iterator[tuple[str, Any]]:
        name = plain_name(self._path)
        if name.endswith(_LINES):
            return table_rows(self._path)
        if not name.endswith(".json"):
            raise InputError(
                f"{self._path}: cannot tell the format from the name; wanted a result file: .json "
                "or .jsonl, either also .gz"
            )
        if is_line_by_line(self._path):
            return result_lines(self._path, self.summary.update)
        return self._whole()

    def _whole(self) -> Iterator[tuple[str, Any]]:
        data = file_bytes(self._path)
        try:
            value = json_text.loads(data)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{self.source} is not JSON: {error}") from None
        del data
        rows = value
        if isinstance(value, dict):
            rows = value.pop("results", [])
            self.summary.update(value)
        if not isinstance(rows, list):
            raise InputError(f"{self.source} is no result file: it holds no list of rows")
        for number, row in enumerate(rows):
            yield f"results[{number}]", row


# --------------------------------------------------------------------------------------- one row


def row_numbered(file: ResultFile, number: int) -> RawRow:
    """The row with this number.

    Raises
    ------
    InputError
        When there are fewer.
    """
    last = -1
    for row in file.rows():
        last = row.number
        if last == number:
            return row
    raise InputError(f"{file.source}: there is no row {number:,}; the last one is {last:,}")


def rows_with_id(file: ResultFile, wanted: str, field: str = "id") -> list[RawRow]:
    """The rows with this id, of which there may be several.

    Raises
    ------
    InputError
        When there is none, naming ids that are like it.
    """
    found: list[RawRow] = []
    others: dict[str, None] = {}
    n_rows = n_named = 0
    for row in file.rows():
        known = row.id(field)
        n_rows += 1
        n_named += known is not None
        if known == wanted:
            found.append(row)
        elif known is not None and not found and len(others) < _COMPARED_IDS:
            others[known] = None
    if found:
        return found
    text = f"{file.source}: none of its {n_rows:,} rows has the id {wanted!r}"
    if not n_named:
        raise InputError(f"{text}, nor any other; --row takes the number of a row, from 0")
    # Long ids take their square of time, and are no names that people mistype.
    short = [name for name in others if len(name) <= 2 * len(wanted) + 8]
    like = difflib.get_close_matches(wanted[:200], short, _LIKE, 0.5)
    shown = like or list(others)[:_LIKE]
    said = "; ids like it: " if like else "; the first ids: "
    raise InputError(text + said + ", ".join(map(repr, shown)))


# --------------------------------------------------------------------------------------- all rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What is said of all rows of a file.

    Attributes
    ----------
    summary : BatchSummary
        Counted anew from the rows.
    thresholds : mapping of float or None
    gate : GateOutcome
        That every row passes.
    worst : tuple of RawRow
        The lowest composite scores, the worst first.
    interrupted : bool
    """

    summary: BatchSummary
    thresholds: Mapping[MetricId, float | None]
    gate: GateOutcome
    worst: tuple[RawRow, ...]
    interrupted: bool = False


def overview(file: ResultFile, n_worst: int) -> Overview:
    """Read all rows of a file; of their texts only those of the worst are kept."""
    columns = _Columns()
    heap: list[tuple[float, int, RawRow]] = []
    for row in file.rows():
        result = row.result()
        columns.add(result)
        score = result.composite_score
        if score is None or not n_worst:
            continue
        entry = (-score, -row.number, row)  # no two have one number: rows are not compared
        if len(heap) < n_worst:
            heapq.heappush(heap, entry)
        elif entry > heap[0]:
            heapq.heapreplace(heap, entry)
    summary = columns.summary(file.summary)
    return Overview(
        summary=summary,
        thresholds=columns.thresholds,
        gate=pass_rate_outcome(summary.n_passed, summary.n_rows, 1.0),
        worst=tuple(row for _, _, row in sorted(heap, reverse=True)),
        interrupted=file.is_interrupted,
    )


def whole_batch(file: ResultFile) -> BatchEvalResult:
    """All rows of a file in memory, with its summary; without one it is counted from the rows."""
    columns, results = _Columns(), list[EvalResult]()
    signature: Signature | None = None
    for row in file.rows():
        result = row.result()
        # One object for all rows of a run: it may be larger than a row.
        if result.signature == signature:
            result = replace(result, signature=signature)
        signature = result.signature
        columns.add(result)
        results.append(result)
    if "aggregates" in file.summary:
        try:
            return batch_of(results, file.summary)
        except InputError as error:
            raise InputError(f"{file.source}: {error}") from None
    summary = columns.summary(file.summary)
    scores, reasons = matrices(results, summary.metrics)
    return BatchEvalResult(
        **{one.name: getattr(summary, one.name) for one in fields(BatchSummary)},
        scores=scores,
        null_reasons=reasons,
        composite_scores=composites(results),
        sample_passed=np.array([result.passed for result in results], np.bool_),
        results=results,
    )


class _Columns:
    """Scores and verdicts of the rows that have been read."""

    def __init__(self) -> None:
        self.thresholds: dict[MetricId, float | None] = {}
        self._scores: dict[MetricId, array[float]] = {}
        self._passed: dict[MetricId, bytearray] = {}
        self._composite = array("d")
        self._row_passed = bytearray()
        self._last: EvalResult | None = None

    def add(self, result: EvalResult) -> None:
        n_rows = len(self._composite)
        for metric, found in result.metrics.items():
            if metric not in self._scores:
                self._scores[metric] = array("d", [math.nan]) * n_rows
                self._passed[metric] = bytearray(n_rows)
            self._scores[metric].append(math.nan if found.score is None else found.score)
            self._passed[metric].append(found.passed is True)
            if self.thresholds.get(metric) is None:
                self.thresholds[metric] = found.threshold
        for metric, scores in self._scores.items():
            if len(scores) == n_rows:
                scores.append(math.nan)
                self._passed[metric].append(False)
        score = result.composite_score
        self._composite.append(math.nan if score is None else score)
        self._row_passed.append(result.passed)
        self._last = result

    def summary(self, beside: Mapping[str, Any]) -> BatchSummary:
        assert self._last is not None
        passed = np.frombuffer(self._row_passed, np.bool_)
        notes = beside.get("notes")
        return BatchSummary(
            metrics=tuple(self._scores),
            n_rows=len(passed),
            n_passed=int(passed.sum()),
            aggregates=ByMetric({metric: self._aggregate(metric) for metric in self._scores}),
            composite_aggregate=aggregate_composite(np.frombuffer(self._composite), passed),
            passed=bool(passed.all()),
            total_duration_ms=0,
            evaluated_at=self._last.evaluated_at,
            signature=self._last.signature,
            notes=[str(note) for note in notes] if isinstance(notes, list) else [],
        )

    def _aggregate(self, metric: MetricId) -> MetricAggregate:
        scores = np.frombuffer(self._scores[metric])
        return aggregate_metric(metric, scores, np.frombuffer(self._passed[metric], np.bool_))
