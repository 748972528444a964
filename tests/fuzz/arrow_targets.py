"""Arrow data of any layout, library or lack of sense: scored as plain dicts, or refused."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from types import NoneType
from typing import Any, Final

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rag_eval
from rag_eval._native import arrow_texts
from rag_eval.errors import InputError
from rag_eval.inputs.arrow import blocks as module
from tests.fuzz import arrow_tables, broken_arrow, hostile_texts
from tests.fuzz.arrow_tables import Row
from tests.fuzz.running import Target
from tests.grounded_samples import Choices
from tests.unit.inputs.test_arrow_arrays import is_utf8
from tests.unit.inputs.test_arrow_blocks import (
    METRICS,
    RowBlock,
    blocks_of,
    expected,
    found,
    needs_of,
    without_nulls,
)

Library = Callable[[Choices, Any, list[Row]], tuple[Any, list[Row]]]


def assert_same_rows(choices: Choices, table: Any, rows: list[Row], fields: dict[str, str]) -> None:
    """Scores, faults, samples and ids, in blocks of any size, and of rows that are picked."""
    make = table if callable(table) else lambda: table
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK_BYTES", choices.of((1, 100, 1 << 22)))
        patch.setattr(module, "_MAX_BLOCK_ROWS", choices.of((1, 3, 8192)))
        for profile, metrics in (METRICS[0], choices.of(METRICS), METRICS[-4]):
            needs = needs_of(profile, metrics)
            assert found(make(), needs, fields) == expected(rows, needs), needs
        blocks = blocks_of(make(), fields)
    samples = [block.sample(index) for block in blocks for index in range(len(block))]
    assert samples == [without_nulls(row) for row in rows]
    assert list(itertools.chain.from_iterable(block.ids() for block in blocks)) == [
        row.get("id") for row in rows
    ]
    needs = needs_of(*choices.of(METRICS))
    faults = [block.fault(index, needs) for block in blocks for index in range(len(block))]
    as_rows = RowBlock(0, list(rows))
    assert faults == [as_rows.fault(index, needs) for index in range(len(rows))]
    picked = [choices.below(len(blocks[0])) for _ in range(choices.below(5))] if blocks else []
    if picked:
        taken = blocks[0].taken(picked)
        assert [taken.sample(at) for at in range(len(taken))] == [samples[at] for at in picked]


def arrow_layouts(choices: Choices) -> None:
    """pyarrow: views, dictionaries, lists of all kinds, slices, chunks, structs, extensions."""
    rows = arrow_tables.rows_of(choices)
    table = arrow_tables.table_of(choices, rows)
    fields = {name: name for name in rows[0]}
    kind = choices.below(4)
    if kind == 0:
        assert_same_rows(choices, table, rows, fields)
    elif kind == 1:
        size = choices.of((1, 2, 7))
        assert_same_rows(choices, lambda: table.to_reader(size), rows, fields)
    elif kind == 2:
        skipped = choices.below(len(rows))
        batch = table.combine_chunks().to_batches()[0].slice(skipped)
        assert_same_rows(choices, _OneBatch(batch), rows[skipped:], fields)
    else:
        deep, nulls = arrow_tables.nested(choices, table, len(rows))
        hidden = [
            dict.fromkeys(row) if null else row for row, null in zip(rows, nulls, strict=True)
        ]
        skipped = choices.below(len(rows))
        paths = {name: f"data.in.{name}" for name in fields}
        assert_same_rows(choices, deep.slice(skipped), hidden[skipped:], paths)


class _OneBatch:
    """A producer of one array in place of a stream."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self._batch.to_struct_array().__arrow_c_array__()


# ---------------------------------------------------------------------------------- libraries


def of_polars(choices: Choices, table: Any, rows: list[Row]) -> tuple[Any, list[Row]]:
    frame = pl.DataFrame(rows, schema=table_schema(rows))
    kind = choices.below(5)
    begin = choices.below(len(rows))
    if kind == 0:
        cut = choices.below(len(rows))
        return pl.concat([frame[:cut], frame[cut:]], rechunk=False)[begin:], rows[begin:]
    if kind == 1:
        return frame.with_columns(pl.col("answer").cast(pl.Categorical))[begin:], rows[begin:]
    if kind == 2:
        texts = list(dict.fromkeys(row["answer"] for row in rows if row["answer"] is not None))
        return frame.with_columns(pl.col("answer").cast(pl.Enum(texts))), rows
    if kind == 3:
        turned = [*range(begin, len(rows)), *range(begin)]
        return frame[turned], [rows[at] for at in turned]
    return pl.from_arrow(plain(table)), rows


def table_schema(rows: list[Row]) -> dict[str, Any]:
    return {
        name: pl.List(pl.String) if any(isinstance(row[name], list) for row in rows) else pl.String
        for name in rows[0]
    }


def of_pandas(choices: Choices, table: Any, rows: list[Row]) -> tuple[Any, list[Row]]:
    kind = choices.below(4)
    begin = choices.below(len(rows))
    if kind == 0:
        frame = plain(table).to_pandas(types_mapper=pd.ArrowDtype)
        return as_arrow(frame.iloc[begin:]), rows[begin:]
    frame = pd.DataFrame(rows)
    if kind == 1:
        frame["answer"] = frame["answer"].astype("category")
    elif kind == 2:
        frame["answer"] = frame["answer"].astype(pd.StringDtype("python"))
    frame.index = range(len(rows), 0, -1)
    return as_arrow(frame.iloc[begin:]), rows[begin:]


def as_arrow(frame: pd.DataFrame) -> Any:
    """The frame, or a table of it before pandas 2.2, whose frames cannot be read as Arrow data."""
    if hasattr(frame, "__arrow_c_stream__"):
        return frame
    return pa.Table.from_pandas(frame, preserve_index=False)


def of_duckdb(choices: Choices, table: Any, rows: list[Row]) -> tuple[Any, list[Row]]:
    connection = _connection()
    connection.register("source", plain(table))
    names = ", ".join(f'"{name}"' for name in rows[0])
    begin = choices.below(len(rows))
    kind = choices.below(3)
    if kind == 0:
        return connection.sql(f"select {names} from source offset {begin}"), rows[begin:]
    if kind == 1:
        connection.execute(f"create or replace table copied as select {names} from source")
        return connection.sql(f"select {names} from copied"), rows
    twice = f"select {names} from source union all select {names} from source"
    return connection.sql(twice), rows + rows


def _connection() -> Any:
    """A new one: results of earlier tables that are still open would stop its queries."""
    connection = duckdb.connect()
    connection.execute("set threads to 1")
    _OPEN[:] = [connection]
    return connection


def plain(table: Any) -> Any:
    """The table without types that the other libraries do not take."""
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if isinstance(column.type, pa.ExtensionType):
            chunks = [chunk.storage for chunk in column.chunks]
            column = pa.chunked_array(chunks, column.type.storage_type)
        values = column.to_pylist()
        lists = any(isinstance(value, list) for value in values)
        columns[name] = pa.array(values, pa.list_(pa.string()) if lists else pa.string())
    return pa.table(columns)


# Before duckdb 2 a relation did not keep its connection open.
_OPEN: Final[list[Any]] = []

_LIBRARIES: Final[dict[str, Library]] = {
    "polars": of_polars,
    "pandas": of_pandas,
    "duckdb": of_duckdb,
}


def arrow_libraries(choices: Choices) -> None:
    """polars, pandas and duckdb as producers, by blocks and through the public function."""
    rows = arrow_tables.rows_of(choices)
    table = arrow_tables.table_of(choices, rows)
    made, rows = _LIBRARIES[choices.of(sorted(_LIBRARIES))](choices, table, rows)
    assert_same_rows(choices, made, rows, {name: name for name in rows[0]})
    if all(isinstance(row.get("ground_truth"), (str, type(None))) for row in rows):
        profile = choices.of(("grounded", "overlap"))
        assert scored(made, profile) == scored(rows, profile)


def scored(samples: Any, profile: Any) -> Any:
    """Scores and null reasons to the bit, or what is wrong with the first row that has a fault."""
    try:
        result = rag_eval.evaluate_batch(samples, ["faithfulness"], profile=profile, threads=2)
    except InputError as error:
        return str(error)
    return result.scores.tobytes(), result.null_reasons.tobytes()


# --------------------------------------------------------------------------------- other types


def arrow_types(choices: Choices) -> None:
    """Columns of any type: their values are those that pyarrow tells, or the type is refused."""
    n_rows = choices.of((1, 2, 7, 8, 9, 20))
    kind = arrow_tables.any_type(choices, 3)
    before = choices.of((0, 1, 7, 9))
    values = [arrow_tables.value_of(choices, kind) for _ in range(before + n_rows + 1)]
    column = pa.array(values, kind).slice(before, n_rows)
    table = pa.table({"answer": ["Ellen Marsh led it."] * n_rows, "odd": column})
    (block,) = blocks_of(table, {"answer": "answer", "contexts": "odd", "id": "odd"})
    wanted = [arrow_tables.mappings(value, kind) for value in column.to_pylist()]
    assert repr(block.values("odd")) == repr(wanted)
    rows = [
        {"answer": "Ellen Marsh led it.", "contexts": value, "id": _id(value)} for value in wanted
    ]
    assert block.ids() == [row["id"] for row in rows]
    text = choices.of(("question", "ground_truth", "contexts"))
    rows = [{"answer": row["answer"], text: row["contexts"]} for row in rows]
    needs = needs_of(*choices.of(METRICS))
    read = found(table.rename_columns(["answer", text]), needs, {"answer": "answer", text: text})
    assert read == expected(rows, needs)


def _id(value: Any) -> str | int | None:
    """A value as the name of a row: texts and whole numbers as they are, other scalars as texts."""
    if isinstance(value, float):
        whole = math.isfinite(value) and value == math.trunc(value)
        return int(value) if whole else None if math.isnan(value) else str(value)
    if isinstance(value, bytes):
        try:
            return str(value, "utf-8")
        except UnicodeDecodeError:
            return value.hex()
    if isinstance(value, (list, dict, NoneType)) or type(value) in (str, int):
        return None if isinstance(value, (list, dict)) else value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def arrow_refused_types(choices: Choices) -> None:
    """Types that have no plain value: an error of ours that names the column."""
    texts = [choices.of(("a", "a", "b")) for _ in range(choices.between(1, 9))]
    numbers = pa.array([choices.below(3) for _ in texts], pa.int8())
    runs = pa.compute.run_end_encode(pa.array(texts), choices.of((pa.int16(), pa.int64())))
    dense = pa.UnionArray.from_dense(
        pa.array([0] * len(texts), pa.int8()),
        pa.array(range(len(texts)), pa.int32()),
        [pa.array(texts), numbers],
    )
    sparse = pa.UnionArray.from_sparse(
        pa.array([0] * len(texts), pa.int8()), [pa.array(texts), numbers]
    )
    interval = pa.array([(1, 2, 3)] * len(texts), pa.month_day_nano_interval())
    column = choices.of((runs, dense, sparse, interval)).slice(choices.below(len(texts)))
    table = pa.table({"answer": column})
    (block,) = blocks_of(table, {"answer": "answer"})
    for read in (lambda: block.values("answer"), lambda: block.pack(needs_of(*METRICS[0]))):
        with pytest.raises(InputError, match="column 'answer' is of type"):
            read()


# -------------------------------------------------------------------------- bytes that are broken


def arrow_texts_of_bytes(choices: Choices) -> None:
    """Texts that may be no UTF-8: found wherever they lie, and only those."""
    pieces = (
        *(
            b"\x80",
            b"\xbf",
            b"\xc2",
            b"\xe0",
            b"\xed\xa0\x80",
            b"\xed\xb0\x80",
            b"\xf0\x90",
            b"\xff",
        ),
        *(b"a", b"12345678", b"\xc3\xa9", b"\xe6\x9d\xb1", b"\xf0\x9f\x8e\xa8", b"x" * 31, b"\x00"),
        *hostile_texts.corpus("texts/not-utf8.txt"),
    )
    values = [b"".join(choices.some(pieces, 0, 9)) for _ in range(choices.below(7))]
    data = np.frombuffer(b"".join(values), np.uint8).copy()
    offsets = np.cumsum([0, *map(len, values)]).astype(np.int64)
    begin = choices.below(len(values) + 1)
    end = begin + choices.below(len(values) - begin + 1)
    wanted = next((at for at in range(begin, end) if not is_utf8(values[at])), -1)
    assert arrow_texts.first_invalid(data, offsets, begin, end) == wanted


def arrow_of_any_bytes(choices: Choices) -> None:
    """Strings with bytes that are no UTF-8: refused by the row, or scored as the others."""
    broken = hostile_texts.corpus("texts/not-utf8.txt")[0]
    values: list[bytes | None] = []
    for _ in range(choices.between(1, 6)):
        begin = choices.below(len(broken))
        sound = hostile_texts.text(choices, surrogates=False).encode()
        cut = broken[begin : begin + choices.below(9)]
        values.append(choices.of((sound, sound, sound, cut, None)))
    binary, kind = choices.of(
        (
            (pa.binary(), pa.string()),
            (pa.large_binary(), pa.large_string()),
            (pa.binary_view(), pa.string_view()),
        )
    )
    array = pa.array(values, binary)
    texts = pa.Array.from_buffers(kind, len(array), array.buffers())
    table = pa.table({"answer": texts, "contexts": [["Ellen Marsh"]] * len(values)})
    fields = {"answer": "answer", "contexts": "contexts"}
    blocks = blocks_of(table, fields)
    needs = needs_of("grounded", ("faithfulness",))
    for block in blocks:
        for index in range(len(block)):
            value = values[block.first_row + index]
            bad = value is not None and not is_utf8(value)
            assert (block.fault(index, needs) == "answer is not UTF-8") == bad
            shown = block.sample(index).get("answer")
            assert (shown is None) == (value is None)
    sound_rows = [at for at, value in enumerate(values) if value is None or is_utf8(value)]
    assert blocks[0].taken(sound_rows).pack(needs).n_rows == len(sound_rows)


def arrow_broken(choices: Choices) -> None:
    """Offsets, places, views and lengths that lie: an error of ours, or what a model reads."""
    broken_arrow.check(choices)


TARGETS: Final[dict[str, Target]] = {
    "arrow_layouts": arrow_layouts,
    "arrow_libraries": arrow_libraries,
    "arrow_types": arrow_types,
    "arrow_refused_types": arrow_refused_types,
    "arrow_texts": arrow_texts_of_bytes,
    "arrow_any_bytes": arrow_of_any_bytes,
    "arrow_broken": arrow_broken,
}
