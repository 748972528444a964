"""A result file in; its rows one at a time, one of them, or the summary, out.

No more of a file of lines is in memory than a row and the scores.
"""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from rag_eval.errors import InputError
from rag_eval.plumbing.json_fields import Fields
from rag_eval.results.batch import BatchSummary
from rag_eval.results.batch_reading import Tally, read_row
from rag_eval.results.reading import ResultFile
from rag_eval.results.row import EvalResult, id_text, row_name, sample_dict
from rag_eval.runs.row_clusters import RowClusters, with_clusters
from rag_eval.samples import MetricId
from rag_eval.stats.repeat_noise import RepeatNoise, noise_of_rows
from rag_eval.views.run_view import ViewedRow

# Largest number of ids to compare for suggestions.
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
        """The parsed result; an InputError names file, row and field."""
        try:
            return read_row(self.value)
        except InputError as error:
            raise InputError(f"{self.source}, row {self.number + 1}: {error}") from None


def raw_rows(file: ResultFile) -> Iterator[RawRow]:
    """The rows of a file in order.

    Raises
    ------
    InputError
        At the first invalid row, and for a file without rows.
    """
    for number, (_, row) in enumerate(file.result_rows()):
        yield RawRow(number, row, file.source)


def is_interrupted(file: ResultFile) -> bool:
    """Whether the run ended before all samples were scored; known when all rows were read."""
    return file.said.get("interrupted") is True


def n_skipped(file: ResultFile) -> int:
    """Number of samples that the run skipped as invalid; known when all rows were read."""
    try:
        return Fields(file.said).count("nSkipped")
    except InputError as error:
        raise InputError(f"{file.source}: {error}") from None


# --------------------------------------------------------------------------------------- one row


def row_numbered(file: ResultFile, number: int) -> RawRow:
    """The row with this number, from 0.

    Raises
    ------
    InputError
        When there are fewer.
    """
    last = -1
    for row in raw_rows(file):
        last = row.number
        if last == number:
            return row
    raise InputError(f"{file.source} has no row {number + 1:,}; the last row is {last + 1:,}")


def rows_with_id(file: ResultFile, wanted: str, field: str = "id") -> list[RawRow]:
    """All rows with this id.

    Raises
    ------
    InputError
        When there is none, naming ids that are like it.
    """
    found: list[RawRow] = []
    others: dict[str, None] = {}
    n_rows = n_named = 0
    for row in raw_rows(file):
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
        raise InputError(
            f"{text}, because the rows have no ids; --row takes the number of a row, from 1"
        )
    # Comparing long ids takes quadratic time, and nobody types them by hand.
    short = [name for name in others if len(name) <= 2 * len(wanted) + 8]
    like = difflib.get_close_matches(wanted[:200], short, _LIKE, 0.5)
    shown = like or list(others)[:_LIKE]
    said = "; similar ids: " if like else "; the first ids: "
    by_number = f". To show a row by its number: --row {wanted}" if wanted.isdecimal() else ""
    raise InputError(text + said + ", ".join(map(repr, shown)) + by_number)


# --------------------------------------------------------------------------------------- all rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The summary of a file.

    Attributes
    ----------
    summary : BatchSummary
        Recomputed from the rows.
    thresholds : mapping of float or None
    worst : tuple of RawRow
        The lowest composite scores, the worst first.
    interrupted : bool
    noise : mapping of RepeatNoise
        Of metrics whose rows were scored several times: what of the noise of the mean is from
        repeats.
    """

    summary: BatchSummary
    thresholds: Mapping[MetricId, float | None]
    worst: tuple[RawRow, ...]
    interrupted: bool = False
    noise: Mapping[MetricId, RepeatNoise] = field(default_factory=dict)


def overview(file: ResultFile, n_worst: int, cluster_by: str | None = None) -> Overview:
    """Read all rows of a file; of their texts only those of the worst are kept.

    ``cluster_by`` is a field of the samples: intervals are then by clusters.
    """
    tally = Tally()
    clusters = None if cluster_by is None else RowClusters(cluster_by)
    ids: list[str] = []
    heap: list[tuple[float, int, RawRow]] = []
    for row in raw_rows(file):
        if not tally.add_scores(row.value):
            tally.add(row.result())
        ids.append(row.id() or f"row {row.number + 1}")
        if clusters is not None:
            name = f"{file.source}, row {row.number + 1:,}"
            sample = row.value.get("sample")
            clusters.add_sample(sample_dict(sample if isinstance(sample, dict) else {}), name)
        score = row.value.get("compositeScore")
        if score is None or not n_worst:
            continue
        entry = (-score, -row.number, row)  # numbers differ, so that rows are never compared
        if len(heap) < n_worst:
            heapq.heappush(heap, entry)
        elif entry > heap[0]:
            heapq.heapreplace(heap, entry)
    summary = tally.summary(file.said)
    columns = tally.columns
    scores, _, verdicts = columns.matrices()
    if clusters is not None:
        composite, passed = np.array(columns.composite), np.array(columns.passed)
        summary = with_clusters(summary, clusters, scores, composite, verdicts, passed)
    return Overview(
        summary=summary,
        thresholds=tally.thresholds,
        worst=tuple(row for _, _, row in sorted(heap, reverse=True)),
        interrupted=is_interrupted(file),
        noise={
            name: noise
            for name, column in zip(summary.metrics, scores.T, strict=True)
            if (noise := noise_of_rows(ids, column, tally.repeats.get(name))) is not None
        },
    )
