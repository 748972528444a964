"""JSON objects with rows inside: which are opened, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.inputs.opened import Input, InputOptions
from rag_eval.inputs.schemas.documents import rows_of_document
from tests.tables import every_row

A = {"question": "Q1?", "answer": "A1.", "contexts": ["C1."]}
B = {"question": "Q2?", "answer": "A2.", "contexts": ["C2.", "C3."]}
ROWS = [A, B]
COLUMNS = {name: [row[name] for row in ROWS] for name in A}
OTHER = [{"name": "faithfulness", "score": 1}]


@every_row(
    ("document", "remark"),
    [
        ({"data": ROWS}, 'rows: 2 in "data"'),
        ({"data": ROWS, "version": 1, "tags": ["x"]}, 'rows: 2 in "data"'),
        ({"meta": {"n": 2}, "run": {"outputs": {"rows": ROWS}}}, 'rows: 2 in "run.outputs.rows"'),
        ({"metrics": OTHER, "rows": ROWS}, 'rows: 2 in "rows"'),
        ({"schema": {"fields": OTHER}, "data": ROWS}, 'rows: 2 in "data"'),  # pandas, table
        (COLUMNS, "rows: 2 from 3 columns"),
        ({"train": COLUMNS}, 'rows: 2 from 3 columns in "train"'),
        (
            {name: {"0": values[0], "7": values[1]} for name, values in COLUMNS.items()},
            "rows: 2 from 3 columns",
        ),
        (
            {"columns": [*A], "index": [0, 1], "data": [list(row.values()) for row in ROWS]},
            "rows: 2 from 3 columns",
        ),
        ({"0": A, "1": B}, "rows: 2 from objects by their names"),
        ({"runs": {"0": A, "1": B}}, 'rows: 2 from objects by their names in "runs"'),
    ],
)
def test_rows_are_found_in(document: dict[str, Any], remark: str) -> None:
    found = rows_of_document(document)
    assert found is not None
    assert found.rows == ROWS
    assert str(found) == remark


def test_objects_by_their_names_have_them_as_ids() -> None:
    found = rows_of_document({"a": A, "b": B})
    assert found is not None
    assert found.rows == [{"id": "a", **A}, {"id": "b", **B}]
    known = rows_of_document({"a": {**A, "id": 7}, "b": {**B, "id": 8}})
    assert known is not None
    assert [row["id"] for row in known.rows] == [7, 8]


@every_row(
    "sample",
    [
        A,
        {"question": "Q?", "answer": "A.", "contexts": [{"text": "C."}, {"text": "D."}]},
        {"question": "Q?", "answer": "A.", "data": [{"question": "Q?", "answer": "A."}]},
    ],
)
def test_one_sample_is_a_row(sample: dict[str, Any]) -> None:
    found = rows_of_document(sample)
    assert found is not None
    assert found.rows == [sample]
    assert str(found) == "rows: 1 (the object itself)"


def test_a_list_without_known_names_is_opened_for_a_mapping(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text(json.dumps({"items": [{"q_txt": "Q?", "a_txt": "A."}]}))
    source = Input(path, InputOptions(mapping={"question": "q_txt", "answer": "a_txt"}))
    [block] = source.blocks()
    assert block.sample(0) == {"question": "Q?", "answer": "A."}
    assert source.remarks == ['rows: 1 in "items"']


def test_several_lists_are_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text(json.dumps({"train": ROWS, "test": ROWS}))
    with pytest.raises(InputError) as caught:
        list(Input(path).blocks())
    assert str(caught.value) == (
        f'{path}: holds several lists of objects: "train", "test". Save the list of samples as a '
        "file of its own"
    )


def test_columns_that_differ_in_length() -> None:
    with pytest.raises(
        InputError, match="question holds 2 values and answer 1; each column must have one"
    ):
        rows_of_document({"question": ["a", "b"], "answer": ["c"]})


def test_remarks_name_the_file_where_there_are_several(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.json").write_text(json.dumps({"data": ROWS}))
    source = Input(str(tmp_path / "*.json"))
    assert sum(map(len, source.blocks())) == 4
    assert source.remarks == [f'{tmp_path}/{name}.json: rows: 2 in "data"' for name in "ab"]
