"""Converts samples from and to ragas, which is not imported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from rag_eval.errors import InputError, glance
from rag_eval.integrations.tool_rows import RowReader
from rag_eval.results.row import sample_dict

_NAMES: Final = {
    "question": "user_input",
    "answer": "response",
    "contexts": "retrieved_contexts",
    "groundTruth": "reference",
}
# Fields of ragas that no metric reads; they are passed through.
_OTHERS: Final = (
    "reference_contexts",
    "retrieved_context_ids",
    "reference_context_ids",
    "multi_responses",
    "rubrics",
    "persona_name",
    "query_style",
    "query_length",
)


def from_ragas(dataset: Iterable[Any]) -> list[dict[str, Any]]:
    """Samples from an EvaluationDataset, a list of SingleTurnSample, or a list of their dicts.

    Unknown fields are kept. A conversation (MultiTurnSample) raises InputError.
    """
    rows = [row if isinstance(row, Mapping) else row.to_dict() for row in dataset]
    for number, row in enumerate(rows):
        if not isinstance(row.get("user_input", ""), (str, type(None))):
            raise InputError(
                f"sample {number}: user_input must be a string, got {glance(row['user_input'])}; "
                "for a conversation, give the turn to score"
            )
    return RowReader("ragas").samples(rows)


def to_ragas(samples: Iterable[Any]) -> list[dict[str, Any]]:
    """Samples for ``EvaluationDataset.from_list``, without fields that ragas does not have.

    Several acceptable ground truths raise InputError, because ragas has one reference.
    """
    rows = []
    for number, sample in enumerate(samples):
        ours = sample_dict(sample)
        truth = ours.get("groundTruth")
        if not isinstance(truth, (str, type(None))):
            raise InputError(f"sample {number}: ragas takes one ground truth, got {glance(truth)}")
        named = {theirs: ours.get(name) for name, theirs in _NAMES.items()}
        named |= {name: ours.get(name) for name in _OTHERS}
        rows.append({name: value for name, value in named.items() if value is not None})
    return rows
