"""Results as data frames: ids, texts where they are asked for, scores."""

from __future__ import annotations

import json
from typing import Any

import pytest

import rag_eval
from rag_eval import EvalSample
from rag_eval.errors import TextsNotKeptError

ROWS: list[dict[str, Any]] = [
    {"id": "a", "question": "Q?", "answer": "A b c.", "contexts": ["A b c."], "ground_truth": "A"},
    {"id": 7, "question": "Q?", "answer": "D e f.", "contexts": []},
    {"question": "Q?", "answer": "G.", "contexts": ["H.", "I."], "groundTruth": "G"},
]
METRICS = ["faithfulness", "answer_correctness"]
SCORES = [*METRICS, "composite_score", "passed"]
TEXTS = ["question", "answer", "contexts", "ground_truth"]


def ours(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "groundTruth"}


KINDS = {
    "dicts": ROWS,
    "generator": (row for row in ROWS),
    "samples": [
        EvalSample(**{"ground_truth": row.get("groundTruth"), **ours(row)}) for row in ROWS
    ],
}


@pytest.mark.parametrize("kind", KINDS)
def test_ids_and_texts(kind: str) -> None:
    batch = rag_eval.evaluate_batch(KINDS[kind], METRICS)
    frame = batch.to_pandas()
    assert list(frame.columns) == ["id", *SCORES]
    assert frame["id"].tolist() == ["a", 7, None]
    full = batch.to_pandas(texts=True)
    assert list(full.columns) == ["id", *TEXTS, *SCORES]
    assert full["contexts"].tolist() == [row["contexts"] for row in ROWS]
    # A missing text is what pandas makes of it.
    assert full["ground_truth"].isna().tolist() == [False, True, False]
    assert full["ground_truth"].tolist()[::2] == ["A", "G"]
    assert full[SCORES].equals(frame[SCORES])
    assert frame["faithfulness"].tolist() == batch.scores[:, 0].tolist()


def test_polars_has_nulls() -> None:
    batch = rag_eval.evaluate_batch(ROWS, METRICS)
    frame = batch.to_polars(texts=True)
    assert frame.columns == ["id", *TEXTS, *SCORES]
    assert frame["id"].to_list() == ["a", "7", None]
    assert frame["answer_correctness"].null_count() == 1
    assert frame["contexts"].to_list() == [row["contexts"] for row in ROWS]
    assert frame["passed"].to_list() == batch.sample_passed.tolist()


def test_results_that_were_read_have_them_too() -> None:
    text = rag_eval.evaluate_batch(ROWS, METRICS).to_json()
    assert text is not None
    assert json.loads(text)["results"][0]["sample"]["id"] == "a"
    frame = rag_eval.BatchEvalResult.from_json(text).to_pandas(texts=True)
    assert frame["id"].tolist() == ["a", 7, None]
    assert frame["answer"].tolist() == [row["answer"] for row in ROWS]


def test_texts_that_were_not_kept() -> None:
    batch = rag_eval.evaluate_batch(ROWS, METRICS, keep_texts=False)
    assert batch.to_pandas()["id"].tolist() == [None] * 3
    with pytest.raises(TextsNotKeptError):
        batch.to_pandas(texts=True)
