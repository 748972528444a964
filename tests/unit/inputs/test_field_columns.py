"""Fields column by column are those that reading row by row gives, faults and all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval import EvalSample
from rag_eval.inputs.row_blocks import RowBlock
from rag_eval.inputs.sample_fields import FieldColumns, block_fields, field_columns, plain_columns
from rag_eval.inputs.samples import SampleError

NAMES = ("question", "answer", "contexts", "ground_truth", "tool_calls", "n_turns", "label_x")
SPELLINGS = (*NAMES, "groundTruth", "toolCalls", "nTurns", "labelX", "other")
VALUES = st.one_of(
    st.none(),
    st.sampled_from(["", "a", "b", "[1]", "{", " ", "7", "nan"]),
    st.integers(0, 2),
    st.lists(st.sampled_from(["a", "", "b"]), max_size=2),
    st.lists(st.integers(0, 1), max_size=1),
)
OWN = st.dictionaries(st.sampled_from(SPELLINGS), VALUES, max_size=4)
ROWS = st.builds(
    lambda own, more: {**own, **more},
    OWN,
    st.one_of(
        st.just({}),
        st.fixed_dictionaries({"metadata": st.one_of(st.none(), st.just("text"), OWN)}),
    ),
)


def read_by(block: RowBlock, names: tuple[str, ...]) -> Any:
    try:
        rows = block_fields(block, names)
    except SampleError as error:
        return str(error)
    return rows


def columns_by(block: RowBlock, names: tuple[str, ...]) -> Any:
    try:
        found = field_columns(block, names)
    except SampleError as error:
        return str(error)
    return found.rows(names, range(len(block)))


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_columns_are_the_rows_that_are_read_one_by_one(rows: list[Any]) -> None:
    block = RowBlock(0, rows)
    assert columns_by(block, NAMES) == read_by(block, NAMES)


@given(st.lists(ROWS, min_size=1, max_size=4), st.sampled_from(NAMES), st.sampled_from(NAMES))
def test_rows_have_the_fields_that_are_asked_for_alone(
    rows: list[Any], one: str, other: str
) -> None:
    block = RowBlock(0, rows)
    names = tuple(dict.fromkeys((one, other)))
    try:
        found = field_columns(block, NAMES)
    except SampleError:
        return
    whole = block_fields(block, NAMES)
    places = found.places(names)
    assert places == [p for p, row in enumerate(whole) if all(name in row for name in names)]
    assert found.rows(names, places) == [{name: whole[p][name] for name in names} for p in places]


@pytest.mark.parametrize(
    "rows",
    [
        [{"answer": "a", "labelX": 1}, {"answer": "b", "metadata": {"label_x": 2}}],
        [{"answer": "a", "label_x": None, "metadata": {"labelX": "far"}}, {}],
        [{"groundTruth": ["x", ""], "tool_calls": '["f"]'}, {"ground_truth": "y"}],
    ],
)
def test_plain_dicts_are_read_by_column(rows: list[Any]) -> None:
    block = RowBlock(0, rows)
    assert plain_columns(block, NAMES) is not None
    assert columns_by(block, NAMES) == block_fields(block, NAMES)


@pytest.mark.parametrize(
    "block",
    [
        RowBlock(0, [{"answer": "a"}, EvalSample(answer="b")]),
        RowBlock(0, [{"answer": "a", "label_x": 1, "labelX": 1}]),
        RowBlock(0, [{"answer": "a", "score": 4}], renamed={"label_x": "score"}),
    ],
    ids=["samples of ours", "both spellings", "a column under another name"],
)
def test_what_is_no_plain_dict_is_read_row_by_row(block: RowBlock) -> None:
    assert plain_columns(block, NAMES) is None
    assert columns_by(block, NAMES) == block_fields(block, NAMES)


def test_the_first_row_with_a_fault_is_named() -> None:
    rows: list[Any] = [{"answer": "a"}, {"answer": "b", "question": 3}, {"answer": 4}]
    with pytest.raises(SampleError, match=r"^sample 11: question must be a string, got int$"):
        field_columns(RowBlock(10, rows), NAMES)


def test_rows_without_any_field_are_empty() -> None:
    found = FieldColumns(3, {"answer": [None, None, None]})
    assert found.rows(("answer",), [0, 2]) == [{}, {}]
    assert found.places(("answer",)) == []
    assert found.places(()) == [0, 1, 2]
