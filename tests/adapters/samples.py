"""Samples that all tools are given, and what the library says of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rag_eval import evaluate
from rag_eval.results.row import EvalResult

Sample = dict[str, Any]

METRICS = ("faithfulness", "answer_correctness", "unsupported_numbers")

SUPPORTED: Sample = {
    "question": "How long may staff work remotely?",
    "answer": "Staff may work remotely for up to 3 days per week.",
    "contexts": ["Staff may work remotely for up to 3 days per week.", "Lunch is at noon."],
    "ground_truth": "Up to 3 days per week.",
}
UNSUPPORTED: Sample = {
    "question": "Who pays for the equipment?",
    "answer": "The company pays for it all. Employees receive 4711 bananas \x1b[31mdaily\u202e.",
    "contexts": ["The company pays for all equipment used at home.", "Chairs are adjustable."],
    "ground_truth": "The company pays for it.",
}
# No word to measure: every score is null.
SILENT: Sample = {
    "question": "What is the fee?",
    "answer": "...",
    "contexts": ["The fee is 12 euros."],
    "ground_truth": "12 euros",
}
NO_TRUTH: Sample = {
    "question": "When does the office open?",
    "answer": "The office opens at 8 in the morning.",
    "contexts": ["Our office opens at 8 in the morning and closes at 6."],
}
SAMPLES: list[Sample] = [SUPPORTED, UNSUPPORTED, SILENT, NO_TRUTH]


def wanted(sample: Sample, metrics: Sequence[str] = METRICS, **options: Any) -> EvalResult:
    """What the library says, in the profile that integrations choose."""
    return evaluate(sample, metrics, **{"profile": "grounded", **options})
