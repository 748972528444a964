"""Answers in the `grounded` profile: which ones refuse, how well one agrees with a ground truth."""

from __future__ import annotations

from tests.oracle.grounded_claims import clamped
from tests.oracle.grounded_lists import REFUSALS
from tests.oracle.grounded_words import Reading

SHORT_TRUTH = 10  # tokens; the letters of a longer one say less


def is_refusal(answer: Reading) -> bool:
    """English only; the first sentence decides, word by word."""
    if answer.language != "en" or not answer.text.sentences:
        return False
    sentence = answer.text.sentences[0]
    words = f" {' '.join(answer.norms[sentence.first : sentence.last])} "
    return any(f" {refusal} " in words for refusal in REFUSALS)


def letter_trigrams(reading: Reading) -> set[str]:
    """Of the words with one blank around each."""
    letters = f" {' '.join(reading.text.runs)} "
    return {letters[i : i + 3] for i in range(len(letters) - 2)}


def correctness(answer: Reading, truth: Reading, question: Reading | None) -> float:
    """F1 of stems, mixed with the share of the truth's letter trigrams that the answer has."""
    given = set(question.stems) if question is not None else set()
    f1 = _f1(_share(truth, answer, given), _share(answer, truth, given))
    trigrams = letter_trigrams(truth)
    found = len(trigrams & letter_trigrams(answer)) / len(trigrams)
    return clamped(f1 + min(1.0, SHORT_TRUTH / len(truth.norms)) / 2 * (found - f1))


def _share(part: Reading, whole: Reading, given: set[str]) -> float:
    """Of a text's content types in the other; what the question gave away counts for nothing."""
    types = set(part.content_stems())
    types = types - given or types
    return len(types.intersection(whole.stems)) / len(types)


def _f1(recall: float, precision: float) -> float:
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0
