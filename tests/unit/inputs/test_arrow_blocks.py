"""Arrow data of every layout gives the scores, faults and samples that its rows give as dicts."""

from __future__ import annotations

import itertools
import math
import threading
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError
from rag_eval.inputs.arrow import blocks as module
from rag_eval.inputs.arrow.arrays import open_arrow
from rag_eval.inputs.arrow.blocks import ArrowBlock, arrow_blocks
from rag_eval.inputs.row_blocks import RowBlock, sample_blocks
from rag_eval.inputs.row_texts import read_rows
from rag_eval.inputs.samples import FieldNeeds, SampleError
from rag_eval.inputs.schemas.contexts import context_texts
from rag_eval.kernels.columns import SampleBatch
from rag_eval.kernels.scoring import metric_numbers, score_batch
from rag_eval.kernels.settings import settings_of
from rag_eval.metrics.ids import ALL_METRIC_IDS, METRIC_IDS
from rag_eval.samples import MetricId, Profile
from tests.tables import every_row

pa = pytest.importorskip("pyarrow")

Row = dict[str, Any]

FIELDS = {
    "question": "question",
    "answer": "answer",
    "contexts": "contexts",
    "ground_truth": "ground_truth",
    "id": "id",
    "language": "language",
}
LONG = "Ellen Marsh led the trial of 1,200 people in Lyon. "
TEXTS = [
    "",
    "a",
    "Ellen Marsh led the trial.",
    "twelve bytes",
    "thirteen byte",
    LONG * 3,
    "é 東京 🎨.",
]
METRICS: list[tuple[Profile, tuple[MetricId, ...]]] = [
    *(("overlap", metrics) for metrics in (METRIC_IDS, *((metric,) for metric in METRIC_IDS), ())),
    ("grounded", ALL_METRIC_IDS),
    ("grounded", ("answer_correctness",)),
    ("grounded", ("context_relevance",)),
    ("grounded", ()),
]

TEXT_TYPES = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int64(), pa.string()),
]
if int(pa.__version__.partition(".")[0]) >= 25:  # the first that makes them from lists
    TEXT_TYPES.append(pa.dictionary(pa.uint16(), pa.large_string()))
LIST_KINDS = [pa.list_, pa.large_list, pa.list_view, pa.large_list_view]

# ---------------------------------------------------------------------------------- the oracle


def needs_of(profile: Profile, metrics: tuple[MetricId, ...]) -> FieldNeeds:
    return FieldNeeds.of(metrics, profile)


def scores_of(batch: SampleBatch, needs: FieldNeeds) -> list[tuple[bytes, bytes]]:
    """Scores and null reasons, row by row, to the bit."""
    metrics = metric_numbers(tuple(sorted(needs.metrics)))
    scores, reasons = score_batch(batch, settings_of({"profile": needs.profile}), metrics)
    return [(row.tobytes(), why.tobytes()) for row, why in zip(scores, reasons, strict=True)]


def content(batch: SampleBatch, needs: FieldNeeds) -> list[Any]:
    """What the kernels see of each row, and what they make of it."""
    rows: list[Any] = []
    for row in range(batch.n_rows):
        grounded = batch.grounded
        texts = [
            batch.question.text(row),
            batch.answer.text(row),
            batch.row_context_texts(row),
            batch.row_truth_texts(row),
        ]
        if grounded is not None:
            texts += [int(grounded.given[row]), int(grounded.languages[row])]
        rows.append(texts)
    return [rows, scores_of(batch, needs)]


def expected(rows: list[Row], needs: FieldNeeds) -> Any:
    """What the rows give as dicts."""
    packed: list[Any] = [[], []]
    try:
        for block in sample_blocks(list(rows), needs):
            both = content(block.pack(needs), needs)
            packed = [packed[0] + both[0], packed[1] + both[1]]
    except InputError as error:
        return str(error)
    return packed


def found(table: Any, needs: FieldNeeds, fields: dict[str, str]) -> Any:
    packed: list[Any] = [[], []]
    try:
        for block in arrow_blocks(open_arrow(table), fields):
            both = content(block.pack(needs), needs)
            packed = [packed[0] + both[0], packed[1] + both[1]]
    except SampleError as error:
        return str(error)
    return packed


def without_nulls(row: Row) -> Row:
    named = {("groundTruth" if name == "ground_truth" else name): row[name] for name in row}
    return {name: value for name, value in named.items() if value is not None}


def blocks_of(table: Any, fields: dict[str, str] = FIELDS, **options: Any) -> list[ArrowBlock]:
    return list(arrow_blocks(open_arrow(table), fields, **options))


def assert_same(table: Any, rows: list[Row], fields: dict[str, str] = FIELDS) -> None:
    for needs in itertools.starmap(needs_of, METRICS):
        assert found(table, needs, fields) == expected(rows, needs), needs
    blocks = blocks_of(table, fields)
    samples = [block.sample(index) for block in blocks for index in range(len(block))]
    assert samples == [without_nulls(row) for row in rows]
    assert [value for block in blocks for value in block.ids()] == [row.get("id") for row in rows]
    for needs in (needs_of(*METRICS[0]), needs_of("grounded", ALL_METRIC_IDS)):
        as_rows = RowBlock(0, list(rows))
        faults = [block.fault(index, needs) for block in blocks for index in range(len(block))]
        assert faults == [as_rows.fault(index, needs) for index in range(len(rows))]


# ------------------------------------------------------------------------- tables of every layout


def texts_or_null() -> st.SearchStrategy[str | None]:
    return st.sampled_from([*TEXTS, None])


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "question": texts_or_null(),
    "answer": texts_or_null(),
    "contexts": st.none() | st.lists(texts_or_null(), max_size=4),
    "ground_truth": texts_or_null(),
    "language": st.sampled_from([None, "", "de", "pt-BR", "xq", "und"]),
    "id": st.sampled_from([None, "q-1", "a longer id é", ""]),
}


@st.composite
def columns(draw: st.DrawFn) -> list[Row]:
    names = draw(st.sets(st.sampled_from(sorted(VALUES)), min_size=1)) | {"answer"}
    values = {name: VALUES[name] for name in sorted(names)}
    if draw(st.booleans()):
        values = {name: value.filter(lambda v: v is not None) for name, value in values.items()}
        if "contexts" in values:
            values["contexts"] = st.lists(st.sampled_from(TEXTS), max_size=4)
    if "ground_truth" in values and draw(st.booleans()):
        values["ground_truth"] = st.none() | st.lists(texts_or_null(), max_size=3)
    return draw(st.lists(st.fixed_dictionaries(values), min_size=1, max_size=6))


def column_type(draw: st.DrawFn, values: list[Any]) -> Any:
    text = draw(st.sampled_from(TEXT_TYPES))
    lists = [value for value in values if isinstance(value, list)]
    if not lists:
        return text
    sizes = {len(value) for value in lists}
    if len(sizes) == 1 and sizes != {0} and draw(st.booleans()):
        return pa.list_(text, sizes.pop())
    return draw(st.sampled_from(LIST_KINDS))(text)


def column_of(draw: st.DrawFn, values: list[Any]) -> Any:
    """Values as an array, in the middle of a longer one, at times with texts behind its nulls."""
    kind = column_type(draw, values)
    before = draw(st.integers(0, 9))
    filler = next((value for value in values if value is not None), None)
    array = pa.array([filler] * before + values + [filler], kind)
    if filler is not None and draw(st.booleans()):
        array = with_hidden(array, [value is None for value in values], before, filler)
    return array.slice(before, len(values))


def with_hidden(array: Any, nulls: list[bool], before: int, filler: Any) -> Any:
    """The array with ``filler`` behind its nulls, where the layout has room for such a thing."""
    is_null = np.array([*[False] * before, *nulls, False])
    values = [
        filler if hidden else value
        for hidden, value in zip(is_null, array.to_pylist(), strict=True)
    ]
    whole = pa.array(values, array.type)
    validity = pa.py_buffer(np.packbits(~is_null, bitorder="little").tobytes())
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        kind = type(whole)
        return kind.from_arrays(whole.offsets, whole.values, mask=pa.array(is_null))
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        return pa.Array.from_buffers(array.type, len(whole), [validity, *whole.buffers()[1:]])
    if array.type == pa.string_view():
        return pa.Array.from_buffers(array.type, len(whole), [validity, *whole.buffers()[1:]])
    return array


@st.composite
def tables(draw: st.DrawFn) -> tuple[Any, list[Row]]:
    rows = draw(columns())
    table = pa.table({name: column_of(draw, [row[name] for row in rows]) for name in rows[0]})
    cut = draw(st.integers(0, len(rows)))
    if cut:
        table = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    return table, rows


@given(tables())
def test_any_layout_is_scored_as_its_rows_are(made: tuple[Any, list[Row]]) -> None:
    table, rows = made
    assert_same(table, rows, {name: name for name in rows[0]})


@given(tables(), st.data())
def test_rows_that_are_picked(made: tuple[Any, list[Row]], data: st.DataObject) -> None:
    table, rows = made
    (block,) = blocks_of(table.combine_chunks(), {name: name for name in rows[0]})
    indices = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=6))
    picked = block.taken(indices)
    assert len(picked) == len(indices)
    for needs in itertools.starmap(needs_of, METRICS):
        try:
            packed: Any = content(picked.pack(needs), needs)
        except SampleError as error:
            packed = error.fault
        try:
            chosen = [rows[index] for index in indices]
            for index in range(len(chosen)):
                read_rows(chosen[index : index + 1], 0, needs).pack()
            wanted: Any = content(read_rows(chosen, 0, needs).pack(), needs)
        except SampleError as error:
            wanted = error.fault
        assert packed == wanted
    assert picked.taken(range(len(indices))).ids() == [rows[index].get("id") for index in indices]


@given(columns(), st.data())
def test_members_of_structs(rows: list[Row], data: st.DataObject) -> None:
    """A struct that is null has no members, whatever lies behind it."""
    is_null = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    skipped = data.draw(st.integers(0, len(rows) - 1))
    members = pa.table(
        {name: column_of(data.draw, [row[name] for row in rows]) for name in rows[0]}
    )
    struct = pa.StructArray.from_arrays(
        [
            column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
            for column in members.columns
        ],
        names=members.column_names,
        mask=pa.array(is_null),
    )
    nested = pa.table({"data": pa.StructArray.from_arrays([struct], names=["in"])}).slice(skipped)
    wanted = [
        dict.fromkeys(row) if hidden else row for row, hidden in zip(rows, is_null, strict=True)
    ]
    assert_same(nested, wanted[skipped:], {name: f"data.in.{name}" for name in rows[0]})


def test_contexts_in_structs() -> None:
    rows = [
        [{"text": "Paris is in France.", "score": 1}, {"text": None, "score": 2}, None],
        None,
        [],
        [{"text": LONG, "score": 3}],
    ]
    # A type of its own: older pyarrow finds members in the order of their names.
    member = pa.struct([("text", pa.string()), ("score", pa.int64())])
    docs = pa.array(rows, pa.list_(member))
    table = pa.table({"answer": ["a", "b", "c", "Ellen"], "docs": docs})
    source = open_arrow(table)
    assert source.paths() == ["answer", "docs[].text", "docs[].score"]
    dicts: list[Row] = [
        {"answer": "a", "contexts": ["Paris is in France.", None, None]},
        {"answer": "b"},
        {"answer": "c", "contexts": []},
        {"answer": "Ellen", "contexts": [LONG]},
    ]
    fields = {"answer": "answer", "contexts": "docs[].text"}
    assert_same(table, dicts, fields)
    assert_same(table.slice(1), dicts[1:], fields)
    # Numbers are no texts.
    numbers = [
        {**row, **({"contexts": [1, 2, None]} if index == 0 else {})}
        for index, row in enumerate(dicts)
    ]
    numbers[3]["contexts"] = [3]
    assert_same(table, numbers, {"answer": "answer", "contexts": "docs[].score"})
    whole = [
        {"answer": row["answer"], "contexts": context_texts(docs)}
        for row, docs in zip(dicts, rows, strict=True)
    ]
    assert_same(table, whole, {"answer": "answer", "contexts": "docs"})


@pytest.mark.parametrize("kind", TEXT_TYPES, ids=str)
def test_plain_strings_as_contexts(kind: Any) -> None:
    """One context a row, none where it is blank, and several where it is the print of a list."""
    plain = ["Paris is in France.", None, "Ünder 5 °C.", "\u65e5\u672c", LONG]
    odd = ["", "\u2003", " [1] a note ", "['Paris.', 'It is in France.']", '["a", "b"]']
    for values in (plain, [*plain, *odd]):
        table = pa.table({"answer": ["Paris."] * len(values), "contexts": pa.array(values, kind)})
        table = table.append_column("chunk", table["contexts"])
        rows: list[Row] = [
            {"answer": "Paris.", "contexts": context_texts(value)} for value in values
        ]
        assert_same(table, rows, {"answer": "answer", "contexts": "chunk"})
        assert_same(table, rows, {"answer": "answer", "contexts": "contexts"})
    (block,) = blocks_of(table.slice(1, 1), {"answer": "answer", "contexts": "contexts"})
    needs = needs_of("overlap", ("faithfulness",))
    assert block.fault(0, needs) == "contexts is missing; it must be a list of strings"


ODD_COLUMNS: dict[str, list[Any]] = {
    "int": [None, 0, 3],
    "float": [0.0, None, 1.5],
    "bool": [None, False, True],
    "bytes": [b"", None, b"a"],
    "struct": [None, {"a": 1}, {"a": None}],
    "lists": [[], None, ["a"]],
    "numbers": [[], None, [1, None]],
    "nested": [None, [["a"]], []],
    "nulls": [None, None, None],
    "no items": [[], None, [None]],
}


@every_row("values", ODD_COLUMNS.values(), ids=list(ODD_COLUMNS))
@every_row("name", ["question", "answer", "contexts", "ground_truth", "language"])
def test_columns_of_another_type(name: str, values: list[Any]) -> None:
    rows: list[Row] = [
        {"question": "a?", "answer": "Paris.", "contexts": ["Paris"], "ground_truth": "Paris"}
        | {name: value}
        for value in values
    ]
    fields = {key: key for key in rows[0]}
    for begin in (0, 1):
        part = rows[begin:]
        table = pa.Table.from_pylist(rows).slice(begin)
        part = [{**row, "contexts": context_texts(row["contexts"])} for row in part]
        assert_same(table, part, fields)


def test_columns_that_are_missing() -> None:
    rows = [{"answer": "Paris."}, {"answer": "Lyon."}]
    assert_same(pa.Table.from_pylist(rows), rows, {"answer": "answer"})


def test_types_that_are_not_read() -> None:
    kind = pa.month_day_nano_interval()
    table = pa.table({"answer": pa.array([None], kind), "id": pa.array([None], kind)})
    (block,) = blocks_of(table, {"answer": "answer", "id": "id"})
    with pytest.raises(InputError, match="column 'answer' is of type interval"):
        block.pack(needs_of("overlap", ("faithfulness",)))
    assert block.sample(0) == {}
    assert block.ids() == [None]


MAPS = [[("a", 1), ("b", 2)], None, [], [("c", None)], [("a", 3)]]
MAP_KINDS = [pa.map_(pa.string(), pa.int32()), pa.map_(pa.large_string(), pa.int64())]


@pytest.mark.parametrize("kind", MAP_KINDS, ids=str)
def test_maps_are_mappings_wherever_they_begin(kind: pa.DataType) -> None:
    expected = [None if pairs is None else dict(pairs) for pairs in MAPS]
    column = pa.array([*MAPS, None, MAPS[0]], kind)
    for begin in range(len(MAPS)):
        part = column[begin : len(MAPS)]
        table = pa.table({"answer": ["x"] * len(part), "grades": part})
        (block,) = blocks_of(table, {"answer": "answer"})
        assert block.values("grades") == expected[begin:]


def test_maps_inside_lists_and_structs_are_read() -> None:
    inner = pa.map_(pa.string(), pa.string())
    calls = [[{"name": "n", "args": [("k", "v")]}], []]
    kind = pa.list_(pa.struct([("name", pa.string()), ("args", inner)]))
    table = pa.table({"answer": ["x", "y"], "calls": pa.array(calls, kind)})
    (block,) = blocks_of(table, {"answer": "answer"})
    assert block.values("calls") == [[{"name": "n", "args": {"k": "v"}}], []]


def test_places_in_a_dictionary_that_no_list_holds_are_not_read() -> None:
    """Under a null the format allows any place: pyarrow writes 0 into the items of null structs."""
    lists = pa.list_(pa.dictionary(pa.int8(), pa.string()), 2)
    kind = pa.struct([("a", pa.struct([("b", lists)]))])
    column = pa.array([None, {"a": {"b": None}}, {"a": None}], kind)
    assert column.field(0).field(0).values.is_valid().to_pylist()[:2] == [True, True]
    for odd in (column, column.slice(1), pa.concat_arrays([column, column]).slice(2, 2)):
        table = pa.table({"answer": ["x"] * len(odd), "odd": odd})
        (block,) = blocks_of(table, {"answer": "answer"})
        assert block.values("odd") == odd.to_pylist()


@pytest.mark.parametrize(
    ("pairs", "key", "message"),
    [
        ([("a", 1), ("a", 2)], pa.string(), "column 'grades' has a key twice in one map"),
        ([(["a"], 1)], pa.list_(pa.string()), "column 'grades' is a map with lists for keys"),
    ],
)
def test_maps_that_are_no_mappings_are_refused(pairs: Any, key: Any, message: str) -> None:
    table = pa.table({"answer": ["x"], "grades": pa.array([pairs], pa.map_(key, pa.int64()))})
    (block,) = blocks_of(table, {"answer": "answer"})
    with pytest.raises(InputError, match=message):
        block.values("grades")


def test_a_map_is_no_answer() -> None:
    answer = pa.array([[("a", 1)]], MAP_KINDS[0])
    table = pa.table({"question": ["q"], "answer": answer, "contexts": [["c"]]})
    (block,) = blocks_of(table, {name: name for name in table.column_names})
    with pytest.raises(InputError, match="answer must be a string, got dict"):
        block.pack(needs_of("overlap", ("faithfulness",)))


def test_ids_and_names() -> None:
    kinds = [pa.int8(), pa.uint64(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
    for kind in kinds:
        number = pa.types.is_integer(kind)
        ids = [7, None, 9] if number else ["a", None, "b"]
        table = pa.table({"answer": ["x", "y", None], "id": pa.array(ids, kind)})
        (block,) = blocks_of(table, {"answer": "answer", "id": "id"})
        assert block.ids() == ids
        assert [block.name(index) for index in range(3)] == [
            f'sample 0 ("{ids[0]}")',
            "sample 1",
            f'sample 2 ("{ids[2]}")',
        ]
        (block,) = blocks_of(
            table, {"answer": "answer", "id": "id"}, origin_name="a.parquet", first_row=10
        )
        assert block.first_row == 10
        assert block.name(2) == f'a.parquet, row 13 ("{ids[2]}")'
        picked = block.taken([2, 1])
        assert picked.name(0) == f'a.parquet, row 13 ("{ids[2]}")'
        with pytest.raises(SampleError) as raised:
            picked.pack(needs_of("overlap", ("faithfulness",)))
        assert raised.value.where == picked.name(0)


def test_values_of_any_type_name_rows() -> None:
    """Rows without a name would be paired by their places."""
    day = datetime(2026, 1, 31)
    for values, ids in (
        ([1.0, None, 3.0], [1, None, 3]),  # of whole numbers, one of which is missing
        ([1.5, math.nan], ["1.5", None]),
        ([Decimal("1.50")], ["1.50"]),
        ([day.date(), None], ["2026-01-31", None]),
        ([day], ["2026-01-31T00:00:00"]),
        ([b"q-1", b"\xff\x00"], ["q-1", "ff00"]),
        ([True], ["True"]),
    ):
        table = pa.table({"answer": ["x"] * len(ids), "id": pa.array(values)})
        (block,) = blocks_of(table, {"answer": "answer", "id": "id"})
        assert block.ids() == ids
        assert block.sample(0)["id"] == ids[0]


def test_other_columns_by_name() -> None:
    import datetime
    from decimal import Decimal

    values: Row = {
        "day": datetime.date(2024, 2, 29),
        "time": datetime.datetime(2024, 2, 29, 12, 30, 1, 5),
        "zoned": datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC),
        "clock": datetime.time(3, 4, 5),
        "span": datetime.timedelta(days=-2, seconds=3),
        "price": Decimal("-12.50"),
        "nested": {"a": [1, None], "b": {"c": "x"}},
        "small": 3.5,
        "raw": b"\x00\xff",
    }
    table = pa.Table.from_pylist([values] * 3 + [dict.fromkeys(values)]).slice(2)
    (block,) = blocks_of(table, {})
    for name, value in values.items():
        kept = {**value, "b": value["b"]} if name == "nested" else value
        assert block.values(name) == [kept, None], name
        assert block.taken([1, 0]).values(name) == [None, kept]
    assert block.values("nested.b.c") == ["x", None]
    assert block.values("nothing") == [None, None]


# ------------------------------------------------------------------------------------- blocks


@pytest.mark.parametrize("kind", [pa.string(), pa.string_view(), TEXT_TYPES[3]], ids=str)
def test_blocks_are_cut_by_bytes(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", 100)
    sizes = [0, 40, 40, 40, 500, 1, 99, 1]
    texts = pa.array(["x" * size for size in sizes], kind)
    table = pa.table({"answer": texts, "contexts": [[]] * 8})
    fields = {"answer": "answer", "contexts": "contexts"}
    blocks = blocks_of(table, fields)
    assert [len(block) for block in blocks] == [3, 1, 1, 2, 1]
    assert [block.first_row for block in blocks] == [0, 3, 4, 5, 7]
    assert [block.n_bytes for block in blocks] == [80, 40, 500, 100, 1]
    monkeypatch.setattr(module, "_MAX_BLOCK_ROWS", 2)
    assert [len(block) for block in blocks_of(table, fields)] == [2, 2, 1, 2, 1]
    monkeypatch.setattr(module, "_MAX_BLOCK_ROWS", 100)
    texts = pa.array([["x" * size] for size in sizes], pa.list_(kind))
    blocks = blocks_of(pa.table({"contexts": texts}), {"contexts": "contexts"})
    assert [len(block) for block in blocks] == [3, 1, 1, 1, 1, 1]


def test_a_batch_without_rows() -> None:
    table = pa.table(
        {"answer": pa.array([], pa.string()), "contexts": pa.array([], pa.list_(pa.string()))}
    )
    assert blocks_of(table, {"answer": "answer", "contexts": "contexts"}) == []
    (block,) = blocks_of(pa.table({"answer": ["a"]}), {"answer": "answer"})
    for needs in itertools.starmap(needs_of, METRICS):
        assert block.taken([]).pack(needs).n_rows == 0


def test_lists_of_nothing_are_cut_too() -> None:
    """A list view may name the same items for every row, and have no bytes to count."""
    items = pa.array([""] * 50_000)
    n_rows = 1000
    offsets = pa.array([0] * n_rows, pa.int32())
    lists = pa.ListViewArray.from_arrays(offsets, pa.array([50_000] * n_rows, pa.int32()), items)
    blocks = blocks_of(pa.table({"contexts": lists}), {"contexts": "contexts"})
    assert max(len(block) for block in blocks) <= 1 + module._BLOCK_BYTES // 50_000
    assert sum(map(len, blocks)) == n_rows


def test_rows_of_a_list_view_may_share_an_item() -> None:
    """A row that repeats the one before it was once taken for the item after it."""
    offsets, sizes = pa.array([0, 1, 1], pa.int32()), pa.array([1, 1, 1], pa.int32())
    lists = pa.ListViewArray.from_arrays(offsets, sizes, pa.array(["red fox", "cat", "dog"]))
    table = pa.table({"answer": ["A cat."] * 3, "contexts": lists})
    assert_same(table, table.to_pylist(), {"answer": "answer", "contexts": "contexts"})


def test_texts_stay_where_they_are() -> None:
    answers = pa.array(["Paris.", "Lyon.", "Nice."])
    large = pa.array([["a", "b"], [], ["c"]], pa.large_list(pa.large_string()))
    (block,) = blocks_of(
        pa.table({"answer": answers, "contexts": large}),
        {"answer": "answer", "contexts": "contexts"},
    )
    batch = block.pack(needs_of("overlap", ("hallucination_rate",)))
    assert batch.answer.data.ctypes.data == answers.buffers()[2].address
    assert batch.contexts.data.ctypes.data == large.values.buffers()[2].address
    assert batch.contexts.offsets.ctypes.data == large.values.buffers()[1].address
    assert not batch.answer.data.flags.writeable


def test_blocks_of_one_batch_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", 1 << 14)
    rows = [{"answer": f"{LONG}{i}", "contexts": [LONG, str(i)]} for i in range(3000)]
    table = pa.Table.from_pylist(rows)
    needs = needs_of("overlap", ("faithfulness", "hallucination_rate"))
    blocks = blocks_of(table, {"answer": "answer", "contexts": "contexts"})
    assert len(blocks) > 10
    packed: dict[int, Any] = {}

    def pack(index: int) -> None:
        packed[index] = content(blocks[index].pack(needs), needs)[0]

    threads = [threading.Thread(target=pack, args=(index,)) for index in range(len(blocks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    texts = [row for index in range(len(blocks)) for row in packed[index]]
    assert [row[1] for row in texts] == [row["answer"] for row in rows]


# ---------------------------------------------------------------------------------- bad texts


def raw_texts(values: list[bytes | None], kind: Any = None) -> Any:
    """A column of strings that may be no UTF-8."""
    binary = {None: pa.binary(), pa.large_string(): pa.large_binary()}.get(kind, pa.binary_view())
    array = pa.array(values, binary)
    return pa.Array.from_buffers(kind or pa.string(), len(array), array.buffers())


BAD = [
    b"\x80",
    b"a\xff",
    b"\xc0\x80",
    b"\xc3",
    b"\xe0\x80\x80",
    b"\xe4\xb8",
    b"\xf0\x80\x80\x80",
    b"\xf4\x90\x80\x80",
    b"\xf5\x80\x80\x80",
    b"\xed\xa0\x80\xed\xb0\x80",
    b"12345678\xe2\x82",
]


@every_row("bad", BAD, ids=repr)
@every_row("kind", [None, pa.large_string(), pa.string_view()], ids=str)
def test_texts_that_are_not_utf8(bad: bytes, kind: Any) -> None:
    good = ["é".encode(), b"", LONG.encode(), b"\xed\xa0\x80 lone"]
    needs = needs_of("overlap", ("faithfulness",))
    for name in ("answer", "contexts", "ground_truth", "question", "language"):
        answers = raw_texts([*good, bad, b"x"], kind)
        lists = pa.ListArray.from_arrays([0, 2, 3, 3, 6], answers)
        plain = {"answer": ["a"] * 4, "question": ["a"] * 4, "contexts": [["a"]] * 4}
        column = lists if name == "contexts" else answers.slice(1, 4)
        table = pa.table({**plain, name: column, "id": list("abcd")})
        blocks = blocks_of(table, {**{key: key for key in plain}, name: name, "id": "id"})
        needs = needs_of("overlap", METRIC_IDS)
        if name == "language":
            needs = needs_of("grounded", ALL_METRIC_IDS)
        with pytest.raises(SampleError) as raised:
            blocks[0].pack(needs)
        if name == "language":
            assert raised.value.where == 'sample 1 ("b")'  # no tag at all
            continue
        where = "contexts[1]" if name == "contexts" else name
        assert str(raised.value) == f'sample 3 ("d"): {where} is not UTF-8'
        assert blocks[0].fault(2, needs) is None
        assert blocks[0].taken([2, 0]).pack(needs).n_rows == 2
        shown = blocks[0].sample(3)[{"ground_truth": "groundTruth"}.get(name, name)]
        assert "\ufffd" in "".join(shown) or "\ud800" in "".join(shown)
        if name == "question":
            blocks[0].pack(needs_of("overlap", ("faithfulness",)))  # nothing reads it


def test_what_lies_behind_a_null_need_not_be_utf8() -> None:
    for kind in (None, pa.large_string(), pa.string_view()):
        whole = raw_texts(
            [b"a", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"b"], kind
        )
        answers = pa.Array.from_buffers(
            whole.type, 3, [pa.py_buffer(b"\x05"), *whole.buffers()[1:]]
        )
        mask = pa.array([False, True, False])
        lists = pa.ListArray.from_arrays([0, 1, 2, 3], whole, mask=mask)
        table = pa.table({"answer": answers, "contexts": lists})
        rows = [
            {"answer": "a", "contexts": ["a"]},
            {"answer": None, "contexts": None},
            {"answer": "b", "contexts": ["b"]},
        ]
        assert_same(table, rows, {"answer": "answer", "contexts": "contexts"})


def test_lone_surrogates() -> None:
    texts = ["\ud800", "a \udc00\ud800 b", "é\udbffx"]
    column = raw_texts([text.encode("utf-8", "surrogatepass") for text in texts])
    rows = [{"answer": text, "contexts": [LONG]} for text in texts]
    table = pa.table({"answer": column, "contexts": [[LONG]] * 3})
    assert_same(table, rows, {"answer": "answer", "contexts": "contexts"})


def test_rows_before_a_bad_text_come_first() -> None:
    """A column of numbers makes rows dicts; what is not UTF-8 is still told in order."""
    table = pa.table({"answer": raw_texts([b"a", b"\xff"]), "question": [None, 5]})
    (block,) = blocks_of(table, {"answer": "answer", "question": "question"})
    with pytest.raises(SampleError, match=r"sample 0: question is missing; it must be a string"):
        block.pack(needs_of("overlap", ("answer_relevance",)))
    (block,) = blocks_of(table.slice(1), {"answer": "answer", "question": "question"})
    with pytest.raises(SampleError, match=r"sample 0: answer is not UTF-8"):
        block.pack(needs_of("overlap", ("answer_relevance",)))


def test_texts_that_are_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows are read as strings, which are measured again."""
    from rag_eval.inputs.arrow import packing as arrow_packing
    from rag_eval.kernels import scoring as kernels

    monkeypatch.setattr(arrow_packing, "_MAX_TEXT_BYTES", 5)
    packed: list[list[str]] = []
    pack_texts = kernels.pack_texts

    def counted(texts: list[str]) -> Any:
        packed.append(texts)
        return pack_texts(texts)

    monkeypatch.setattr(kernels, "pack_texts", counted)
    table = pa.table({"answer": ["12345", "123456"], "contexts": [["a"], ["b"]]})
    (block,) = blocks_of(table, {"answer": "answer", "contexts": "contexts"})
    block.pack(needs_of("overlap", ("faithfulness",)))
    assert packed == [["12345", "123456", "a", "b"]]
    block.taken([0]).pack(needs_of("overlap", ("faithfulness",)))
    assert len(packed) == 1


# --------------------------------------------------------------------------------- libraries


ROWS: list[Row] = [
    {
        "question": "Who led the trial?",
        "answer": LONG * (index % 3),
        "contexts": [LONG, "東京 é", ""][: index % 4],
        "ground_truth": None if index % 5 == 0 else "Ellen Marsh",
        "id": f"q-{index}",
        "language": "en" if index % 2 else None,
    }
    for index in range(40)
]


def test_polars() -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(ROWS)
    assert_same(frame, ROWS)
    assert_same(frame.with_columns(pl.col("answer", "id").cast(pl.Categorical)), ROWS)
    assert_same(pl.concat([frame[:7], frame[7:]], rechunk=False)[3:30], ROWS[3:30])
    nested = frame.select(pl.struct(pl.all()).alias("row"))
    assert_same(nested, ROWS, {name: f"row.{path}" for name, path in FIELDS.items()})
    empty = pl.DataFrame({"answer": ["a"], "question": [None], "contexts": [None]})
    fields = {"answer": "answer", "question": "question", "contexts": "contexts"}
    assert_same(empty, [{"answer": "a"}], fields)
    with pytest.raises(InputError, match=r"Series must be a table, got a single column"):
        open_arrow(frame["answer"])


def test_pandas() -> None:
    pd = pytest.importorskip("pandas", "2.2")
    frame = pd.DataFrame(ROWS)
    assert_same(frame, ROWS)
    frame["answer"] = frame["answer"].astype("category")
    assert_same(frame, ROWS)
    mixed = pd.DataFrame({"answer": ["a", 3]})
    with pytest.raises(InputError, match="cannot read DataFrame as Arrow data"):
        open_arrow(mixed)


def test_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.register("source", pa.Table.from_pylist(ROWS))
        relation = connection.sql("select * from source")
        assert_same(relation, ROWS)
        relation = connection.sql("select struct_pack(a := answer, c := contexts) as s from source")
        rows = [{"answer": row["answer"], "contexts": row["contexts"]} for row in ROWS]
        assert_same(relation, rows, {"answer": "s.a", "contexts": "s.c"})
        kind = "create type lang as enum ('en', 'de')"
        connection.sql(kind)
        relation = connection.sql("select answer, language::lang as language from source")
        rows = [{"answer": row["answer"], "language": row["language"]} for row in ROWS]
        assert_same(relation, rows, {"answer": "answer", "language": "language"})


def test_batches_and_readers() -> None:
    table = pa.Table.from_pylist(ROWS)
    assert_same(table.to_batches()[0], ROWS)
    struct = table.to_batches()[0].to_struct_array()

    class OneBatch:
        def __arrow_c_array__(self, requested_schema: object = None) -> Any:
            return struct.slice(2).__arrow_c_array__()

    assert_same(OneBatch(), ROWS[2:])
    needs = needs_of("grounded", ALL_METRIC_IDS)
    assert found(table.to_reader(7), needs, FIELDS) == expected(ROWS, needs)


def test_fields_that_are_not_there() -> None:
    table = pa.table({"answer": ["a"], "reply": ["b"]})
    with pytest.raises(InputError, match=r"no column 'answr'; did you mean 'answer'\?"):
        blocks_of(table, {"answer": "answr"})
    with pytest.raises(InputError, match="no field 'groundTruth'"):
        blocks_of(table, {"groundTruth": "answer"})
    twice = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["answer", "answer"])
    with pytest.raises(InputError, match="there are 2 columns 'answer'"):
        blocks_of(twice, {"answer": "answer"})
