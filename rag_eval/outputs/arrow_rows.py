"""Rows of scores as Arrow batches, and files of them: Parquet and Arrow's own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.inputs.arrow.blocks import ArrowBlock
from rag_eval.options.signature import SIGNATURE_KEY, Signature
from rag_eval.outputs.columns import REASON_NAMES, RowScores, ScoreColumns, row_ids
from rag_eval.plumbing import json_text
from rag_eval.plumbing.extras import pyarrow
from rag_eval.plumbing.own_folder import OwnFile
from rag_eval.scoring.engine import ScoredBlock

if TYPE_CHECKING:
    import pyarrow as pa

# A row group, or a batch of an Arrow file, has at most so many bytes of columns and so many rows.
_MOST_BYTES: Final = 32 << 20
_MOST_ROWS: Final = 1 << 20
_STEP_ROWS: Final = 1024
_INPUT_CHANGED: Final = b"rag_eval.input_changed"


class _ColumnFormat(ABC):
    """Parts are Arrow streams; what is made of them in the end is up to the kind of file.

    Columns of an Arrow input keep their type, and its ids stay numbers. Of other inputs both are
    texts: contexts a list of them, and what is neither text nor null its JSON.
    """

    def __init__(self, columns: ScoreColumns, signature: Signature) -> None:
        self._pa = pyarrow("writing Parquet or Arrow")
        self._columns = columns
        self._metadata = signature_metadata(signature)
        self._schema: pa.Schema | None = None

    def encode(self, scored: ScoredBlock) -> bytes:
        """The rows of a block as a stream of their own: parts may be cut between any two."""
        scores = self._columns.scores_of(scored.scores, scored.null_reasons, scored.judged)
        arrays = [
            self._ids(scored),
            *self._extra(scored),
            *self._digests(scored),
            *score_arrays(self._pa, scores),
        ]
        batch = self._pa.RecordBatch.from_arrays(arrays, self._columns.names)
        self._check(batch.schema)
        batch = batch.replace_schema_metadata(self._metadata)
        sink = self._pa.BufferOutputStream()
        with self._pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]  # no types

    def _ids(self, scored: ScoredBlock) -> pa.Array:
        block, types = scored.rows, self._pa.types
        if isinstance(block, ArrowBlock):
            kind = self._pa.int64() if block.ids_are_numbers else self._pa.string()
            name = block.id_column
            if name is not None and name in block.held.schema.names:
                found = _rows_of(self._pa, block, name)
                if types.is_uint64(found.type):
                    kind = found.type
                # A value that is neither a text nor a whole number is not an id.
                if not found.null_count and (block.ids_are_numbers or _is_text(types, found.type)):
                    return found.cast(kind)
            if block.ids_are_numbers:
                return self._pa.array(row_ids(scored), kind)
        ids = row_ids(scored)
        # Of one type whatever they are: other files may have numbers and then texts.
        return self._pa.array(list(map(_text, ids)), self._pa.string())

    def _extra(self, scored: ScoredBlock) -> Iterator[pa.Array]:
        block = scored.rows
        for name in self._columns.extra:
            if isinstance(block, ArrowBlock):
                found = _whole(self._pa, _rows_of(self._pa, block, name))
                self._columns.note_values(name, len(found) - found.null_count)
                yield found
            elif name == "contexts":
                lists = [_texts(value) for value in self._columns.values_of(scored, name)]
                yield self._pa.array(lists, self._pa.list_(self._pa.string()))
            else:
                texts = map(_text, self._columns.values_of(scored, name))
                yield self._pa.array(list(texts), self._pa.string())

    def _digests(self, scored: ScoredBlock) -> Iterator[pa.Array]:
        if self._columns.digests is not None:
            yield self._pa.array(self._columns.digests(scored.rows), self._pa.string())

    def _check(self, schema: pa.Schema) -> None:
        """Raise an InputError when batches have columns of different types."""
        if self._schema is None:
            self._schema = schema
        elif schema != self._schema:
            pairs = zip(schema, self._schema, strict=True)
            one, other = next((new, old) for new, old in pairs if new != old)
            # Their order depends on the threads.
            first, second = sorted([str(one.type), str(other.type)])
            raise InputError(f"column {one.name!r} is {first} in one file and {second} in another")

    def assemble(
        self, parts: Sequence[OwnFile], file: IO[bytes], input_changes: Sequence[str]
    ) -> None:
        """Write the rows of all parts in new groups."""
        import pyarrow.compute  # noqa: F401  # not loaded with the package

        tables = regrouped(self._pa, _batches(self._pa, parts, self._check))
        first = next(tables)
        metadata = dict(first.schema.metadata)
        if input_changes:
            metadata[_INPUT_CHANGED] = "; ".join(input_changes).encode()
        with self._writer(file, first.schema.with_metadata(metadata)) as writer:
            for table in chain([first], tables):
                self._write(writer, table)

    @abstractmethod
    def _writer(self, file: IO[bytes], schema: pa.Schema) -> Any:
        """A context that yields the writer of the file and closes it."""

    @abstractmethod
    def _write(self, writer: Any, table: pa.Table) -> None:
        """Write one group of rows."""


class ParquetFormat(_ColumnFormat):
    """Row groups of at most 32 MiB before they are packed."""

    def _writer(self, file: IO[bytes], schema: pa.Schema) -> Any:
        from pyarrow import parquet

        return parquet.ParquetWriter(file, schema, compression="zstd")

    def _write(self, writer: Any, table: pa.Table) -> None:
        writer.write_table(table, row_group_size=table.num_rows)


class ArrowFormat(_ColumnFormat):
    """Arrow's own file format, one record batch a group."""

    def _writer(self, file: IO[bytes], schema: pa.Schema) -> Any:
        return self._pa.ipc.new_file(file, schema)

    def _write(self, writer: Any, table: pa.Table) -> None:
        writer.write_table(table.combine_chunks())


def signature_metadata(signature: Signature) -> dict[bytes, bytes]:
    """The signature as metadata of a schema."""
    return {SIGNATURE_KEY: json_text.dumps(signature.to_dict())}


def score_arrays(pa: Any, scores: RowScores) -> list[pa.Array]:
    """The columns of scores, in the order of their names."""
    return [
        *(_numbers(pa, column) for column in scores.scores.T),
        *(_reasons(pa, column) for column in scores.null_reasons.T),
        _numbers(pa, scores.composite),
        pa.array(scores.passed),
        *(_numbers(pa, column) for column in scores.probabilities),
        *(pa.array(column, pa.string()) for column in scores.modes),
    ]


def _reasons(pa: Any, column: npt.NDArray[np.uint8]) -> pa.Array:
    if not column.any():
        return pa.nulls(len(column), pa.string())
    names = pa.array(REASON_NAMES, pa.string())
    return names.take(pa.array(column))


def _numbers(pa: Any, column: npt.NDArray[np.float64]) -> pa.Array:
    return pa.array(column, mask=np.isnan(column))


def _rows_of(pa: Any, block: ArrowBlock, name: str) -> pa.Array:
    column, places = block.held.column(name), block.places
    if len(places) and places[-1] - places[0] + 1 == len(places):
        return column.slice(int(places[0]), len(places))
    return column.take(pa.array(places))


def _is_text(types: Any, kind: Any) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _whole(pa: Any, array: pa.Array) -> pa.Array:
    """The array without a dictionary, because dictionaries may differ between batches."""
    if pa.types.is_dictionary(array.type):
        return array.cast(array.type.value_type)
    return array


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return None if value is None else value.encode("utf-8", "backslashreplace").decode()
    return json_text.dumps(value).decode()


def _texts(value: Any) -> list[str | None] | None:
    if value is None:
        return None
    return [_text(item) for item in value] if isinstance(value, (list, tuple)) else [_text(value)]


def _batches(
    pa: Any, parts: Sequence[OwnFile], check: Callable[[pa.Schema], None]
) -> Iterator[pa.RecordBatch]:
    for part in parts:
        n_bytes = part.stat().st_size
        with part.open("rb") as opened, pa.PythonFile(opened, mode="r") as file:
            while file.tell() < n_bytes:
                stream = pa.ipc.open_stream(file)
                # Those of an earlier run were not compared with what came since.
                check(stream.schema)
                yield from stream


def regrouped(pa: Any, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The same rows in tables whose bounds depend on the rows alone.

    Each takes as many steps of 1,024 rows as stay below the limit; a step that is above it by
    itself is halved until its pieces are below or one row.
    """
    group: list[pa.Table] = []
    n_bytes = n_rows = 0
    for table in _steps(pa, batches):
        for piece, size in _pieces(pa, table):
            if group and (n_bytes + size > _MOST_BYTES or n_rows + piece.num_rows > _MOST_ROWS):
                yield pa.concat_tables(group)
                group, n_bytes, n_rows = [], 0, 0
            group.append(piece)
            n_bytes += size
            n_rows += piece.num_rows
    if group:
        yield pa.concat_tables(group)


def _steps(pa: Any, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Tables of 1,024 rows each, the last shorter, in one chunk each."""
    waiting: list[pa.RecordBatch] = []
    n_waiting = 0
    for batch in batches:
        begin = 0
        while n_waiting + batch.num_rows - begin >= _STEP_ROWS:
            taken = _STEP_ROWS - n_waiting
            waiting.append(batch.slice(begin, taken))
            begin += taken
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting, n_waiting = [], 0
        if begin < batch.num_rows:
            waiting.append(batch.slice(begin))
            n_waiting += batch.num_rows - begin
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()


def _pieces(pa: Any, table: pa.Table) -> Iterator[tuple[pa.Table, int]]:
    """Tables with their bytes."""
    size = _content_bytes(pa, table)
    if table.num_rows == 1 or size <= _MOST_BYTES:
        yield table, size
        return
    half = table.num_rows // 2
    yield from _pieces(pa, table.slice(0, half))
    yield from _pieces(pa, table.slice(half))


def _content_bytes(pa: Any, table: pa.Table) -> int:
    """Bytes of a table's values; its buffers may be larger."""
    return sum(_array_bytes(pa, chunk) for column in table.columns for chunk in column.chunks)


def _array_bytes(pa: Any, array: pa.Array) -> int:
    kind, types = array.type, pa.types
    if types.is_primitive(kind):
        return len(array) * 8
    if types.is_string_view(kind) or types.is_binary_view(kind):
        array = array.cast(pa.large_binary())
        kind = array.type
    if (
        types.is_string(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or (types.is_large_string(kind))
    ):
        if array.null_count == len(array):  # nearly always, of reasons
            return len(array) * 4
        return len(array) * 4 + (pa.compute.sum(pa.compute.binary_length(array)).as_py() or 0)
    if types.is_struct(kind):
        return sum(_array_bytes(pa, child) for child in array.flatten())
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return len(array) * 4 + _array_bytes(pa, array.flatten())
    return len(array) * 8
