"""Choices in; rows, and the same rows as Arrow columns of any layout, out."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from tests.fuzz import hostile_texts
from tests.grounded_samples import Choices
from tests.unit.inputs.test_arrow_blocks import LIST_KINDS, TEXT_TYPES, with_hidden

Row = dict[str, Any]

# Short ones lie in their views; longer ones in buffers.
_TEXTS: Final = (
    *("", "a", "é", "twelve bytes", "thirteen byte", "Ellen Marsh led the trial. ", "東京 🎨."),
    *("x" * 63, "x" * 64, "\x00", "a b. A c", "İ" * 40),
)


class Labelled(pa.ExtensionType):
    """Texts under another name, as extension types are."""

    def __init__(self, storage: Any) -> None:
        super().__init__(storage, "rag-eval.labelled")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: Any, serialized: bytes) -> Labelled:
        return cls(storage)


def rows_of(choices: Choices) -> list[Row]:
    """Rows that have the same fields, with nulls or without."""
    nullable = choices.below(2)

    def text() -> str | None:
        if nullable and choices.one_in(4):
            return None
        if choices.one_in(3):
            return hostile_texts.text(choices, surrogates=False)
        return choices.of(_TEXTS)

    def texts() -> list[str | None] | None:
        if nullable and choices.one_in(5):
            return None
        return [text() for _ in range(choices.of((0, 1, 2, 2, 5)))]

    makers: dict[str, Any] = {
        "answer": text,
        "question": text,
        "contexts": texts,
        "ground_truth": texts if choices.one_in(3) else text,
        "language": lambda: choices.of((None, "", "de", "pt-BR", "xq", "und")),
        "id": lambda: choices.of((None, "q-1", "a longer id é", "")),
    }
    names = [name for name in makers if name == "answer" or choices.below(4)]
    n_rows = choices.of((1, 2, 3, 7, 8, 9, 20))
    return [{name: makers[name]() for name in names} for _ in range(n_rows)]


def table_of(choices: Choices, rows: list[Row]) -> Any:
    """A table in some chunks, of which some may be empty, and dictionaries of their own."""
    columns = {name: column_of(choices, [row[name] for row in rows]) for name in rows[0]}
    table = pa.table(columns)
    cut = choices.below(len(rows) + 1)
    if choices.one_in(2):
        pieces = [table.slice(0, cut), table.slice(cut, 0), table.slice(cut)]
        table = pa.concat_tables(pieces[: 3 if choices.below(2) else None])
    return table


def column_of(choices: Choices, values: list[Any]) -> Any:
    """Values as an array, in the middle of a longer one, at times with texts behind its nulls."""
    text = choices.of(TEXT_TYPES)
    lists = [value for value in values if isinstance(value, list)]
    if not lists and pa.types.is_dictionary(text) and choices.below(2):
        return _odd_dictionary(choices, values, text)
    kind = text
    if lists:
        sizes = {len(value) for value in lists}
        kind = choices.of(LIST_KINDS)(text)
        if len(sizes) == 1 and sizes != {0} and choices.below(2):
            kind = pa.list_(text, sizes.pop())
    before = choices.of((0, 1, 7, 8, 9, 63))
    filler = next((value for value in values if value is not None), None)
    array = pa.array([filler] * before + values + [filler], kind)
    if filler is not None and choices.below(2):
        array = with_hidden(array, [value is None for value in values], before, filler)
    array = array.slice(before, len(values))
    if choices.one_in(12) and kind in (pa.string(), pa.large_string(), pa.string_view()):
        return pa.ExtensionArray.from_storage(Labelled(kind), array)
    return array


def _odd_dictionary(choices: Choices, values: list[Any], kind: Any) -> Any:
    """A dictionary with values that come twice, are null or are of no row."""
    known = [*values, "of no row", None, *values]
    places = [
        None
        if value is None and choices.below(2)
        else index + (choices.below(2) and len(values) + 2)
        for index, value in enumerate(values)
    ]
    before = choices.of((0, 1, 9))
    codes = pa.array([*[0] * before, *places], kind.index_type)
    array = pa.DictionaryArray.from_arrays(codes, pa.array(known, kind.value_type))
    return array.slice(before)


def nested(choices: Choices, table: Any, n_rows: int) -> tuple[Any, list[bool]]:
    """The columns as members of a struct within a struct, and which rows of it are null."""
    nulls = [choices.one_in(4) for _ in range(n_rows)]
    whole = table.combine_chunks()
    members = [
        column.chunk(0) if column.num_chunks else pa.array([], column.type)
        for column in whole.columns
    ]
    struct = pa.StructArray.from_arrays(
        members, names=table.column_names, mask=pa.array(nulls, pa.bool_())
    )
    return pa.table({"data": pa.StructArray.from_arrays([struct], names=["in"])}), nulls


# --------------------------------------------------------------------------------- other types

_SCALARS: Final[tuple[tuple[Any, tuple[Any, ...]], ...]] = (
    (pa.int8(), (0, -128, 127)),
    (pa.uint16(), (0, 65_535)),
    (pa.int64(), (0, -(2**63), 2**63 - 1)),
    (pa.uint64(), (0, 2**64 - 1)),
    (pa.float16(), (0.0, 1.5)),
    (pa.float32(), (0.0, -1.5, float("inf"))),
    (pa.float64(), (0.0, 1e300, float("nan"))),
    (pa.bool_(), (True, False)),
    (pa.null(), (None,)),
    (pa.binary(), (b"", b"a\x00\xff")),
    (pa.large_binary(), (b"", b"a")),
    (pa.binary(3), (b"abc", b"\x00\x00\xff")),
    (pa.date32(), (datetime.date(1970, 1, 1), datetime.date(1, 1, 1), datetime.date(9999, 12, 31))),
    (pa.timestamp("us"), (datetime.datetime(2024, 2, 29, 12, 30, 1, 5),)),
    (pa.timestamp("s"), (datetime.datetime(1900, 1, 1),)),
    (pa.time64("us"), (datetime.time(3, 4, 5, 6),)),
    (pa.duration("ms"), (datetime.timedelta(days=-2, milliseconds=3),)),
    (pa.decimal128(12, 2), (Decimal("-12.50"), Decimal("0.00"))),
    (pa.decimal256(50, 3), (Decimal("1.500"),)),
    *((text, ("", "a", "thirteen byte", "é 東京 🎨")) for text in TEXT_TYPES),
)


def any_type(choices: Choices, depth: int) -> Any:
    """A type with others inside, or none."""
    kind = choices.below(8) if depth else 0
    if kind < 4:
        return choices.of(_SCALARS)[0]
    inner = any_type(choices, depth - 1)
    if kind == 4:
        return pa.list_(inner, choices.below(3))
    if kind == 5:
        return pa.struct([("a", inner), ("b", any_type(choices, depth - 1))])
    if kind == 6:
        return pa.map_(pa.string(), inner)
    return choices.of(LIST_KINDS)(inner)


def value_of(choices: Choices, kind: Any) -> Any:
    """A value of a type, or None."""
    if choices.one_in(5):
        return None
    for scalar, values in _SCALARS:
        if kind == scalar:
            return choices.of(values)
    if pa.types.is_struct(kind):
        return {field.name: value_of(choices, field.type) for field in kind}
    if pa.types.is_map(kind):
        return [(key, value_of(choices, kind.item_type)) for key in "xyz"[: choices.below(4)]]
    n_items = kind.list_size if pa.types.is_fixed_size_list(kind) else choices.below(4)
    return [value_of(choices, kind.value_type) for _ in range(n_items)]


def mappings(value: Any, kind: Any) -> Any:
    """A value as pyarrow tells it, with mappings in place of lists of pairs."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        return {key: mappings(item, kind.item_type) for key, item in value}
    if pa.types.is_struct(kind):
        return {field.name: mappings(value[field.name], field.type) for field in kind}
    if isinstance(value, list):
        return [mappings(item, kind.value_type) for item in value]
    return value
