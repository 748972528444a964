"""Files of other tools, read as a user would name them: the same samples from each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rag_eval.inputs.opened import Input, InputOptions
from tests.tables import every_row
from tests.unit.inputs.test_schemas import ALL, FILES, FIXTURES, SAMPLES, texts_of

CSV_FILES = [(f"{name}.csv", name, ALL, False) for name in ("ragas", "deepeval", "haystack")]


def rows_in(path: Path, **options: Any) -> list[dict[str, Any]]:
    blocks = Input(path, InputOptions(**options)).blocks()
    return [dict(block.sample(index)) for block in blocks for index in range(len(block))]


def wanted(fields: tuple[str, ...]) -> list[dict[str, Any]]:
    return [{field: sample[field] for field in fields} for sample in SAMPLES]


def renamed(row: dict[str, Any]) -> dict[str, Any]:
    """The ground truth under one spelling: rows of columns have that of result files."""
    return {"ground_truth" if name == "groundTruth" else name: row[name] for name in row}


@every_row("name, schema, fields, has_ids", [*FILES, *CSV_FILES])
def test_a_file_is_read_as_it_is(
    name: str, schema: str, fields: tuple[str, ...], has_ids: bool
) -> None:
    for options in ({}, {"schema": schema}):
        rows = rows_in(FIXTURES / name, **options)
        assert [texts_of(row) for row in rows] == wanted(fields)
        if has_ids:
            assert [row["id"] for row in rows] == [sample["id"] for sample in SAMPLES]


# Objects of one file that have members in common and of one type are columns as well.
COLUMNS = [
    entry
    for entry in FILES
    if entry[0]
    in {
        "autoevals.jsonl",
        "continuous_eval.jsonl",
        "deepeval_camel.jsonl",
        "ragas.jsonl",
        "langsmith_experiment.jsonl",
        "mlflow.jsonl",
        "phoenix.jsonl",
        "trulens_log.jsonl",
    }
]


@pytest.mark.parametrize(("name", "schema", "fields", "has_ids"), COLUMNS)
def test_the_same_rows_as_columns(
    tmp_path: Path, name: str, schema: str, fields: tuple[str, ...], has_ids: bool
) -> None:
    rows = [json.loads(line) for line in (FIXTURES / name).read_text("utf-8").splitlines()]
    table = pa.Table.from_pylist(rows)
    path = tmp_path / "rows.arrow"
    with pa.ipc.new_file(str(path), table.schema) as file:
        file.write_table(table)
    for options in ({}, {"schema": schema}):
        found = rows_in(path, **options)
        assert [texts_of(renamed(row)) for row in found] == wanted(fields)
