"""datasets maps our function over batches, in this process and others, and caches what it did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

datasets = pytest.importorskip("datasets", reason="make adapters installs datasets")

from rag_eval.errors import InputError
from rag_eval.integrations.datasets import RagColumns
from tests.adapters.samples import METRICS, SAMPLES, wanted

# The package's own warnings are not ours to mend.
pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("ignore")]

ROWS = SAMPLES * 25


def table(**names: str) -> Any:
    fields = ("question", "answer", "contexts", "ground_truth")
    rows = [{names.get(name, name): row.get(name) for name in fields} for row in ROWS]
    return datasets.Dataset.from_list(rows)


def assert_ours(found: Any, prefix: str = "") -> None:
    expected = [wanted(sample) for sample in SAMPLES]
    for metric in METRICS:
        ours = [result.metrics[metric].score for result in expected] * 25
        assert list(found[f"{prefix}{metric}"]) == ours
    assert list(found[f"{prefix}composite"]) == [r.composite_score for r in expected] * 25
    assert list(found[f"{prefix}passed"]) == [r.passed for r in expected] * 25


@pytest.mark.parametrize("n_processes", [None, 2])
def test_columns_of_scores_are_ours(n_processes: int | None) -> None:
    found = table().map(RagColumns(METRICS), batched=True, batch_size=7, num_proc=n_processes)
    assert found.num_rows == len(ROWS)
    assert found["answer"][1] == SAMPLES[1]["answer"]
    assert_ours(found)


def test_rows_with_names_of_ragas() -> None:
    data = table(
        question="user_input",
        answer="response",
        contexts="retrieved_contexts",
        ground_truth="reference",
    )
    assert_ours(data.map(RagColumns(METRICS, prefix="rag_"), batched=True), "rag_")


def test_a_stream() -> None:
    stream = table().to_iterable_dataset(num_shards=3)
    rows = list(stream.map(RagColumns(METRICS), batched=True, batch_size=10))
    ours = [wanted(sample).metrics.faithfulness.score for sample in SAMPLES] * 25
    assert [row["faithfulness"] for row in rows] == ours


def test_what_was_mapped_is_found_in_the_cache(tmp_path: Path) -> None:
    table().save_to_disk(str(tmp_path / "data"))
    data = datasets.load_from_disk(str(tmp_path / "data"))
    first = data.map(RagColumns(METRICS), batched=True)
    again = data.map(RagColumns(list(METRICS)), batched=True)
    assert first.cache_files == again.cache_files
    other = data.map(RagColumns(METRICS, thresholds={"faithfulness": 0.9}), batched=True)
    assert other.cache_files != first.cache_files


def test_a_column_is_not_written_over() -> None:
    once = table().map(RagColumns("faithfulness"), batched=True)
    with pytest.raises(InputError, match="column 'faithfulness' already exists"):
        once.map(RagColumns("faithfulness"), batched=True)
