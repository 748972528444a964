"""Rows of score files: what their columns may hold beside scores."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_eval.errors import InputError
from rag_eval.runs import read_run
from tests.tables import every_row


def a_table(path: Path, columns: dict[str, list[object]]) -> Path:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"id": ["a", "b"], "faithfulness": [1.0, 0.5], **columns})
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_a_field_that_a_table_lacks_is_told_as_of_any_file(tmp_path: Path, suffix: str) -> None:
    """It was a KeyError of pyarrow."""
    path = a_table(tmp_path / f"a{suffix}", {})
    text = tmp_path / "a.jsonl"
    text.write_text('{"id": "a", "faithfulness": 1.0}\n{"id": "b", "faithfulness": 0.5}\n')
    with pytest.raises(InputError) as wanted:
        read_run(text, columns=("nothere",))
    with pytest.raises(InputError) as found:
        read_run(path, columns=("nothere",))
    assert str(found.value) == str(wanted.value).replace(str(text), str(path))


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_nulls_among_numbers_of_other_fields_stay_nulls(tmp_path: Path, suffix: str) -> None:
    """They were NaN, which no JSON can hold."""
    path = a_table(tmp_path / f"a{suffix}", {"weight": [0.5, None]})
    assert [*read_run(path, columns=("weight",)).columns["weight"]] == ["0.5", None]


@every_row("score", ["nan", "NaN", "inf", "-inf"])
def test_text_that_is_no_finite_number_is_no_score(tmp_path: Path, score: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"id,faithfulness\na,0.5\nb,{score}\n")
    with pytest.raises(InputError, match=f"line 3.*faithfulness must be finite, got '{score}'"):
        read_run(path)
