"""Rows as ragas writes them: ``EvaluationDataset.to_jsonl`` and ``to_csv``."""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any

from fixture_samples import FOLDER, SAMPLES

os.environ["RAGAS_DO_NOT_TRACK"] = "true"

# ragas 0.4.3 imports a module that langchain-community no longer has; a dataset never uses it.
_stub: Any = ModuleType("langchain_community.chat_models.vertexai")
_stub.ChatVertexAI = type("ChatVertexAI", (), {})
sys.modules[_stub.__name__] = _stub

from ragas.dataset_schema import (  # type: ignore[import-not-found]  # noqa: E402
    EvaluationDataset,
    SingleTurnSample,
)

dataset = EvaluationDataset(
    samples=[
        SingleTurnSample(
            user_input=sample["question"],
            response=sample["answer"],
            retrieved_contexts=sample["contexts"],
            reference=sample["ground_truth"],
        )
        for sample in SAMPLES
    ]
)
dataset.to_jsonl(str(FOLDER / "ragas.jsonl"))
dataset.to_csv(str(FOLDER / "ragas.csv"))
