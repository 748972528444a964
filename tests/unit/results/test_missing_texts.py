"""Rows that lack a question, an answer or contexts are counted by their null scores."""

from __future__ import annotations

import numpy as np

from rag_eval import evaluate_batch
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.results.missing_texts import MissingTexts, inferred_texts
from tests.tables import every_row

FULL = {
    "question": "Who wrote Emma?",
    "answer": "Jane Austen wrote Emma.",
    "contexts": ["Emma is a novel by Jane Austen."],
    "ground_truth": "Jane Austen",
}


def without(*names: str) -> dict[str, object]:
    return {name: value for name, value in FULL.items() if name not in names}


def counted(rows: list[dict[str, object]], metrics: list[str]) -> MissingTexts:
    return evaluate_batch(rows, metrics, profile="grounded", allow_missing=True).missing_texts


def inferred(rows: list[dict[str, object]], metrics: list[str]) -> MissingTexts:
    found = evaluate_batch(rows, metrics, profile="grounded", allow_missing=True)
    return MissingTexts.of(inferred_texts(found.metrics, found.null_reasons), found.sample_passed)


ALL = list(METRIC_IDS)
UNSURE = "1 of 3 samples has no question or contexts"
NO_ANSWER = without("answer")


@every_row(
    "rows, metrics, text",
    [
        ([FULL] * 2, ALL, ""),
        ([FULL, NO_ANSWER], ALL, "1 of 2 samples has no answer"),
        ([FULL, NO_ANSWER, NO_ANSWER], ALL, "2 of 3 samples have no answer"),
        # The ground truth is missing in most datasets, so that its absence is no sign of a fault.
        ([FULL, without("ground_truth")], ALL, ""),
        # What no row has is not measured at all, which is told elsewhere.
        ([NO_ANSWER] * 2, ALL, ""),
        ([NO_ANSWER] * 2 + [without("answer", "contexts")], ALL, "1 of 3 samples has no contexts"),
        (
            [FULL, NO_ANSWER, NO_ANSWER, without("contexts")],
            ALL,
            "2 of 4 samples have no answer, 1 has no contexts",
        ),
        ([FULL, without("question")], ALL, "1 of 2 samples has no question"),
        # Empty texts are scored.
        ([FULL, {**FULL, "answer": ""}, {**FULL, "contexts": []}], ALL, ""),
        ([FULL, NO_ANSWER], ["faithfulness"], "1 of 2 samples has no answer"),
        ([FULL, NO_ANSWER], ["answer_correctness"], "1 of 2 samples has no answer"),
        ([FULL, NO_ANSWER], ["context_utilization"], "1 of 2 samples has no answer"),
        # Texts without words are there.
        (
            [FULL, {**NO_ANSWER, "question": "?"}, {**without("contexts"), "ground_truth": "-"}],
            ALL,
            "1 of 3 samples has no answer, 1 has no contexts",
        ),
        # Only texts that the metrics read count.
        ([FULL, NO_ANSWER], ["context_recall", "context_precision"], ""),
    ],
)
def test_rows_without_a_text(rows: list[dict[str, object]], metrics: list[str], text: str) -> None:
    missing = counted(rows, metrics)
    assert (missing.text(metrics), missing.lack(metrics)) == (text, bool(text))


@every_row(
    "rows, metrics, text",
    [
        (
            [FULL, NO_ANSWER, without("contexts")],
            ALL,
            "1 of 3 samples has no answer, 1 has no contexts",
        ),
        # With one metric it is not known which of its texts is missing.
        ([FULL, NO_ANSWER], ["faithfulness"], "1 of 2 samples has no answer or contexts"),
        ([NO_ANSWER] * 2 + [without("answer", "contexts")], ALL[:5], UNSURE),
        # Nor if the ground truth is.
        ([FULL, NO_ANSWER], ["answer_correctness"], ""),
        # A question without words does not show that there are contexts.
        ([FULL, {**without("contexts"), "question": "?"}], ALL, "1 of 2 samples has no contexts"),
        ([FULL, {**NO_ANSWER, "question": "?"}], ALL, "1 of 2 samples has no answer"),
    ],
)
def test_texts_are_inferred_from_nulls(
    rows: list[dict[str, object]], metrics: list[str], text: str
) -> None:
    """As of result files, which do not say what a row lacks."""
    assert inferred(rows, metrics).text(metrics) == text


def test_counts_add_up_over_blocks() -> None:
    answer, contexts = 2, 4
    lacked = np.array([0, answer, 0, 0, contexts, 0], np.uint8)
    passed = np.array([1, 0, 1, 1, 1, 0], np.bool_)
    whole = MissingTexts.of(lacked, passed)
    parts = MissingTexts()
    for row in range(6):
        parts.merge(MissingTexts.of(lacked[row : row + 1], passed[row : row + 1]))
    assert parts == whole
    assert not whole.lack_and_pass(["answer_relevance"])
    assert whole.lack_and_pass(["context_relevance"])
    assert whole.text(METRIC_IDS) == "1 of 6 samples has no answer, 1 has no contexts"


def test_a_batch_tells_of_rows_without_an_answer() -> None:
    found = evaluate_batch([FULL, NO_ANSWER], profile="grounded")
    assert found.notes == [
        "1 of 2 samples has no answer, so these metrics are null for it: faithfulness, "
        "answer_relevance, answer_correctness, hallucination_rate"
    ]
    assert evaluate_batch([FULL, FULL], profile="grounded").notes == []
