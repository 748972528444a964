"""How well an answer agrees with a ground truth in the `grounded` profile."""

from __future__ import annotations

from tests.oracle.grounded_claims import clamped, is_number
from tests.oracle.grounded_refusals import is_a, only_refuses
from tests.oracle.grounded_words import Reading

SHORT_TRUTH = 10  # tokens; the letters of a longer one say less
SAME_POLARITY, OTHER_POLARITY, OTHER_NUMBERS = 0.40, 0.50, 0.70


def letter_trigrams(reading: Reading) -> set[str]:
    """Of the words with one blank around each."""
    letters = f" {' '.join(reading.text.runs)} "
    return {letters[i : i + 3] for i in range(len(letters) - 2)}


def correctness(answer: Reading, truth: Reading, question: Reading | None) -> float:
    """F1 of stems, mixed with the share of the truth's letter trigrams that the answer has.

    Then yes and no count, and numbers. Of two texts that only refuse, one is as good as the other.
    """
    if only_refuses(answer) and only_refuses(truth):
        return 1.0
    score = _agreement(answer, truth, question)
    sides = polarity(answer) * polarity(truth)
    if sides > 0:
        score += SAME_POLARITY * (1 - score)
    elif sides < 0:
        score *= OTHER_POLARITY
    given, wanted = stated_numbers(answer), stated_numbers(truth)
    if given and wanted and given.isdisjoint(wanted):
        score *= OTHER_NUMBERS
    return score


def _agreement(answer: Reading, truth: Reading, question: Reading | None) -> float:
    given = set(question.stems) if question is not None else set()
    f1 = _f1(_share(truth, answer, given), _share(answer, truth, given))
    trigrams = letter_trigrams(truth)
    found = len(trigrams & letter_trigrams(answer)) / len(trigrams)
    return clamped(f1 + min(1.0, SHORT_TRUTH / len(truth.norms)) / 2 * (found - f1))


def polarity(text: Reading) -> int:
    """1 for an English text that opens with yes, -1 for no; not "no one" and "no 5"."""
    if text.language != "en" or not text.norms:
        return 0
    opening, following = (*text.norms, "")[:2]
    if is_a(opening, "yes"):
        return 1
    is_no = opening == "no" and not is_a(following, "no_answer")
    if is_no and following and is_number(following):
        return 0
    return -1 if is_no or is_a(opening, "nay") else 0


def stated_numbers(text: Reading) -> set[float | str]:
    """Values of numbers in digits; one without a value stands for itself."""
    places = [i for i, word in enumerate(text.words) if is_number(word)]
    values = text.numbers.values
    stated: set[float | str] = {v for i in places for v in values.get(i, (text.words[i],))}
    return stated | {value for _, _, value in text.numbers.readings} if stated else stated


def _share(part: Reading, whole: Reading, given: set[str]) -> float:
    """Of a text's content types in the other; what the question gave away counts for nothing."""
    types = set(part.content_stems())
    types = types - given or types
    return len(types.intersection(whole.stems)) / len(types)


def _f1(recall: float, precision: float) -> float:
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0
