"""What the six diagnostics of the `grounded` profile give for a sample, and when they give null.

"Carries" means throughout: held against that text alone, with the question known as ever, a
sentence has a support of 0.60 or more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.oracle.grounded import (
    NO_ANSWER,
    NO_CONTEXTS,
    NO_QUESTION,
    NO_TRUTH,
    SUPPORTED,
    ReadSample,
    read_sample,
)
from tests.oracle.grounded_claims import Chunks, support
from tests.oracle.grounded_relevance import RELEVANT, Query, relevance
from tests.oracle.grounded_words import Reading

NO_RELEVANT_CHUNK = "no relevant chunk"
NO_NUMBERS = "no numbers"
NO_NAMES = "no names"

# What each needs besides an answer, in the order in which it is missed.
NEEDS = {
    "context_utilization": ("question", "contexts"),
    "noise_sensitivity": ("question", "contexts", "ground_truth"),
    "claim_recall": ("ground_truth",),
    "self_knowledge": ("contexts", "ground_truth"),
    "unsupported_numbers": ("contexts",),
    "unsupported_names": ("contexts",),
}
DIAGNOSTICS = tuple(NEEDS)


@dataclass
class Diagnosis:
    """Values by diagnostic, None where there is nothing to measure, with the reasons of nulls."""

    scores: dict[str, float | None] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def give(self, name: str, part: int, whole: int, without: str) -> None:
        """A share, and why it is none where there is nothing to have a share of."""
        self.scores[name] = part / whole if whole else None
        if not whole:
            self.reasons[name] = without


def diagnose(sample: Mapping[str, Any], language: str | None = None) -> Diagnosis:
    """All six; the language is the one given here, the sample's, or the detected one."""
    read = read_sample(sample, language or sample.get("language"))
    found = Diagnosis()
    for name, score in _SCORES.items():
        missing = _missing(read, NEEDS[name])
        if missing is None:
            score(read, found)
        else:
            found.scores[name] = None
            found.reasons[name] = missing
    return found


def _missing(sample: ReadSample, needs: Sequence[str]) -> str | None:
    if sample.answer is None or not sample.answer.norms:
        return NO_ANSWER
    if "question" in needs and sample.question is None:
        return NO_QUESTION
    if "contexts" in needs and sample.chunks is None:
        return NO_CONTEXTS
    if "ground_truth" in needs and not sample.truths:
        return NO_TRUTH
    return None


# ------------------------------------------------------------------------------------- carrying


def carried(claim: Reading, texts: Sequence[Reading], question: Reading | None) -> set[int]:
    """Numbers of the claim's sentences that at least one of some texts carries."""
    return {
        number
        for text in texts
        for number, sentence in enumerate(support(claim, Chunks([text]), question).sentences)
        if sentence.score >= SUPPORTED
    }


def _by_relevance(sample: ReadSample) -> tuple[list[Reading], list[Reading]]:
    """The chunks that are relevant to the question by itself, and the others."""
    assert sample.question is not None
    chunks = sample.chunks or []
    scores = relevance(Query(sample.question), chunks)
    pairs = list(zip(chunks, scores, strict=True))
    return (
        [chunk for chunk, score in pairs if score >= RELEVANT],
        [chunk for chunk, score in pairs if score < RELEVANT],
    )


def _utilization(sample: ReadSample, found: Diagnosis) -> None:
    """Of the relevant chunks, those that carry a sentence of the answer."""
    assert sample.answer is not None
    relevant, _ = _by_relevance(sample)
    used = [chunk for chunk in relevant if carried(sample.answer, [chunk], sample.question)]
    found.give("context_utilization", len(used), len(relevant), NO_RELEVANT_CHUNK)


def _noise(sample: ReadSample, found: Diagnosis) -> None:
    """Of the answer's sentences, those that irrelevant chunks carry and nothing better does."""
    assert sample.answer is not None
    relevant, irrelevant = _by_relevance(sample)
    answer, question = sample.answer, sample.question
    misled = carried(answer, irrelevant, question)
    misled -= carried(answer, [*relevant, *sample.truths], question)
    found.give("noise_sensitivity", len(misled), len(answer.text.sentences), "")


def _claim_recall(sample: ReadSample, found: Diagnosis) -> None:
    """Of a ground truth's sentences, those that the answer carries; of the best ground truth."""
    assert sample.answer is not None
    shares = [
        len(carried(truth, [sample.answer], sample.question)) / len(truth.text.sentences)
        for truth in sample.truths
    ]
    found.scores["claim_recall"] = max(shares)


def _self_knowledge(sample: ReadSample, found: Diagnosis) -> None:
    """Of the answer's sentences, those that a ground truth carries and no chunk does."""
    assert sample.answer is not None
    answer, question = sample.answer, sample.question
    known = carried(answer, sample.truths, question)
    known -= carried(answer, sample.chunks or [], question)
    found.give("self_knowledge", len(known), len(answer.text.sentences), "")


# -------------------------------------------------------------------------------------- figures


def _numbers(sample: ReadSample, found: Diagnosis) -> None:
    """As faithfulness counts them."""
    assert sample.answer is not None
    numbers = support(sample.answer, Chunks(sample.chunks or []), sample.question).numbers
    found.give("unsupported_numbers", numbers.wrong, numbers.n, NO_NUMBERS)


def _names(sample: ReadSample, found: Diagnosis) -> None:
    """As faithfulness counts them: each time, the word that opens a sentence aside."""
    assert sample.answer is not None
    names = support(sample.answer, Chunks(sample.chunks or []), sample.question).names
    found.give("unsupported_names", names.wrong, names.n, NO_NAMES)


_SCORES = {
    "context_utilization": _utilization,
    "noise_sensitivity": _noise,
    "claim_recall": _claim_recall,
    "self_knowledge": _self_knowledge,
    "unsupported_numbers": _numbers,
    "unsupported_names": _names,
}
