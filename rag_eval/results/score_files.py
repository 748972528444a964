"""A file of results or scores in; its rows as scores under their ids, and what is known of the run.

Rows of results have a sample and metrics inside, rows of tables a column for each score, rows of
committed baselines scores by name; all come out alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, TypeAlias

from rag_eval.errors import InputError
from rag_eval.inputs.file_states import unchanged
from rag_eval.inputs.parquet_files import opened_batches
from rag_eval.options.signature import SIGNATURE_KEY
from rag_eval.plumbing import json_text
from rag_eval.plumbing.json_fields import Fields
from rag_eval.results.reading import ResultFile
from rag_eval.results.row_reading import metric_or_none, settings_of
from rag_eval.results.score_rows import BaselineRows, NestedRows, ScoreRow, ScoreSource
from rag_eval.results.score_tables import FlatRows
from rag_eval.samples import MetricId

_Placed: TypeAlias = tuple[str, Mapping[str, Any]]
_BLOCK_ROWS: Final = 1024
# How Arrow calls the types of columns that can be scores.
_NUMBERS: Final = ("float", "double", "halffloat", "int", "uint", "null")


class ScoreFile(ScoreSource):
    """A file of results or of scores, read row by row; what is known of the run is complete then.

    Parameters
    ----------
    path : path
        As for :class:`~rag_eval.results.reading.ResultFile`, or ``.parquet`` or ``.arrow``.
    metrics, columns, id_field, digests
        As for :class:`~rag_eval.results.score_rows.ScoreSource`.
    """

    def __init__(
        self,
        path: str | Path | ResultFile,
        *,
        metrics: Sequence[MetricId] | None = None,
        columns: Sequence[str] = (),
        id_field: str | None = "id",
        digests: Callable[[Mapping[str, Any]], Sequence[int]] | None = None,
    ) -> None:
        self._file = ResultFile.of(path)
        super().__init__(
            self._file.source,
            metrics=metrics,
            columns=columns,
            id_field=id_field,
            digests=digests,
        )

    def rows(self) -> Iterator[ScoreRow]:
        """Its rows in order.

        Raises
        ------
        InputError
            Naming file, row and field.
        MissingIdsError
            When there is a summary alone.
        SignatureMismatchError
            When rows were scored under different settings.
        """
        if self._file.is_columns:
            yield from self._rows_of_columns(Path(self.source))
            return
        rows = self._file.rows()
        first = next(rows, None)
        said = self._file.said
        if self._file.is_baseline:
            read: Callable[[Mapping[str, Any], str], ScoreRow] = BaselineRows(self, said).row
        elif first is None:
            raise self._file.without_rows()
        elif _is_nested(first):
            read = NestedRows(self, first[1]).row
        else:
            yield from self._rows_of_table(first, rows)
            return
        for place, row in chain([first] if first else [], rows):
            yield read(row, place)
        if not self.is_baseline:
            self._add_summary(said)

    def said(self) -> tuple[Mapping[str, Any], int]:
        """What a result file says beside its rows, and how many there are; none is decoded."""
        if not self._file.may_say_more:
            return {}, 0
        n_rows = self._file.n_rows()
        return self._file.said, n_rows

    def _add_summary(self, said: Mapping[str, Any]) -> None:
        """What a result file says besides its rows."""
        summary = Fields(said)
        try:
            aggregates = summary.inner("aggregates").items()
            self.settings = settings_of(summary)
            self.dataset_hash = summary.text_or_none("datasetHash")
            judged = [entry for _, entry in summary.inner("judging").inner("metrics").items()]
        except InputError as error:
            raise InputError(f"{self.source} is not a result file: {error}") from None
        if said.get("signature") is not None:
            self.sign(said["signature"], "the signature")
        self.lower_is_better = frozenset(
            metric_or_none(name) or name
            for name, entry in aggregates
            if entry.get("higherIsBetter") is False
        )
        if judged:
            # As the run counted them itself.
            try:
                self.n_judgements = sum(entry.count("nJudged") for entry in judged)
                self.n_failed_judgements = sum(entry.count("nFailed") for entry in judged)
            except InputError as error:
                raise self.error("judging", str(error)) from None

    def _rows_of_table(self, first: _Placed, others: Iterator[_Placed]) -> Iterator[ScoreRow]:
        table = FlatRows(self, list(first[1]))
        rows = chain([first], others)
        while block := list(islice(rows, _BLOCK_ROWS)):
            places, found = zip(*block, strict=True)
            yield from table.block(places, partial(_values, found))

    def _rows_of_columns(self, path: Path) -> Iterator[ScoreRow]:
        with unchanged(path), opened_batches(path) as batches:
            names: list[str] = batches.schema.names
            rows = FlatRows(self, names)
            for name in rows.columns.scores.values():
                kind = str(batches.schema.field(name).type)
                if not kind.startswith(_NUMBERS):
                    raise InputError(
                        f"{self.source}: column {name!r} must hold numbers, got {kind}"
                    )
            self.seen.update(name for name in self.columns if name in names)
            signature = (batches.schema.metadata or {}).get(SIGNATURE_KEY)
            if signature is not None:
                self.sign(_decoded(signature, self.source), "the signature")
            wanted = {self.id_field, *self.columns, *rows.columns.names()}
            numbers = frozenset(rows.columns.scores.values())
            n_rows = 0
            for _, batch in batches.read([name for name in names if name in wanted], 0):
                first, n_rows = n_rows + 1, n_rows + batch.num_rows
                places = [f"row {row:,}" for row in range(first, n_rows + 1)]
                yield from rows.block(places, partial(_cells, batch, numbers))
        if not n_rows:
            raise self._file.without_rows()


def _cells(batch: Any, numbers: frozenset[str], name: str | None) -> Any:
    """The values of a column as Python has them; scores as an array, with NaN for null."""
    if name is None or name not in batch.schema.names:
        return [None] * batch.num_rows
    column = batch.column(name)
    is_score = name in numbers and str(column.type).startswith(("float", "double"))
    return column.to_numpy(zero_copy_only=False) if is_score else column.to_pylist()


def _values(rows: Sequence[Mapping[Any, Any]], name: str | None) -> list[Any]:
    return [None] * len(rows) if name is None else [row.get(name) for row in rows]


def _decoded(signature: bytes, source: str) -> Any:
    try:
        return json_text.loads(signature)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source}, the signature: not JSON: {error}") from None


def _is_nested(placed: tuple[str, Mapping[str, Any]]) -> bool:
    place, row = placed
    return place.startswith("results") or (
        isinstance(row.get("metrics"), Mapping) and isinstance(row.get("sample"), Mapping)
    )
