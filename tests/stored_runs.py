"""Scored runs by hand, and what it means that two of them are the same."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from rag_eval.options.signature import Signature
from rag_eval.runs.scored_run import ScoredRun

SIGNATURE = Signature("overlap", 1, "17.0.0", {"ngram_sizes": [1, 2], "weight": 0.7})


def a_run(n_rows: int = 3, **changes: Any) -> ScoredRun:
    scores = np.linspace(0, 1, 2 * n_rows).reshape(n_rows, 2)
    values: dict[str, Any] = {
        "name": "d.jsonl",
        "ids": [f"q-{row}" for row in range(n_rows)],
        "metrics": ("faithfulness", "context_recall"),
        "scores": scores,
        "null_reasons": np.zeros((n_rows, 2), np.uint8),
        "metric_passed": (scores >= 0.5).astype(np.int8),
        "composite": scores.mean(axis=1),
        "passed": (scores >= 0.5).all(axis=1).astype(np.int8),
        "columns": {"topic": ["a", None, "b"][:n_rows] + ["c"] * max(0, n_rows - 3)},
        "signature": SIGNATURE,
        "dataset_hash": "ab" * 32,
        "lower_is_better": frozenset({"context_recall"}),
        "n_judgements": 7,
        "n_failed_judgements": 2,
    }
    return ScoredRun(**{**values, **changes})


def assert_same(found: ScoredRun, wanted: ScoredRun) -> None:
    """Every field, arrays to the bit."""
    for field in dataclasses.fields(ScoredRun):
        mine, theirs = getattr(found, field.name), getattr(wanted, field.name)
        if isinstance(theirs, np.ndarray):
            assert mine.dtype == theirs.dtype, field.name
            assert mine.shape == theirs.shape, field.name
            assert mine.tobytes() == theirs.tobytes(), field.name
        elif field.name == "columns":
            assert {name: list(column) for name, column in mine.items()} == {
                name: list(column) for name, column in theirs.items()
            }
        else:
            assert mine == theirs, field.name
