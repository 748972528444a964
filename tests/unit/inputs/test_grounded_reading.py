"""Rows of the grounded profile read field by field give what they give one by one."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError
from rag_eval.inputs.row_blocks import sample_blocks
from rag_eval.inputs.row_texts import read_rows
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.metrics.ids import ALL_METRIC_IDS
from rag_eval.samples import EvalSample, MetricId
from tests.counted_work import operations

Row = dict[str, Any]

METRICS: list[tuple[MetricId, ...]] = [
    ALL_METRIC_IDS,
    ("answer_correctness",),
    ("faithfulness",),
    ("answer_relevance",),
    ("context_relevance",),
    (),
]
TEXTS = ["", "Ellen Marsh led the trial.", "é\u0301 \ud800 🎨"]
VALUES: dict[str, list[Any]] = {
    "question": [*TEXTS, None],
    "answer": [*TEXTS, None],
    "contexts": [[], None, ["a", None, ""], TEXTS],
    "ground_truth": [*TEXTS, None, ["a"], ["a", None, ""], [None], ("a", "b")],
    "language": [None, "", "de", "pt-BR", "und", "sr"],
    "id": [None, "q", 3],
}
FAULTS: dict[str, list[Any]] = {
    "question": [5, 0, ["a"]],
    "answer": [b"a", {}],
    "contexts": ["a", ("a",), ("a", None), 0, ["a", 3], [["a"]]],
    "ground_truth": [[], (), 0, 3, [3], ["a", {}], {"a": 1}],
    "language": [5, "xq", ["de"]],
}


def rows(values: dict[str, list[Any]]) -> st.SearchStrategy[list[Row]]:
    spelled = {**values, "groundTruth": values["ground_truth"]}
    row = st.fixed_dictionaries({}, optional={k: st.sampled_from(v) for k, v in spelled.items()})
    return st.lists(row, min_size=2, max_size=5)


def outcome(samples: list[Any], needs: FieldNeeds) -> Any:
    """The packed columns, or what is said of the first bad sample."""
    try:
        (block,) = sample_blocks(samples, needs)
        batch = block.pack(needs)
    except InputError as error:
        return str(error)
    assert batch.grounded is not None
    texts = [batch.question, batch.answer, batch.ground_truth, batch.contexts]
    columns = [*(column for text in texts for column in text), batch.row_contexts, *batch.grounded]
    return [(column.dtype, column.tolist()) for column in columns]


@pytest.mark.parametrize("metrics", METRICS)
@given(data=st.data())
def test_all_ways_of_reading_agree(metrics: tuple[MetricId, ...], data: st.DataObject) -> None:
    faulty = {name: [*VALUES[name], *FAULTS.get(name, ())] for name in VALUES}
    found = data.draw(rows(data.draw(st.sampled_from([VALUES, faulty]))))
    needs = FieldNeeds.of(metrics, "grounded")
    one_by_one = outcome([MappingProxyType(row) for row in found], needs)
    assert outcome(found, needs) == one_by_one
    if not isinstance(one_by_one, str):
        # Each row alone gives its part: nothing of a row reaches another.
        for row in found:
            assert outcome([row], needs) == outcome([MappingProxyType(row)], needs)


SOUND: Row = {"question": "q", "answer": "a", "contexts": ["c", None], "ground_truth": "t"}


@pytest.mark.parametrize(
    "other",
    [
        SOUND,
        {},
        {"contexts": None, "ground_truth": None},
        {**SOUND, "ground_truth": ["a", None]},
        {**SOUND, "language": "de", "id": 5},
        {**SOUND, "answer": 5},  # packing names it
    ],
)
def test_plain_dicts_are_read_field_by_field(other: Row) -> None:
    """Which takes fewer steps than row by row."""
    needs = FieldNeeds.of(ALL_METRIC_IDS, "grounded")
    plain = [SOUND, other] * 50
    others = list(map(MappingProxyType, plain))
    by_row = operations(lambda: read_rows(others, 0, needs))
    assert operations(lambda: read_rows(plain, 0, needs)) < 0.7 * by_row


def test_samples_of_several_kinds_in_one_block() -> None:
    needs = FieldNeeds.of(ALL_METRIC_IDS, "grounded")
    mixed = [SOUND, EvalSample(**SOUND), MappingProxyType(SOUND)]
    assert outcome(mixed, needs) == outcome([SOUND] * 3, needs)
    assert read_rows(mixed, 0, needs).given == [7, 7, 7]
