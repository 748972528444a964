"""The texts of the grounded profile: the parts of a row's scores -> explanations, signals."""

from __future__ import annotations

import math
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
from rag_eval.metrics.ids import ALL_METRIC_IDS, METRIC_NUMBERS, OF_ANSWER
from rag_eval.metrics.seven import GROUNDED_METRICS
from rag_eval.results import words_overlap
from rag_eval.results.row import Refusal
from rag_eval.results.words_overlap import (
    ABOUT_CAUSE,
    ABOUT_CONTEXT,
    ABOUT_CONTEXTS,
    ABOUT_SCORE,
    ABOUT_SENTENCE,
    LOW_SCORES,
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

    @property
    def answer_evidence(self) -> _Claims:
        """That of faithfulness and of hallucination_rate."""
        return self._answer_claims if self.quotes else _NO_CLAIMS

    @cached_property
    def _answer_claims(self) -> _Claims:
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


_PAIR: Final = " and "
_NO_WINDOW: Final = "no context shares its content words"
_WINDOW: Final = (
    "best match in context %s, characters %s to %s, with %s %% of the sentence's content words"
)
_OPPOSED: Final = "the sentence says %s, the context %s"
_NO_NUMBERS: Final = "numbers in no context: %s"
_NO_NAMES: Final = "names in no context: %s"
_FAR_NAMES: Final = "names far from each other: %s"
PHRASES: Final = (
    *words_overlap.PHRASES,
    *("; ", _PAIR, _NO_WINDOW, _WINDOW),
    *(_OPPOSED, _NO_NUMBERS, _NO_NAMES, _FAR_NAMES),
)
"""What is said of a sentence with too little support, in the order in which kernels know it."""


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


def missing_words(found: Lacking) -> list[str]:
    """``the sentence says 50, the context 40``, ``numbers in no context: 7``, the same of names."""
    words, opposed, numbers = [], found.contradiction, found.missing_numbers
    if opposed is not None:
        words.append(_OPPOSED % opposed)
        numbers = [number for number in numbers if number != opposed[0]]
    if numbers:
        words.append(_NO_NUMBERS % ", ".join(numbers))
    if found.missing_names:
        words.append(_NO_NAMES % ", ".join(found.missing_names))
    if found.far_names:
        words.append(_FAR_NAMES % ", ".join(map(_PAIR.join, found.far_names)))
    return words


def _window(found: Evidence) -> str:
    if found.chunk is None or found.window is None:
        return _NO_WINDOW
    return _WINDOW % (found.chunk, *found.window, round(100 * found.covered))


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
            lacking = "; ".join([_window(found), *missing_words(found)])
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
_PLURAL, _SEVERAL, _NULL = 1, 2, 8
_MEASURED: Final = int(NullReason.MEASURED)  # an enumeration is hashed by Python code


def _both(words: str, noun: str) -> tuple[str, str]:
    """Words about one of something, and about several."""
    return words.replace("{nouns}", noun), words.replace("{nouns}", f"{noun}s")


_FAITHFULNESS: Final = (
    "Support of %s {nouns} by the contexts{fitted}: %s. A low score is strong evidence of an "
    "unsupported answer; a high score is only weak evidence of a supported one."
)
_RECALL: Final = "Support of %s {nouns} by the contexts{which}: %s."
_RELEVANCE: Final = (
    "%s of %s {nouns} {are} relevant to the question (relevance of at least 0.30): %s."
)
_PRECISION: Final = (
    "Average precision of the order of the contexts: %s. A context counts as relevant if its "
    "relevance to the question{truth} is at least 0.30."
)
_CORRECTNESS: Final = "Agreement of the answer's words and letters with the ground truth{best}: %s."
_OTHERS: Final[dict[MetricId, str]] = {
    "hallucination_rate": "Share of answer sentences with a support of at least 0.60: %s (1 means "
    "no hallucination; citation labels are not counted).",
    "answer_relevance": "From shared words and the kind of answer: %s. This is weak evidence: it "
    "cannot tell a right answer from a wrong one.",
}


@lru_cache(256)
def metric_words(metric: MetricId, variant: int, reason: int, has_fitted_weights: bool) -> str:
    """Those words of a metric that kernels name by a number, with ``%s`` for each value."""
    if variant >= _NULL:
        cause, although = divmod(variant - _NULL, 2)
        return _cause_words(metric, Cause(cause), NullReason(reason), although=bool(although))
    is_plural, several = bool(variant & _PLURAL), bool(variant & _SEVERAL)
    if metric == "faithfulness":
        # Its one sentence may have another score than the answer.
        fitted = ", with weights fitted to labels" if has_fitted_weights else ""
        return _both(_FAITHFULNESS, "answer sentence")[is_plural].replace("{fitted}", fitted)
    if metric == "context_recall":
        which = " (ground truth %s of %s, counted from 0)" if several else ""
        return _both(_RECALL, "ground truth sentence")[is_plural].replace("{which}", which)
    if metric == "context_relevance":
        return _both(_RELEVANCE, "context")[is_plural].replace("{are}", "are" if several else "is")
    if metric == "context_precision":
        return _PRECISION.replace("{truth}", " and the ground truth" if several else "")
    if metric == "answer_correctness":
        return _CORRECTNESS.replace("{best}", " (best of %s)" if several else "")
    return _OTHERS.get(metric) or _diagnostic_words(metric)


def _words(
    metric: MetricId, facts: RowFacts, *, plural: bool = False, several: bool = False
) -> str:
    variant = plural * _PLURAL + several * _SEVERAL
    return metric_words(metric, variant, _MEASURED, facts.has_fitted_weights)


def signal_kind(metric: MetricId, about: int) -> SignalKind:
    """Signals that kernels name by the number of what they are about."""
    if about == ABOUT_SENTENCE:
        return _LOW_SUPPORT[metric]
    if about == ABOUT_SCORE:
        return LOW_SCORES[metric]
    if about == ABOUT_CONTEXTS:
        return _ALL_IRRELEVANT
    return _IRRELEVANT if about == ABOUT_CONTEXT else _zero_kind(metric, Cause(about - ABOUT_CAUSE))


def signal_limits() -> tuple[float, ...]:
    """The limits by which kernels find signals and count; NaN where no score is low.

    Of scores they are the defaults: thresholds of the caller move verdicts, not signals.
    """
    low = [GROUNDED_METRICS[one].threshold if one in LOW_SCORES else None for one in ALL_METRIC_IDS]
    return (SENTENCE_CUT, RELEVANT, *(math.nan if one is None else one for one in low))


def _faithfulness(facts: RowFacts, score: float) -> Said:
    sentences, claims = facts.details.answer or [], facts.answer_evidence
    return (
        _words("faithfulness", facts, plural=len(sentences) != 1),
        (f"{len(sentences):,}", score),
        _of_sentences("faithfulness", claims),
        (None, claims.evidence, facts.details.losses),
    )


def _hallucination_rate(facts: RowFacts, score: float) -> Said:
    claims = facts.answer_evidence
    return (
        _words("hallucination_rate", facts),
        (score,),
        _of_sentences("hallucination_rate", claims),
        (None, claims.evidence, None),
    )


def _context_recall(facts: RowFacts, score: float) -> Said:
    sentences, n_truths = facts.details.truth or [], len(facts.truths)
    claims = facts.claims(sentences, facts.truth)
    which = (facts.details.best_truth, n_truths) if n_truths > 1 else ()
    return (
        _words("context_recall", facts, plural=len(sentences) != 1, several=n_truths > 1),
        (f"{len(sentences):,}", *which, score),
        _of_sentences("context_recall", claims),
        (None, claims.evidence, None),
    )


_IRRELEVANT, _ALL_IRRELEVANT = (
    SignalKind.named(
        *("context_relevance", "irrelevant-chunks", "info"), f"Relevance below 0.30: {noun} %s."
    )
    for noun in ("context", "contexts")
)


def _context_relevance(facts: RowFacts, score: float) -> Said:
    chunks = facts.details.chunk_scores or []
    low = places_below(chunks, RELEVANT)
    n_relevant = len(chunks) - len(low)
    n, several = len(chunks), 1 not in (n_relevant, len(chunks))
    return (
        _words("context_relevance", facts, plural=n != 1, several=several),
        (f"{n_relevant:,}", f"{n:,}", score),
        listed(_ALL_IRRELEVANT if len(low) > 1 else _IRRELEVANT, low),
        (chunks, None, None),
    )


def _low(metric: MetricId, score: float) -> Sequence[SaidSignal]:
    # The default: thresholds of the caller move verdicts, not signals.
    threshold = GROUNDED_METRICS[metric].threshold
    return () if threshold is None else low_score(metric, score, threshold)


def _context_precision(facts: RowFacts, score: float) -> Said:
    return (
        _words("context_precision", facts, several=bool(facts.truths)),
        (score,),
        _low("context_precision", score),
        (facts.details.precision_scores or (), None, None),
    )


def _answer_relevance(facts: RowFacts, score: float) -> Said:
    return (
        _words("answer_relevance", facts),
        (score,),
        _low("answer_relevance", score),
        None,
    )


def _answer_correctness(facts: RowFacts, score: float) -> Said:
    n = len(facts.truths)
    return (
        _words("answer_correctness", facts, several=n > 1),
        (n, score) if n > 1 else (score,),
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
    return [(one, METRIC_NUMBERS[one], _EXPLAINED.get(one) or _diagnostic(one)) for one in metrics]


def _diagnostic_words(metric: MetricId) -> str:
    spec = GROUNDED_METRICS[metric]
    direction = "higher" if spec.higher_is_better else "lower"
    return f"{spec.summary.replace('%', '%%')}: %s ({direction} is better)."


def _diagnostic(metric: MetricId) -> _Say:
    return lambda facts, score: (_words(metric, facts), (score,), (), None)


def _null(metric: MetricId, cause: Cause, facts: RowFacts) -> Said:
    """What is said of a score that no counting gave."""
    reason = NullReason(facts.details.reasons[METRIC_NUMBERS[metric]])
    refusal = facts.details.refusal
    words = _cause_words(metric, cause, reason, although=refusal is not None and refusal[1])
    signals = () if reason else ((_zero_kind(metric, cause), (), None, None, None),)
    return words, (), signals, _null_parts(metric, cause, facts)


def _cause_words(metric: MetricId, cause: Cause, reason: NullReason, *, although: bool) -> str:
    if cause in _FIELDS:
        return lack_of(_FIELDS[cause], reason)
    if cause is Cause.REFUSAL and metric == "context_recall":
        return "The ground truth only declines to answer, so there is nothing to retrieve."
    if cause is Cause.REFUSAL and although:
        return f"{_CAUSES[cause]} {REFUSED_ALTHOUGH}."
    return _CAUSES[cause]


def evidence_of(details: GroundedDetails, metrics: Iterable[MetricId]) -> Sequence[Evidence]:
    """The sentences that the first of some metrics was scored by; none where none was."""
    for metric in metrics:
        cause = details.causes[METRIC_NUMBERS[metric]]
        if metric in OF_ANSWER:
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
    if cause == Cause.REFUSAL and metric in OF_ANSWER and facts.details.answer is not None:
        return None, facts.answer_evidence.evidence, None
    if metric in ("context_relevance", "context_precision") and cause == Cause.NO_CONTEXT:
        return (0.0,) * facts.n_chunks, None, None
    return None
