"""Rows that autoevals scores; it has no file format, so they are the arguments of its scorer."""

from __future__ import annotations

from autoevals import ExactMatch  # type: ignore[import-not-found]
from fixture_samples import SAMPLES, write_lines

rows = [
    {
        "input": sample["question"],
        "output": sample["answer"],
        "expected": sample["ground_truth"],
        "context": sample["contexts"],
        "metadata": {"name": sample["id"]},
    }
    for sample in SAMPLES
]
for row in rows:  # the scorer takes each row as its keyword arguments
    ExactMatch().eval(**row)
write_lines("autoevals.jsonl", rows)
