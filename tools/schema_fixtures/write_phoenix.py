"""A table of Phoenix's evaluations, scored by its exact match; and one of spans, by hand.

The spans have the columns that Phoenix's documentation gives them: they come from a server.
"""

from __future__ import annotations

import json

import pandas as pd
from fixture_samples import SAMPLES, write_lines
from phoenix.evals import evaluate_dataframe  # type: ignore[import-not-found]
from phoenix.evals.metrics import exact_match  # type: ignore[import-not-found]

table = pd.DataFrame(
    {
        "input": [sample["question"] for sample in SAMPLES],
        "output": [sample["answer"] for sample in SAMPLES],
        "reference": [sample["contexts"] for sample in SAMPLES],
        "expected": [sample["ground_truth"] for sample in SAMPLES],
    }
)
scored = evaluate_dataframe(dataframe=table, evaluators=[exact_match], hide_tqdm_bar=True)
write_lines("phoenix.jsonl", json.loads(scored.to_json(orient="records")))
write_lines(
    "phoenix_spans.jsonl",
    [
        {
            "name": "rag",
            "span_kind": "CHAIN",
            "context.span_id": sample["id"],
            "attributes.input.value": sample["question"],
            "attributes.output.value": sample["answer"],
            "attributes.retrieval.documents": [
                {"document.content": text, "document.score": 0.5} for text in sample["contexts"]
            ],
        }
        for sample in SAMPLES
    ],
)
