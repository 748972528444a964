"""Goldens as deepeval saves them, and test cases as its test runs hold them."""

from __future__ import annotations

import os

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
os.environ["DEEPEVAL_UPDATE_WARNING_OPT_IN"] = "NO"

from deepeval.dataset import EvaluationDataset, Golden
from deepeval.test_case import LLMTestCase
from fixture_samples import FOLDER, SAMPLES, write_lines

IDEAL = "Not retrieved: what ideally would have been."

dataset = EvaluationDataset(
    goldens=[
        Golden(
            input=sample["question"],
            actual_output=sample["answer"],
            retrieval_context=sample["contexts"],
            expected_output=sample["ground_truth"],
            context=[IDEAL],
            name=sample["id"],
        )
        for sample in SAMPLES
    ]
)
for kind in ("json", "csv"):
    dataset.save_as(kind, str(FOLDER), "deepeval")
cases = [
    LLMTestCase(
        input=sample["question"],
        actual_output=sample["answer"],
        retrieval_context=sample["contexts"],
        expected_output=sample["ground_truth"],
        context=[IDEAL],
        name=sample["id"],
    )
    for sample in SAMPLES
]
write_lines(
    "deepeval_camel.jsonl",
    [case.model_dump(mode="json", by_alias=True, exclude_none=True) for case in cases],
)
