"""The texts of the overlap profile: the parts of a row's scores -> explanations, signals.

Wording, severities and limits are those of rag-eval-node-ts 0.3.2, to the letter. What is said has
the same form in both profiles; result files are written and results are made from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from rag_eval.kernels.columns import SampleBatch
from rag_eval.kernels.scoring import Evidence, RowDetails, Sentences, lacked_field
from rag_eval.kernels.settings import OverlapSettings
from rag_eval.metrics.ids import ALL_METRIC_IDS
from rag_eval.plumbing.javascript_numbers import shortest, three_decimals
from rag_eval.plumbing.spelling import camel_case
from rag_eval.results.row import EvalSignal, Losses, SentenceEvidence, Severity, Words
from rag_eval.samples import MetricId

_NUMBERS: Final = {metric: number for number, metric in enumerate(ALL_METRIC_IDS)}
# Signals have limits of their own; thresholds do not move them.
LOW_SUPPORT: Final = 0.3
"""Below it faithfulness warns of a sentence."""
_LOW_RELEVANCE: Final = 0.3
_LOW_SCORE: Final = 0.5
SENTENCE_SIGNALS: Final[dict[MetricId, tuple[str, Severity]]] = {
    "faithfulness": ("faithfulness-low-support", "warning"),
    "hallucination_rate": ("hallucination-unsupported", "critical"),
    "context_recall": ("context-recall-missing", "warning"),
}
"""The signal of a sentence that contexts do not support, by the metric that it counts for."""
_LOW_SCORES: Final[dict[MetricId, str]] = {
    "answer_relevance": "Answer may not be relevant to the question",
    "context_precision": "Relevant chunks come late, or none is relevant",
    "answer_correctness": "Answer correctness is low",
}


SaidSignal: TypeAlias = tuple[str, str, Severity, str, str | None, int | None]
"""An :class:`EvalSignal` as result files have it: id, metric in camelCase, severity, message,
evidence and index of the context."""


class Said(NamedTuple):
    """An explanation, signals, and what the score is made of, as kernels give it."""

    explanation: str
    signals: Sequence[SaidSignal] = ()
    chunk_scores: Sequence[float] | None = None
    evidence: Sentences | None = None
    losses: Sequence[float] | None = None


def as_words(said: Mapping[MetricId, Said]) -> dict[MetricId, Words]:
    """As explanations, signals and fields of results; two metrics may share their evidence."""
    made: dict[int, tuple[SentenceEvidence, ...]] = {}
    words: dict[MetricId, Words] = {}
    for metric, one in said.items():
        more: dict[str, Any] = {}
        if one.evidence is not None:
            key = id(one.evidence)
            if key not in made:
                made[key] = tuple(map(_sentence, one.evidence))
            more["evidence"] = made[key]
        if one.chunk_scores is not None:
            more["chunk_scores"] = tuple(one.chunk_scores)
        if one.losses is not None:
            more["losses"] = Losses.of(one.losses)
        signals = tuple(_signal(metric, signal) for signal in one.signals)
        words[metric] = one.explanation, signals, more
    return words


def _signal(metric: MetricId, said: SaidSignal) -> EvalSignal:
    name, _, severity, message, evidence, chunk = said
    return EvalSignal(
        id=name,
        metric_id=metric,
        severity=severity,
        message=message,
        evidence=evidence,
        context_chunk_index=chunk,
    )


def _sentence(fields: tuple[Any, ...]) -> SentenceEvidence:
    found = Evidence._make(fields)
    return SentenceEvidence(
        span=found.span,
        support=found.support,
        chunk=found.chunk,
        window=found.window,
        covered=found.covered,
        missing_numbers=found.missing_numbers,
        missing_names=found.missing_names,
        contradiction=found.contradiction,
        far_names=found.far_names,
        no_claim=found.no_claim,
        losses=Losses.of(found.losses),
    )


@dataclass(slots=True)
class RowFacts:
    """One scored row: its score details and what of its texts is quoted.

    Without ``quotes`` there are no signals about sentences, which take the most time.
    """

    details: RowDetails
    settings: OverlapSettings
    answer: bytes
    n_contexts: int
    has_ground_truth: bool
    absent: frozenset[str]
    quotes: bool = True
    claims: Sequence[str] = ()

    def claim(self, index: int) -> str:
        """Sentence ``index`` of the answer."""
        if not self.claims:
            spans, answer = self.details.answer_spans, self.answer
            if answer.isascii():
                text = answer.decode()
                self.claims = [text[begin:end] for begin, end in spans]
            else:
                self.claims = [
                    answer[begin:end].decode("utf-8", "surrogatepass") for begin, end in spans
                ]
        return self.claims[index]

    def said(self, metrics: Iterable[MetricId]) -> dict[MetricId, Said]:
        """Explanations and signals for the scores of some metrics of a row."""
        scores = self.details.scores
        if self.absent:
            return {metric: _said_or_lacking(self, metric) for metric in metrics}
        return {metric: _EXPLAINED[metric](self, scores[_NUMBERS[metric]]) for metric in metrics}


def _claim_signals(
    metric: MetricId, facts: RowFacts, overlaps: Sequence[float], below: float, words: str
) -> Sequence[SaidSignal]:
    """One signal per sentence of the answer whose overlap is below a limit."""
    if not facts.quotes:
        return ()
    signal, severity = SENTENCE_SIGNALS[metric]
    name = camel_case(metric)
    return [
        (
            f"{signal}-{index}",
            name,
            severity,
            f"Answer sentence {words}={three_decimals(overlap)}).",
            facts.claim(index),
            None,
        )
        for index, overlap in enumerate(overlaps)
        if overlap < below
    ]


def _faithfulness(facts: RowFacts, score: float) -> Said:
    support = facts.details.support
    if not support:
        return Said("No answer sentences or context chunks to evaluate.")
    words = "has low context support (overlap"
    return Said(
        f"Average max-context overlap across {len(support)} answer sentence(s): "
        f"{three_decimals(score)}.",
        _claim_signals("faithfulness", facts, support, LOW_SUPPORT, words),
    )


def _answer_relevance(facts: RowFacts, score: float) -> Said:
    tfidf, overlap = facts.details.parts[:2]
    return Said(
        f"TF-IDF similarity: {three_decimals(tfidf)}, unigram overlap: {three_decimals(overlap)}, "
        f"average: {three_decimals(score)}.",
        low_score("answer_relevance", score, _LOW_SCORE),
    )


def _context_precision(facts: RowFacts, score: float) -> Said:
    chunks = facts.details.chunk_tfidf
    if not chunks:
        return Said("No context chunks provided.")
    low = [str(index) for index, value in enumerate(chunks) if value < _LOW_RELEVANCE]
    message = f"Context chunk(s) with low relevance (< 0.3): indices [{', '.join(low)}]."
    signals = chunk_signals("context_precision", message, low)
    return Said(
        f"Average TF-IDF relevance of {len(chunks)} context chunk(s) to the question: "
        f"{three_decimals(score)}.",
        signals,
    )


def _context_recall(facts: RowFacts, score: float) -> Said:
    if not facts.has_ground_truth:
        return Said("groundTruth is required for contextRecall but was not provided.")
    coverage = facts.details.coverage
    if not coverage:
        return Said("No ground truth sentences or context chunks to evaluate.")
    threshold = facts.settings.sentence_coverage_threshold
    covered = sum(value >= threshold for value in coverage)
    return Said(
        f"{covered}/{len(coverage)} ground truth sentence(s) covered by contexts "
        f"(overlap >= {shortest(threshold)}): score={three_decimals(score)}.",
    )


def _context_relevance(facts: RowFacts, score: float) -> Said:
    chunks = facts.details.chunk_overlap
    if not chunks:
        return Said("No context chunks provided.")
    threshold = facts.settings.chunk_relevance_threshold
    relevant = sum(value >= threshold for value in chunks)
    return Said(
        f"{relevant}/{len(chunks)} context chunk(s) meet relevance threshold "
        f"(>= {shortest(threshold)}): score={three_decimals(score)}.",
    )


def _answer_correctness(facts: RowFacts, score: float) -> Said:
    if not facts.has_ground_truth:
        return Said("groundTruth is required for answerCorrectness but was not provided.")
    f1, overlap = facts.details.parts[2:]
    return Said(
        f"Token F1: {three_decimals(f1)}, unigram overlap: {three_decimals(overlap)}, "
        f"blended score (70%F1 + 30%ngram): {three_decimals(score)}.",
        low_score("answer_correctness", score, _LOW_SCORE),
    )


def _hallucination_rate(facts: RowFacts, score: float) -> Said:
    if not facts.n_contexts:
        return Said("No context chunks provided to evaluate against.")
    overlaps = facts.details.overlap
    if not overlaps:
        return Said("Answer produced no sentences to evaluate.")
    threshold = facts.settings.claim_support_threshold
    words = "appears unsupported by any context (max overlap"
    signals = _claim_signals("hallucination_rate", facts, overlaps, threshold, words)
    n_unsupported = sum(overlap < threshold for overlap in overlaps)
    rate = n_unsupported / len(overlaps)
    return Said(
        f"{n_unsupported}/{len(overlaps)} answer sentence(s) appear unsupported "
        f"(hallucination rate={three_decimals(rate)}, score={three_decimals(score)}).",
        signals,
    )


def chunk_signals(metric: MetricId, message: str, low: Sequence[str]) -> Sequence[SaidSignal]:
    """One signal that lists the chunks of low relevance; none where there are none."""
    name = {"context_precision": "low-relevance", "context_relevance": "irrelevant"}[metric]
    if not low:
        return ()
    signal = f"{metric.replace('_', '-')}-{name}-chunks"
    return ((signal, camel_case(metric), "info", message, None, None),)


def low_score(metric: MetricId, score: float, below: float | None) -> Sequence[SaidSignal]:
    """A signal where the score is below a limit, which thresholds of the caller do not move."""
    if below is None or score >= below:
        return ()
    signal = f"{metric.replace('_', '-')}-low"
    message = f"{_LOW_SCORES[metric]} (score={three_decimals(score)})."
    return ((signal, camel_case(metric), "warning", message, None, None),)


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
    rows: Sequence[RowDetails], batch: SampleBatch, settings: OverlapSettings
) -> list[RowFacts]:
    """What there is to say of the rows of a batch."""
    columns = (
        rows,
        batch.answer.all_bytes(),
        np.diff(batch.row_contexts).tolist(),
        (np.diff(batch.ground_truth.offsets) > 0).tolist(),
    )
    return [
        RowFacts(details, settings, answer, n_contexts, has_truth, batch.absent)
        for details, answer, n_contexts, has_truth in zip(*columns, strict=True)
    ]


def _said_or_lacking(facts: RowFacts, metric: MetricId) -> Said:
    """What is said of a score that may be null because no row has a field that it needs."""
    name = lacked_field(facts.absent, metric)
    if name is not None:
        return Said(f"{name} is required for {camel_case(metric)} but was not provided.")
    return _EXPLAINED[metric](facts, facts.details.scores[_NUMBERS[metric]])
