"""Golden vectors of rag-eval-node-ts 0.3.2, and what about them this library does otherwise."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "rag_eval_node"


def load_cases(*functions: str) -> list[dict[str, Any]]:
    """The cases of some functions, in file order."""
    with gzip.open(FOLDER / "functions.jsonl.gz", "rt", encoding="utf-8", newline="\n") as lines:
        cases = [json.loads(line) for line in lines]
    return [case for case in cases if case["fn"] in functions]


def load_samples() -> list[dict[str, Any]]:
    """The 100 whole samples with their expected results."""
    with gzip.open(FOLDER / "samples.jsonl.gz", "rt", encoding="utf-8", newline="\n") as lines:
        return [json.loads(line) for line in lines]


def load_batch() -> dict[str, Any]:
    """The two batches over the whole samples."""
    loaded: dict[str, Any] = json.loads((FOLDER / "samples_batch.json").read_text("utf-8"))
    return loaded


def without_nulls(options: Any) -> dict[str, Any]:
    """Options without those that are null, which mean "not given" in the vectors."""
    return {} if options is None else dict(options)


_VOLATILE = {"durationMs", "totalDurationMs", "evaluatedAt"}
# What this library adds to the schema.
_ADDED = {"signature", "settings", "nullReason", "notes", "meanInterval", "passRateInterval"}


def comparable(value: Any) -> Any:
    """A result without what changes from run to run and what the schema does not have."""
    if isinstance(value, dict):
        return {
            key: comparable(item)
            for key, item in value.items()
            if key not in _VOLATILE and key not in _ADDED
        }
    if isinstance(value, list):
        return [comparable(item) for item in value]
    return value
