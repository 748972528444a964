"""Fields that scorers read: every spelling, place and kind of sample gives the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import rag_eval
from rag_eval.errors import InputError
from rag_eval.inputs.sample_fields import fields_of
from rag_eval.jobs.file_run import run_file
from rag_eval.samples import EvalSample
from tests.fluent_judge import FluentJudge


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("retrieved_ids", ["a", "b"]),
        ("relevant_ids", {"a": 2}),
        ("tool_calls", [{"name": "n", "args": {"k": [1, None]}}]),
        ("expected_tool_calls", []),
        ("messages", [{"role": "user", "content": "ü [x]"}]),
        ("trajectory", {"steps": []}),
        ("assertions", [{"type": "contains", "value": "a"}]),
        ("mock_hits", {"tool": 1}),
        ("cost_usd", 0.25),
        ("n_turns", 3),
        ("latency_ms", 1e3),
    ],
)
def test_the_json_text_of_a_value_is_the_value(name: str, value: Any) -> None:
    for given in (value, json.dumps(value), f"\n {json.dumps(value, ensure_ascii=False)} "):
        for sample in ({name: given}, {"metadata": {name: given}}):
            assert fields_of(sample, [name]) == {name: value}
    assert fields_of(EvalSample(answer="x", metadata={name: value}), [name]) == {name: value}


@pytest.mark.parametrize("name", ["retrieved_ids", "relevant_ids", "messages", "cost_usd"])
@pytest.mark.parametrize("blank", ["", " \n"])
def test_a_blank_text_is_no_value(name: str, blank: str) -> None:
    assert fields_of({name: blank}, [name]) == {}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("d1", 'retrieved_ids must be a list or a mapping, or its JSON text, got "d1"'),
        ('"d1"', "must be a list or a mapping"),
        ("[1, 2", "cannot be parsed"),
        ("[NaN]", "cannot be parsed"),
        ("[1e999]", "cannot be parsed"),
        ("[" * 100_000, "cannot be parsed"),
        ("['a']", "cannot be parsed"),
    ],
)
def test_a_text_that_is_neither_is_refused(value: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        fields_of({"retrieved_ids": value}, ["retrieved_ids"])
    assert len(str(refused.value)) < 200


def test_a_grade_of_null_is_none() -> None:
    rows = [{"relevant_ids": {"a": 2, "b": None}}, {"relevant_ids": '{"a": 2, "b": null}'}]
    for row in rows:
        assert fields_of(row, ["relevant_ids"]) == {"relevant_ids": {"a": 2}}


def test_text_in_fields_of_ones_own_stays_text() -> None:
    assert fields_of({"cost": "[1]", "answer": "[1]"}, ["cost", "answer"]) == {
        "cost": "[1]",
        "answer": "[1]",
    }


# ------------------------------------------------------------------------------------- tables


def scores(given: Any, **options: Any) -> list[list[float]]:
    result = rag_eval.evaluate_batch(given, ["ir.P@1"], **options)
    assert [row.metrics["ir.P@1"].score for row in result.results] == result.scores[:, 0].tolist()
    return result.scores.tolist()


def test_a_column_goes_before_the_metadata_in_every_kind_of_input(tmp_path: Path) -> None:
    rows = [
        {"retrieved_ids": ["a"], "relevant_ids": ["a"], "metadata": {"retrieved_ids": ["b"]}},
        {"relevant_ids": ["a"], "metadata": {"retrieved_ids": ["a"]}},
        {"retrieved_ids": ["b"], "relevant_ids": ["a"], "metadata": {"retrieved_ids": ["a"]}},
    ]
    expected = [[1.0], [1.0], [0.0]]
    table = pa.Table.from_pylist(rows)
    assert scores(rows) == scores(table) == expected
    path = tmp_path / "rows.parquet"
    parquet.write_table(table, path)
    assert run_file(path, ["ir.P@1"]).result.aggregates["ir.P@1"].mean == 2 / 3


def test_two_spellings_with_two_values_are_refused_in_every_kind_of_input() -> None:
    rows = [
        {"id": "x", "retrieved_ids": ["a"], "relevant_ids": ["a"], "retrievedIds": ["a"]},
        {"id": "y", "retrieved_ids": ["a"], "relevant_ids": ["a"], "retrievedIds": ["b"]},
    ]
    assert scores(rows[:1]) == scores(pa.Table.from_pylist(rows[:1])) == [[1.0]]
    for given in (rows, pa.Table.from_pylist(rows)):
        with pytest.raises(InputError, match="retrieved_ids and retrievedIds are both given"):
            scores(given)


# ----------------------------------------------------------------- scorers that ask a judge


class Listening(FluentJudge):
    """A judge that keeps what it was told."""

    def __call__(self, prompt: str) -> str:
        HEARD.append(prompt)
        return super().__call__(prompt)


HEARD: list[str] = []
MESSAGES = [
    {"role": "user", "content": "Find it."},
    {"role": "assistant", "content": "It was FOUND-BY-ME."},
]


@pytest.mark.parametrize("kind", ["rows", "text", "table", "metadata", "parquet", "csv"])
def test_judged_scorers_read_messages_wherever_they_are(tmp_path: Path, kind: str) -> None:
    row: dict[str, Any] = {"question": "q", "answer": "a", "messages": MESSAGES}
    text = {**row, "messages": json.dumps(MESSAGES)}
    metadata = {"question": "q", "answer": "a", "metadata": {"messages": MESSAGES}}
    given = {"rows": [row], "text": [text], "metadata": [metadata]}
    HEARD.clear()
    judge = Listening()
    if kind in given:
        rag_eval.evaluate_batch(given[kind], ["mastra.bias"], judge=judge)
    elif kind == "table":
        rag_eval.evaluate_batch(pa.Table.from_pylist([row]), ["mastra.bias"], judge=judge)
    else:
        path = tmp_path / f"rows.{kind}"
        if kind == "parquet":
            parquet.write_table(pa.Table.from_pylist([row]), path)
        else:
            cell = text["messages"].replace('"', '""')
            path.write_text(f'question,answer,messages\nq,a,"{cell}"\n')
        run_file(path, ["mastra.bias"], judge=judge)
    assert any("FOUND-BY-ME" in prompt for prompt in HEARD)


def test_a_bad_value_names_the_row_that_a_judge_was_to_read() -> None:
    rows = [{"id": "good", "question": "q", "answer": "a"}, {"id": "bad", "messages": "hello"}]
    with pytest.raises(InputError, match=r'sample 1 \("bad"\): messages must be a list or'):
        rag_eval.evaluate_batch(rows, ["mastra.bias"], judge=FluentJudge())
