"""The texts of the grounded profile: the parts of a row's scores -> explanations, signals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Final, NamedTuple, Protocol, TypeAlias

import numpy as np

from rag_eval.kernels.columns import SampleBatch
from rag_eval.kernels.scoring import Evidence, GroundedDetails, Sentences
from rag_eval.kernels.settings import SHIPPED_WEIGHTS, GroundedSettings
from rag_eval.metrics.ids import ALL_METRIC_IDS
from rag_eval.metrics.seven import GROUNDED_METRICS
from rag_eval.plumbing.spelling import counted, some_are
from rag_eval.results.row import Refusal
from rag_eval.results.words_overlap import (
    SENTENCE_SIGNALS,
    Parts,
    Said,
    SaidSignal,
    SignalKind,
    listed,
    low_score,
    places_below,
    sentence_kind,
)
from rag_eval.samples import MetricId, NullReason, lack_of

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


# A field that is missing, or without a word.
_FIELDS: Final = {
    Cause.NO_ANSWER: "answer",
    Cause.NO_TRUTH: "ground truth",
    Cause.NO_QUESTION: "question",
}
_CAUSES: Final = {
    Cause.NO_CONTEXTS: "The sample has no contexts.",
    Cause.NO_CONTEXT: "The contexts contain no words, so nothing can support the text.",
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

    def unquoted(self) -> RowFacts:
        """The same without quotes; ``replace`` of dataclasses takes longer than the words."""
        facts = self.details, self.answer, self.truths, self.n_chunks
        return RowFacts(*facts, self.has_fitted_weights, quotes=False)

    @property
    def truth(self) -> str:
        """The ground truth that context_recall took."""
        return self.truths[self.details.best_truth or 0]

    def said(self, metrics: tuple[MetricId, ...]) -> list[Said]:
        """What is said of the scores of some metrics of a row."""
        causes, scores = self.details.causes, self.details.scores
        return [
            _null(metric, Cause(causes[number]), self)
            if causes[number]
            else say(self, scores[number])
            for metric, number, say in _sayers(metrics)
        ]


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

    ``low`` has the place of each, the values of its signal, its text and its chunk.
    """

    evidence: Sentences
    low: list[tuple[int, tuple[float, str], str, int | None]]


_SUPPORT, _NO_CLAIM = Evidence._fields.index("support"), Evidence._fields.index("no_claim")


def _claims(sentences: Sentences, text: str) -> _Claims:
    low = []
    for place, fields in enumerate(sentences):
        if fields[_SUPPORT] < SENTENCE_CUT and not fields[_NO_CLAIM]:
            found = Evidence._make(fields)
            lacking = "; ".join([_window(found), *missing_words(found, "context")])
            values = found.support, lacking
            low.append((place, values, text[slice(*found.span)], found.chunk))
    return _Claims(sentences, low)


_LOW_SUPPORT: Final = {
    metric: sentence_kind(metric, "Low support (%s): %s.", quotes=True)
    for metric in SENTENCE_SIGNALS
}


def _of_sentences(metric: MetricId, claims: _Claims) -> Sequence[SaidSignal]:
    """One signal per sentence below the cut that claims something: what the chunks have of it."""
    kind = _LOW_SUPPORT[metric]
    return [(kind, values, place, text, chunk) for place, values, text, chunk in claims.low]


_NO_CLAIMS: Final = _Claims([], [])
_FAITHFULNESS: Final = (
    "Support of %s by the contexts{}: %s. A low score is strong evidence of an unsupported answer; "
    "a high score is only weak evidence of a supported one."
)
# Its one sentence may have another score than the answer.
_FITTED: Final = _FAITHFULNESS.format(", with weights fitted to labels")
_SHIPPED: Final = _FAITHFULNESS.format("")


def _faithfulness(facts: RowFacts, score: float) -> Said:
    sentences, claims = facts.details.answer or [], facts.answer_evidence
    return (
        _FITTED if facts.has_fitted_weights else _SHIPPED,
        (counted(len(sentences), "answer sentence"), score),
        _of_sentences("faithfulness", claims),
        (None, claims.evidence, facts.details.losses),
    )


def _hallucination_rate(facts: RowFacts, score: float) -> Said:
    claims = facts.answer_evidence
    return (
        "Share of answer sentences with a support of at least 0.60: %s (1 means no hallucination; "
        "citation labels are not counted).",
        (score,),
        _of_sentences("hallucination_rate", claims),
        (None, claims.evidence, None),
    )


def _context_recall(facts: RowFacts, score: float) -> Said:
    sentences, n_truths = facts.details.truth or [], len(facts.truths)
    claims = facts.claims(sentences, facts.truth)
    which = ""
    if n_truths > 1:
        which = f" (ground truth {facts.details.best_truth} of {n_truths}, counted from 0)"
    return (
        "Support of %s by the contexts%s: %s.",
        (
            counted(len(sentences), "ground truth sentence"),
            which,
            score,
        ),
        _of_sentences("context_recall", claims),
        (None, claims.evidence, None),
    )


_IRRELEVANT: Final = SignalKind.named(
    "context_relevance", "irrelevant-chunks", "info", "Relevance below 0.30: context%s."
)


def _context_relevance(facts: RowFacts, score: float) -> Said:
    chunks = facts.details.chunk_scores or []
    low = places_below(chunks, RELEVANT)
    n_relevant = len(chunks) - len(low)
    if low:
        low[0] = f"s {low[0]}" if len(low) > 1 else f" {low[0]}"
    return (
        "%s relevant to the question (relevance of at least 0.30): %s.",
        (some_are(n_relevant, len(chunks), "context"), score),
        listed(_IRRELEVANT, low),
        (chunks, None, None),
    )


def _low(metric: MetricId, score: float) -> Sequence[SaidSignal]:
    # The default: thresholds of the caller move verdicts, not signals.
    threshold = GROUNDED_METRICS[metric].threshold
    return () if threshold is None else low_score(metric, score, threshold)


def _context_precision(facts: RowFacts, score: float) -> Said:
    return (
        "Average precision of the order of the contexts: %s. A context counts as relevant if its "
        "relevance to the question%s is at least 0.30.",
        (score, " and the ground truth" if facts.truths else ""),
        _low("context_precision", score),
        (facts.details.precision_scores or (), None, None),
    )


def _answer_relevance(facts: RowFacts, score: float) -> Said:
    return (
        "From shared words and the kind of answer: %s. This is weak evidence: it cannot tell a "
        "right answer from a wrong one.",
        (score,),
        _low("answer_relevance", score),
        None,
    )


def _answer_correctness(facts: RowFacts, score: float) -> Said:
    several = f" (best of {len(facts.truths)})" if len(facts.truths) > 1 else ""
    return (
        "Agreement of the answer's words and letters with the ground truth%s: %s.",
        (several, score),
        _low("answer_correctness", score),
        None,
    )


_Say: TypeAlias = Callable[[RowFacts, float], Said]
_EXPLAINED: Final[dict[MetricId, _Say]] = {
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


@lru_cache(64)
def _sayers(metrics: tuple[MetricId, ...]) -> list[tuple[MetricId, int, _Say]]:
    """Each metric with its number and what tells of its score."""
    return [(one, _NUMBERS[one], _EXPLAINED.get(one) or _diagnostic(one)) for one in metrics]


def _diagnostic(metric: MetricId) -> _Say:
    spec = GROUNDED_METRICS[metric]
    direction = "higher" if spec.higher_is_better else "lower"
    words = f"{spec.summary.replace('%', '%%')}: %s ({direction} is better)."
    return lambda _facts, score: (words, (score,), (), None)


def _null(metric: MetricId, cause: Cause, facts: RowFacts) -> Said:
    """What is said of a score that no counting gave."""
    is_null = facts.details.reasons[_NUMBERS[metric]] != 0
    signals = () if is_null else ((_zero_kind(metric, cause), (), None, None, None),)
    return _cause_words(metric, cause, facts), (), signals, _null_parts(metric, cause, facts)


def _cause_words(metric: MetricId, cause: Cause, facts: RowFacts) -> str:
    refusal = facts.details.refusal
    if cause in _FIELDS:
        reason = NullReason(facts.details.reasons[_NUMBERS[metric]])
        return lack_of(_FIELDS[cause], reason)
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


@lru_cache(64)
def _zero_kind(metric: MetricId, cause: Cause) -> SignalKind:
    """A score of 0 that no counting gave is a finding of its own."""
    name = cause.name.lower().replace("_", "-")
    return SignalKind.named(metric, name, "warning", _CAUSES[cause])


def _null_parts(metric: MetricId, cause: Cause, facts: RowFacts) -> Parts | None:
    """Chunks without a word have a relevance of 0 each, where there is a question.

    The sentences of an answer that only refuses keep their evidence.
    """
    if cause == Cause.REFUSAL and metric in _OF_ANSWER and facts.details.answer is not None:
        return None, facts.answer_evidence.evidence, None
    if metric in ("context_relevance", "context_precision") and cause == Cause.NO_CONTEXT:
        return (0.0,) * facts.n_chunks, None, None
    return None
