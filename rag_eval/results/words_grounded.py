"""The texts of the grounded profile: the parts of a row's scores -> explanations, signals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple, Protocol

import numpy as np

from rag_eval.kernels.columns import SampleBatch
from rag_eval.kernels.scoring import Evidence, GroundedDetails, Sentences
from rag_eval.kernels.settings import SHIPPED_WEIGHTS, GroundedSettings
from rag_eval.metrics.ids import ALL_METRIC_IDS
from rag_eval.metrics.seven import GROUNDED_METRICS
from rag_eval.plumbing.javascript_numbers import three_decimals
from rag_eval.plumbing.spelling import camel_case, counted, some_are
from rag_eval.results.row import Refusal
from rag_eval.results.words_overlap import (
    SENTENCE_SIGNALS,
    Said,
    SaidSignal,
    chunk_signals,
    low_score,
)
from rag_eval.samples import MetricId

RELEVANT: Final = 0.30
"""Relevance from which a chunk counts as relevant."""
SENTENCE_CUT: Final = 0.60
"""Support below which a sentence counts as not supported."""


REFUSED_ALTHOUGH: Final = "Refused although relevant contexts were retrieved"
"""The signal for an answer that declines although it need not."""
_OF_ANSWER: Final[tuple[MetricId, ...]] = ("faithfulness", "hallucination_rate")
_NUMBERS: Final = {metric: number for number, metric in enumerate(ALL_METRIC_IDS)}


class Cause(IntEnum):
    """Why a score is null, or 0 without counting; the kernels' numbers."""

    COUNTED = 0
    NO_ANSWER = 1
    NO_CONTEXTS = 2
    NO_CONTEXT = 3
    NO_TRUTH = 4
    NO_QUESTION = 5
    EMPTY_ANSWER = 6
    REFUSAL = 7
    NO_RELEVANT_CHUNK = 8
    NO_NUMBERS = 9
    NO_NAMES = 10


_CAUSES: Final = {
    Cause.NO_ANSWER: "No answer text to evaluate.",
    Cause.NO_CONTEXTS: "No contexts given.",
    Cause.NO_CONTEXT: "The contexts contain no words, so nothing can support the text.",
    Cause.NO_TRUTH: "No ground truth text to evaluate.",
    Cause.NO_QUESTION: "No question text to evaluate.",
    Cause.EMPTY_ANSWER: "The answer contains no words.",
    Cause.REFUSAL: "The answer declines to answer.",
    Cause.NO_RELEVANT_CHUNK: "No context is relevant to the question.",
    Cause.NO_NUMBERS: "The answer contains no numbers.",
    Cause.NO_NAMES: "The answer contains no names.",
}


@dataclass
class RowFacts:
    """One scored row: its score details and what of its texts is quoted.

    Without ``quotes`` nothing is said about single sentences, which takes the most time.
    """

    details: GroundedDetails
    answer: str
    truths: Sequence[str]
    n_chunks: int
    has_fitted_weights: bool
    quotes: bool = True

    @cached_property
    def answer_evidence(self) -> _Claims:
        """That of faithfulness and of hallucination_rate."""
        return self.claims(self.details.answer, self.answer)

    def claims(self, sentences: Sentences | None, text: str) -> _Claims:
        """Sentences of a text with what chunks have of them; none without quotes."""
        return _claims(sentences or [], text) if self.quotes else _NO_CLAIMS

    @property
    def truth(self) -> str:
        """The ground truth that context_recall took."""
        return self.truths[self.details.best_truth or 0]

    def said(self, metrics: Iterable[MetricId]) -> dict[MetricId, Said]:
        """Explanations, signals and details for the scores of some metrics of a row."""
        return {metric: _said(metric, self) for metric in metrics}


class Lacking(Protocol):
    """A sentence with what the contexts do not have of it."""

    @property
    def missing_numbers(self) -> Sequence[str]: ...
    @property
    def contradiction(self) -> tuple[str, str] | None: ...
    @property
    def missing_names(self) -> Sequence[str]: ...
    @property
    def far_names(self) -> Sequence[tuple[str, str]]: ...


def missing_words(found: Lacking, place: str) -> list[str]:
    """``the sentence says 50, the context 40``, ``numbers in no context: 7``, the same of names."""
    words, opposed, numbers = [], found.contradiction, found.missing_numbers
    if opposed is not None:
        words.append(f"the sentence says {opposed[0]}, the {place} {opposed[1]}")
        numbers = [number for number in numbers if number != opposed[0]]
    if numbers:
        words.append(f"numbers in no {place}: {', '.join(numbers)}")
    if found.missing_names:
        words.append(f"names in no {place}: {', '.join(found.missing_names)}")
    if found.far_names:
        far = ", ".join(f"{left} and {right}" for left, right in found.far_names)
        words.append(f"names far from each other: {far}")
    return words


def _window(found: Evidence) -> str:
    if found.chunk is None or found.window is None:
        return "no context shares its content words"
    begin, end = found.window
    return (
        f"best match in context {found.chunk}, characters {begin} to {end}, with "
        f"{round(100 * found.covered)} % of the sentence's content words"
    )


class _Claims(NamedTuple):
    """Sentences of a text, and of those below the cut that claim something what chunks have.

    ``low`` has the place of each, its remark, its text and its chunk.
    """

    evidence: Sentences
    low: list[tuple[int, str, str, int | None]]


def _claims(sentences: Sentences, text: str) -> _Claims:
    low = []
    for place, found in enumerate(map(Evidence._make, sentences)):
        if found.support < SENTENCE_CUT and not found.no_claim:
            lacking = "; ".join([_window(found), *missing_words(found, "context")])
            message = f"Low support ({three_decimals(found.support)}): {lacking}."
            low.append((place, message, text[slice(*found.span)], found.chunk))
    return _Claims(sentences, low)


def _of_sentences(
    metric: MetricId, words: str, claims: _Claims, losses: Sequence[float] | None = None
) -> Said:
    """One signal per sentence below the cut that claims something: what the chunks have of it."""
    signal, severity = SENTENCE_SIGNALS[metric]
    name = camel_case(metric)
    signals = [
        (f"{signal}-{place}", name, severity, message, sentence, chunk)
        for place, message, sentence, chunk in claims.low
    ]
    return Said(words, signals, evidence=claims.evidence, losses=losses)


_NO_CLAIMS: Final = _Claims([], [])


def _faithfulness(facts: RowFacts, score: float) -> Said:
    sentences = facts.details.answer or []
    # Its one sentence may have another score than the answer.
    weighed = ", with weights fitted to labels" if facts.has_fitted_weights else ""
    words = (
        f"Support of {counted(len(sentences), 'answer sentence')} by the contexts{weighed}: "
        f"{three_decimals(score)}. A low score is strong evidence of an unsupported answer; a high "
        "score is only weak evidence of a supported one."
    )
    return _of_sentences("faithfulness", words, facts.answer_evidence, facts.details.losses)


def _hallucination_rate(facts: RowFacts, score: float) -> Said:
    words = (
        f"Share of answer sentences with a support of at least 0.60: {three_decimals(score)} (1 "
        "means no hallucination; citation labels are not counted)."
    )
    return _of_sentences("hallucination_rate", words, facts.answer_evidence)


def _context_recall(facts: RowFacts, score: float) -> Said:
    sentences, n_truths = facts.details.truth or [], len(facts.truths)
    which = f" (ground truth {facts.details.best_truth} of {n_truths}, counted from 0)"
    words = (
        f"Support of {counted(len(sentences), 'ground truth sentence')} by the contexts"
        f"{which if n_truths > 1 else ''}: {three_decimals(score)}."
    )
    return _of_sentences("context_recall", words, facts.claims(sentences, facts.truth))


def _context_relevance(facts: RowFacts, score: float) -> Said:
    chunks = facts.details.chunk_scores or []
    low = [str(index) for index, value in enumerate(chunks) if value < RELEVANT]
    n_relevant = len(chunks) - len(low)
    low_ones = f"Relevance below 0.30: context{'s' if len(low) > 1 else ''} {', '.join(low)}."
    return Said(
        f"{some_are(n_relevant, len(chunks), 'context')} relevant to the question "
        f"(relevance of at least 0.30): {three_decimals(score)}.",
        chunk_signals("context_relevance", low_ones, low),
        chunks,
    )


def _low(metric: MetricId, score: float) -> Sequence[SaidSignal]:
    # The default: thresholds of the caller move verdicts, not signals.
    threshold = GROUNDED_METRICS[metric].threshold
    return () if threshold is None else low_score(metric, score, threshold)


def _context_precision(facts: RowFacts, score: float) -> Said:
    read_with = " and the ground truth" if facts.truths else ""
    return Said(
        f"Average precision of the order of the contexts: {three_decimals(score)}. A context "
        f"counts as relevant if its relevance to the question{read_with} is at least 0.30.",
        _low("context_precision", score),
        facts.details.precision_scores or (),
    )


def _answer_relevance(facts: RowFacts, score: float) -> Said:
    return Said(
        f"From shared words and the kind of answer: {three_decimals(score)}. This is weak "
        "evidence: it cannot tell a right answer from a wrong one.",
        _low("answer_relevance", score),
    )


def _answer_correctness(facts: RowFacts, score: float) -> Said:
    several = f" (best of {len(facts.truths)})" if len(facts.truths) > 1 else ""
    return Said(
        f"Agreement of the answer's words and letters with the ground truth{several}: "
        f"{three_decimals(score)}.",
        _low("answer_correctness", score),
    )


_EXPLAINED: Final[dict[MetricId, Callable[[RowFacts, float], Said]]] = {
    "faithfulness": _faithfulness,
    "answer_relevance": _answer_relevance,
    "context_precision": _context_precision,
    "context_recall": _context_recall,
    "context_relevance": _context_relevance,
    "answer_correctness": _answer_correctness,
    "hallucination_rate": _hallucination_rate,
}


def facts_of_rows(
    rows: Sequence[GroundedDetails], batch: SampleBatch, settings: GroundedSettings
) -> list[RowFacts]:
    """What there is to say of the rows of a batch."""
    assert batch.grounded is not None
    truths, has_fitted_weights = batch.ground_truth.all_texts(), settings.weights != SHIPPED_WEIGHTS
    columns = (
        rows,
        batch.answer.all_texts(),
        pairwise(batch.grounded.row_truths.tolist()),
        np.diff(batch.row_contexts).tolist(),
    )
    return [
        RowFacts(details, answer, truths[begin:end], n_chunks, has_fitted_weights)
        for details, answer, (begin, end), n_chunks in zip(*columns, strict=True)
    ]


def _said(metric: MetricId, facts: RowFacts) -> Said:
    number = _NUMBERS[metric]
    if facts.details.causes[number] != Cause.COUNTED:
        cause = Cause(facts.details.causes[number])
        is_null = facts.details.reasons[number] != 0
        signals = () if is_null else _zero_signal(metric, cause)
        return _with_details(
            Said(_cause_words(metric, cause, facts), signals), metric, cause, facts
        )
    score = facts.details.scores[number]
    if metric in _EXPLAINED:
        return _EXPLAINED[metric](facts, score)
    spec = GROUNDED_METRICS[metric]  # a diagnostic
    direction = "higher" if spec.higher_is_better else "lower"
    return Said(f"{spec.summary}: {three_decimals(score)} ({direction} is better).")


def _cause_words(metric: MetricId, cause: Cause, facts: RowFacts) -> str:
    refusal = facts.details.refusal
    if cause is Cause.REFUSAL and metric == "context_recall":
        return "The ground truth only declines to answer, so there is nothing to retrieve."
    if cause is Cause.REFUSAL and refusal is not None and refusal[1]:
        return f"{_CAUSES[cause]} {REFUSED_ALTHOUGH}."
    return _CAUSES[cause]


def evidence_of(details: GroundedDetails, metrics: Iterable[MetricId]) -> Sequence[Evidence]:
    """The sentences that the first of some metrics was scored by; none where none was."""
    for metric in metrics:
        cause = details.causes[_NUMBERS[metric]]
        if metric in _OF_ANSWER:
            if cause in (Cause.COUNTED, Cause.REFUSAL) and details.answer is not None:
                return [*map(Evidence._make, details.answer)]
        elif cause == Cause.COUNTED and details.truth is not None:
            return [*map(Evidence._make, details.truth)]
    return ()


def refusal_of(details: GroundedDetails) -> Refusal | None:
    """What the answer does, where it declines."""
    return None if details.refusal is None else Refusal(*details.refusal)


def _zero_signal(metric: MetricId, cause: Cause) -> Sequence[SaidSignal]:
    """A score of 0 that no counting gave is a finding of its own."""
    signal = f"{metric}-{cause.name.lower()}".replace("_", "-")
    message = _CAUSES[cause]
    return ((signal, camel_case(metric), "warning", message, None, None),)


def _with_details(said: Said, metric: MetricId, cause: Cause, facts: RowFacts) -> Said:
    """Chunks without a word have a relevance of 0 each, where there is a question.

    The sentences of an answer that only refuses keep their evidence.
    """
    if cause == Cause.REFUSAL and metric in _OF_ANSWER and facts.details.answer is not None:
        return said._replace(evidence=facts.answer_evidence.evidence)
    if metric in ("context_relevance", "context_precision") and cause == Cause.NO_CONTEXT:
        return said._replace(chunk_scores=(0.0,) * facts.n_chunks)
    return said
