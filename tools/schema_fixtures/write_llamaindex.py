"""What LlamaIndex writes: evaluation results, responses; with 0.12 also datasets, predictions.

Run once with the current llama-index-core, and once with 0.12, which is the last that has
labelled datasets.
"""

from __future__ import annotations

from importlib.util import find_spec

from fixture_samples import FOLDER, SAMPLES, write_lines
from llama_index.core.base.response.schema import Response
from llama_index.core.evaluation import EvaluationResult
from llama_index.core.schema import NodeWithScore, TextNode

if find_spec("llama_index.core.llama_dataset") is None:
    results = [
        EvaluationResult(
            query=sample["question"],
            contexts=sample["contexts"],
            response=sample["answer"],
            passing=True,
            score=1.0,
        )
        for sample in SAMPLES
    ]
    # What a correctness evaluator is given beside, under its name of the argument.
    write_lines(
        "llamaindex_results.jsonl",
        [
            result.model_dump(mode="json") | {"reference": sample["ground_truth"]}
            for result, sample in zip(results, SAMPLES, strict=True)
        ],
    )
    responses = [
        Response(
            response=sample["answer"],
            source_nodes=[
                NodeWithScore(node=TextNode(text=text, id_=f"{sample['id']}-{number}"), score=0.5)
                for number, text in enumerate(sample["contexts"])
            ],
        )
        for sample in SAMPLES
    ]
    write_lines(
        "llamaindex_responses.jsonl",
        [
            {
                "query": sample["question"],
                "response": response.response,
                "source_nodes": [node.to_dict() for node in response.source_nodes],
            }
            for response, sample in zip(responses, SAMPLES, strict=True)
        ],
    )
else:
    from llama_index.core.llama_dataset import (
        CreatedBy,
        CreatedByType,
        LabelledRagDataExample,
        LabelledRagDataset,
        RagExamplePrediction,
        RagPredictionDataset,
    )

    by_hand = CreatedBy(type=CreatedByType.HUMAN)
    LabelledRagDataset(
        examples=[
            LabelledRagDataExample(
                query=sample["question"],
                query_by=by_hand,
                reference_contexts=["Not retrieved: where the reference was found."],
                reference_answer=sample["ground_truth"],
                reference_answer_by=by_hand,
            )
            for sample in SAMPLES
        ]
    ).save_json(str(FOLDER / "llamaindex_dataset.json"))
    RagPredictionDataset(
        predictions=[
            RagExamplePrediction(response=sample["answer"], contexts=sample["contexts"])
            for sample in SAMPLES
        ]
    ).save_json(str(FOLDER / "llamaindex_predictions.json"))
