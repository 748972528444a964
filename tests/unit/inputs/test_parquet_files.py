"""Record batches of Parquet files: how many rows each has."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_eval.inputs.parquet_files import opened_batches

pa = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402


def batch_sizes(path: Path, answers: list[str]) -> list[int]:
    table = pa.table({"id": list(map(str, range(len(answers)))), "answer": answers})
    # No dictionaries: equal texts would be one.
    parquet.write_table(table, path, use_dictionary=False)
    with opened_batches(path) as batches:
        return [batch.num_rows for _, batch in batches.read(["answer"], 0)]


def test_batches_follow_the_length_of_rows(tmp_path: Path) -> None:
    """Many short rows at once, since each batch takes its time; of long ones some megabytes."""
    sizes = {
        length: batch_sizes(tmp_path / "d.parquet", ["x" * length] * 4500)
        for length in (1, 8_000, 200_000)
    }
    assert sizes[1] == [2048, 2048, 404]
    assert 400 < sizes[8_000][0] < 600
    assert sizes[200_000][0] == 256
    assert all(sum(found) == 4500 for found in sizes.values())
