"""What the seven metrics of the `grounded` profile give for a sample, and when they give null."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.oracle.grounded_answers import correctness
from tests.oracle.grounded_characters import fold
from tests.oracle.grounded_claims import WEIGHTS, Chunks, Evidence, Losses, support
from tests.oracle.grounded_markup import begins_with_label
from tests.oracle.grounded_refusals import declines, only_refuses
from tests.oracle.grounded_relevance import RELEVANT, Query, average_precision, relevance
from tests.oracle.grounded_text import Text, clean, read, sentences, tokens
from tests.oracle.grounded_words import Reading, detect, detect_language, stem

__all__ = [
    "METRICS",
    "THRESHOLDS",
    "GroundedRow",
    "clean",
    "detect_language",
    "evaluate",
    "fold",
    "sentences",
    "stem",
    "tokens",
]

THRESHOLDS = {
    "faithfulness": 0.60,
    "hallucination_rate": 0.50,
    "context_recall": 0.60,
    "context_relevance": None,
    "context_precision": None,
    "answer_relevance": None,
    "answer_correctness": 0.40,
}
METRICS = tuple(THRESHOLDS)
SUPPORTED = 0.60  # a sentence that reaches it is no hallucination

NO_ANSWER = "no answer"
NO_QUESTION = "no question"
NO_TRUTH = "no ground truth"
NO_CONTEXTS = "no contexts given"
EMPTY_CONTEXTS = "no context"
EMPTY_ANSWER = "empty answer"
REFUSAL = "refusal"


class Refusal(NamedTuple):
    """An answer that declines: it says nothing else; relevant chunks were there."""

    only: bool
    answerable: bool


@dataclass
class GroundedRow:
    """Scores by metric, None where there is nothing to measure, with reasons of nulls and zeros.

    Evidence is that of the answer's sentences and of the first best ground truth's, which is
    ``best_truth`` of those given. ``losses`` are those of the answer as a whole. ``chunk_scores``
    are by the question, ``precision_scores`` as context_precision has them: by the question read
    with its own first best ground truth that claims something.
    """

    language: str
    scores: dict[str, float | None] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    chunk_scores: list[float] | None = None
    precision_scores: list[float] | None = None
    best_truth: int | None = None
    answer_sentences: list[Evidence] | None = None
    truth_sentences: list[Evidence] | None = None
    losses: Losses | None = None
    refusal: Refusal | None = None

    def give(self, score: float | None, reason: str | None, *metrics: str) -> None:
        for metric in metrics:
            self.scores[metric] = score
            if reason is not None:
                self.reasons[metric] = reason


@dataclass
class ReadSample:
    """A sample read in its language; a question without a token is none, a truth neither."""

    language: str
    question: Reading | None
    answer: Reading | None
    truths: list[Reading]
    truth_places: list[int]  # among those given
    chunks: list[Reading] | None

    def claims(self) -> list[Reading]:
        """The ground truths that do not only refuse, for which there is nothing to retrieve."""
        return [truth for truth in self.truths if not only_refuses(truth)]

    def blocked(self) -> tuple[float | None, str] | None:
        """Score and reason of whatever needs chunks, when they cannot be measured."""
        if self.chunks is None:
            return None, NO_CONTEXTS
        if not any(chunk.norms for chunk in self.chunks):
            return 0.0, EMPTY_CONTEXTS
        return None


def evaluate(
    sample: Mapping[str, Any], language: str | None = None, weights: Sequence[float] = WEIGHTS
) -> GroundedRow:
    """The language is the one given here, the sample's, or the detected one.

    The weights are those of faithfulness.
    """
    read_row = read_sample(sample, language or sample.get("language"))
    row = GroundedRow(read_row.language)
    chunks = Chunks(read_row.chunks or [])
    _score_answer_support(row, read_row, chunks, weights)
    _score_truth_support(row, read_row, chunks)
    _score_chunks(row, read_row)
    _score_answer_relevance(row, read_row)
    _score_correctness(row, read_row)
    _find_refusal(row, read_row)
    row.scores = {metric: row.scores[metric] for metric in METRICS}
    return row


def read_sample(sample: Mapping[str, Any], language: str | None) -> ReadSample:
    contexts = sample.get("contexts")
    strings = None if contexts is None else [context or "" for context in contexts]
    keep_square = any(map(begins_with_label, strings or []))

    def text_of(string: str | None) -> Text | None:
        return None if string is None else read(string, keep_square)

    question, answer = text_of(sample.get("question")), text_of(sample.get("answer"))
    given = [text_of(truth) for truth in _given_truths(sample.get("ground_truth"))]
    places = [i for i, truth in enumerate(given) if truth is not None and truth.tokens]
    truths = [truth for truth in given if truth is not None and truth.tokens]
    chunks = None if strings is None else [read(string, keep_square) for string in strings]
    known = [text for text in (question, answer) if text is not None]
    code = language or detect([*known, *truths, *(chunks or [])])
    return ReadSample(
        language=code,
        question=Reading(question, code) if question is not None and question.tokens else None,
        answer=None if answer is None else Reading(answer, code),
        truths=[Reading(truth, code) for truth in truths],
        truth_places=places,
        chunks=None if chunks is None else [Reading(chunk, code) for chunk in chunks],
    )


def _given_truths(given: str | Sequence[str | None] | None) -> Sequence[str | None]:
    return [given] if given is None or isinstance(given, str) else given


def _score_answer_support(
    row: GroundedRow, sample: ReadSample, chunks: Chunks, weights: Sequence[float]
) -> None:
    metrics = ("faithfulness", "hallucination_rate")
    blocked = sample.blocked()
    if sample.answer is None or not sample.answer.norms:
        row.give(None, NO_ANSWER, *metrics)
        return
    if blocked is None:
        found = support(sample.answer, chunks, sample.question, weights)
        row.answer_sentences = found.sentences
    if blocked is not None and blocked[1] == NO_CONTEXTS:
        row.give(*blocked, *metrics)
    elif only_refuses(sample.answer):
        row.give(None, REFUSAL, *metrics)
    elif blocked is not None:
        row.give(*blocked, *metrics)
    else:
        row.losses = found.losses
        row.give(found.score, None, "faithfulness")
        row.give(_share_carried(sample.answer, found.sentences), None, "hallucination_rate")


def _share_carried(answer: Reading, sentences: Sequence[Evidence]) -> float:
    """Labels of citations do not count, unless there is nothing else."""
    pairs = zip(answer.text.sentences, sentences, strict=True)
    counted = [found for sentence, found in pairs if not sentence.is_label] or sentences
    return sum(found.score >= SUPPORTED for found in counted) / len(counted)


def _score_truth_support(row: GroundedRow, sample: ReadSample, chunks: Chunks) -> None:
    blocked, claims = sample.blocked(), sample.claims()
    if not sample.truths:
        row.give(None, NO_TRUTH, "context_recall")
    elif not claims:
        row.give(None, REFUSAL, "context_recall")
    elif blocked is not None:
        row.give(*blocked, "context_recall")
    else:
        found = [support(truth, chunks, sample.question) for truth in claims]
        best = _first_best([one.score for one in found])
        places = dict(zip(map(id, sample.truths), sample.truth_places, strict=True))
        row.best_truth = places[id(claims[best])]
        row.truth_sentences = found[best].sentences
        row.give(found[best].score, None, "context_recall")


def _first_best(scores: Sequence[float]) -> int:
    return scores.index(max(scores))


def _score_chunks(row: GroundedRow, sample: ReadSample) -> None:
    metrics = ("context_relevance", "context_precision")
    blocked = sample.blocked()
    chunks = sample.chunks or []
    if sample.question is None:
        row.give(None, NO_QUESTION, *metrics)
    elif blocked is not None:
        row.give(*blocked, *metrics)
        row.chunk_scores = None if sample.chunks is None else [0.0] * len(chunks)
    else:
        row.chunk_scores = relevance(Query(sample.question), chunks)
        relevant = [score for score in row.chunk_scores if score >= RELEVANT]
        row.give(len(relevant) / len(chunks), None, "context_relevance")
        queries = [Query(sample.question, truth) for truth in sample.claims()]
        found = [relevance(query, chunks) for query in queries or [Query(sample.question)]]
        precisions = [average_precision(scores) for scores in found]
        row.precision_scores = found[_first_best(precisions)]
        row.give(max(precisions), None, "context_precision")


def _score_answer_relevance(row: GroundedRow, sample: ReadSample) -> None:
    if sample.question is None:
        row.give(None, NO_QUESTION, "answer_relevance")
    elif sample.answer is None:
        row.give(None, NO_ANSWER, "answer_relevance")
    elif not sample.answer.norms:
        row.give(0.0, EMPTY_ANSWER, "answer_relevance")
    elif declines(sample.answer):
        row.give(0.0, REFUSAL, "answer_relevance")
    else:
        (score,) = relevance(Query(sample.question), [sample.answer])
        row.give(score, None, "answer_relevance")


def _score_correctness(row: GroundedRow, sample: ReadSample) -> None:
    if not sample.truths:
        row.give(None, NO_TRUTH, "answer_correctness")
    elif sample.answer is None:
        row.give(None, NO_ANSWER, "answer_correctness")
    elif not sample.answer.norms:
        row.give(0.0, EMPTY_ANSWER, "answer_correctness")
    else:
        answer, question = sample.answer, sample.question
        best = max(correctness(answer, truth, question) for truth in sample.truths)
        row.give(best, None, "answer_correctness")


def _find_refusal(row: GroundedRow, sample: ReadSample) -> None:
    if sample.answer is not None and declines(sample.answer):
        relevant = any(score >= RELEVANT for score in row.chunk_scores or [])
        claimed = len(sample.claims()) == len(sample.truths)
        row.refusal = Refusal(only_refuses(sample.answer), claimed and relevant)
