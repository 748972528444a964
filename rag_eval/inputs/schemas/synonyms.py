"""Names that columns have for our fields, whoever wrote them.

In: the name of a column.  Out: the field that it stands for, and how surely.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from rag_eval.inputs.samples import TEXT_FIELDS
from rag_eval.inputs.schemas.maps import FIELDS
from rag_eval.inputs.schemas.tools import SHAPES


class Meaning(NamedTuple):
    """What the name of a column says; a lower ``rank`` says it more surely."""

    field: str
    rank: int


# Our own names in another spelling, names that say one thing only, and names that often do.
OWN, SURE, LIKELY = range(3)

_NAMES: Final[dict[str, tuple[str, str]]] = {
    "question": (
        "query user_input user_query user_question user_message question_text query_text "
        "input_question input_query search_query human_input",
        "prompt input inputs request instruction utterance",
    ),
    "answer": (
        "response generated_answer model_answer prediction predicted_answer actual_output "
        "actual_answer generated_response generated_text generated_output model_output "
        "model_response model_prediction llm_answer llm_response llm_output llm_generation "
        "bot_answer bot_response rag_answer rag_response system_answer system_response "
        "assistant_response ai_response chatbot_response answer_text response_text final_answer "
        "candidate_answer predictions",
        "output outputs result completion generation",
    ),
    "contexts": (
        "retrieved_contexts retrieved_context retrieval_contexts retrieval_context retrieved_docs "
        "retrieved_documents retrieved_chunks retrieved_passages retrieved_texts retrieved_nodes "
        "source_documents source_nodes source_chunks context_text context_texts context_list "
        "context_chunks context_docs context_documents search_results retrieval_results retrieved",
        "context passages docs documents chunks passage chunk retrieved_passage retrieved_chunk "
        "retrieved_document",
    ),
    "ground_truth": (
        "ground_truths groundtruth ground_truth_answer ground_truth_answers gt gt_answer "
        "expected_answer expected_output expected_response gold_answer gold_answers golden_answer "
        "gold_response reference_answer reference_answers reference_output reference_response "
        "ideal_answer ideal_response correct_answer correct_answers true_answer target_answer "
        "desired_output desired_answer",
        "gold golden ideal target targets expected reference",
    ),
}
# Names of contexts where they hold objects with a text, and of files or links elsewhere.
_HOLDERS: Final = frozenset(
    ("sources", "source", "citations", "hits", "matches", "evidence", "nodes")
)
_LONGEST: Final = 64
_WORD_BORDER: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\s\-_/]+")


def _meanings() -> dict[str, Meaning]:
    found: dict[str, Meaning] = {name: Meaning(name, OWN) for name in TEXT_FIELDS}
    for field, (sure, likely) in _NAMES.items():
        found |= {name: Meaning(field, SURE) for name in sure.split()}
        found |= {name: Meaning(field, LIKELY) for name in likely.split()}
    # What the known tools call one field, and none of them another.
    fields: dict[str, set[str]] = {}
    for shapes in SHAPES.values():
        for shape in shapes:
            for field, paths in shape.paths.items():
                for path in paths:
                    fields.setdefault(path, set()).add(field)
    for path, named in fields.items():
        if len(named) == 1 and path.replace("_", "").isalpha() and not named <= _OTHERS:
            found.setdefault(spelled(path), Meaning(next(iter(named)), SURE))
    return found


_OTHERS: Final = {*FIELDS} - {*TEXT_FIELDS}


def spelled(name: str) -> str:
    """``Ground Truth``, ``groundTruth``, ``ground-truth`` -> ``ground_truth``."""
    return _WORD_BORDER.sub("_", name.strip()).lower().strip("_")


_MEANINGS: Final = _meanings()


def meaning_of(column: str) -> Meaning | None:
    """The field that the name of a column stands for; None if it says nothing."""
    return _MEANINGS.get(spelled(column)) if len(column) <= _LONGEST else None


def may_hold_contexts(column: str) -> bool:
    """Whether a column of this name holds contexts where its objects have texts."""
    return len(column) <= _LONGEST and spelled(column) in _HOLDERS


def sure_names(field: str) -> list[str]:
    """The names that stand for a field and for nothing else."""
    return _NAMES[field][0].split()
