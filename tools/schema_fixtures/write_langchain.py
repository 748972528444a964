"""What LangChain and LangSmith hold: chain outputs, runs, examples, and an experiment's table."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from uuid import UUID

os.environ["LANGSMITH_TRACING"] = "false"

from fixture_samples import SAMPLES, Sample, write_lines
from langchain_core.documents import Document  # type: ignore[import-not-found]
from langchain_core.load import dumpd  # type: ignore[import-not-found]
from langsmith.evaluation._runner import (  # type: ignore[import-not-found]
    _flatten_experiment_results,
)
from langsmith.schemas import Example, Run  # type: ignore[import-not-found]

DATASET = UUID("00000000-0000-4000-8000-0000000000d5")
DAY = datetime(2026, 1, 5, tzinfo=UTC)


def documents(sample: Sample) -> list[Document]:
    return [Document(page_content=text, metadata={"page": 1}) for text in sample["contexts"]]


def dumped_documents(sample: Sample) -> list[dict[str, object]]:
    return [document.model_dump(mode="json") for document in documents(sample)]


examples = [
    Example(
        id=UUID(int=number),
        dataset_id=DATASET,
        created_at=DAY,
        inputs={"question": sample["question"]},
        outputs={"answer": sample["ground_truth"]},
        metadata={"name": sample["id"]},
    )
    for number, sample in enumerate(SAMPLES, 1)
]
runs = [
    Run(
        id=UUID(int=100 + number),
        trace_id=UUID(int=100 + number),
        name="rag",
        run_type="chain",
        start_time=DAY,
        end_time=DAY,
        inputs={"question": sample["question"]},
        outputs={"answer": sample["answer"], "documents": dumped_documents(sample)},
        reference_example_id=UUID(int=number),
    )
    for number, sample in enumerate(SAMPLES, 1)
]
results = [
    {"run": run, "example": example, "evaluation_results": {"results": []}}
    for run, example in zip(runs, examples, strict=True)
]
write_lines(
    "langsmith_examples.jsonl", [json.loads(example.model_dump_json()) for example in examples]
)
write_lines("langsmith_runs.jsonl", [json.loads(run.model_dump_json()) for run in runs])
# The rows of ExperimentResults.to_pandas(), with ids as texts.
write_lines(
    "langsmith_experiment.jsonl",
    [json.loads(json.dumps(row, default=str)) for row in _flatten_experiment_results(results)],
)
# A chain of questions over documents, and a retrieval chain with LangChain's own serialisation.
write_lines(
    "langchain_qa.jsonl",
    [
        {
            "query": sample["question"],
            "result": sample["answer"],
            "source_documents": dumped_documents(sample),
            "answer": sample["ground_truth"],
        }
        for sample in SAMPLES
    ],
)
write_lines(
    "langchain_retrieval.jsonl",
    [
        dumpd(
            {
                "input": sample["question"],
                "context": documents(sample),
                "answer": sample["answer"],
            }
        )
        for sample in SAMPLES
    ],
)
