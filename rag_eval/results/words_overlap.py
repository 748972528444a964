"""The texts of the overlap profile: the parts of a row's scores -> explanations, signals.

Wording, severities and limits are those of rag-eval-node-ts 0.3.2, to the letter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rag_eval.kernels.columns import SampleBatch
from rag_eval.kernels.scoring import RowDetails
from rag_eval.kernels.settings import OverlapSettings
from rag_eval.metrics.ids import ALL_METRIC_IDS
from rag_eval.plumbing.javascript_numbers import shortest, three_decimals
from rag_eval.results.row import EvalSignal, Severity, Words
from rag_eval.samples import MetricId

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


@dataclass(frozen=True, slots=True)
class RowFacts:
    """One scored row: its score details and what of its texts is quoted."""

    details: RowDetails
    settings: OverlapSettings
    answer: bytes
    n_contexts: int
    has_ground_truth: bool
    quotes: bool = True

    def claim(self, index: int) -> str:
        """Sentence ``index`` of the answer."""
        begin, end = self.details.answer_spans[index]
        return self.answer[begin:end].decode("utf-8", "surrogatepass")


Explained = tuple[str, tuple[EvalSignal, ...]]


def _claim_signals(
    metric: MetricId, facts: RowFacts, overlaps: Sequence[float], below: float, words: str
) -> tuple[EvalSignal, ...]:
    """One signal per sentence of the answer whose overlap is below a limit."""
    if not facts.quotes:
        return ()
    signal, severity = SENTENCE_SIGNALS[metric]
    return tuple(
        EvalSignal(
            id=f"{signal}-{index}",
            metric_id=metric,
            severity=severity,
            message=f"Answer sentence {words}={three_decimals(overlap)}).",
            evidence=facts.claim(index),
        )
        for index, overlap in enumerate(overlaps)
        if overlap < below
    )


def _faithfulness(facts: RowFacts, score: float) -> Explained:
    support = facts.details.support
    if not support:
        return "No answer sentences or context chunks to evaluate.", ()
    words = "has low context support (overlap"
    return (
        f"Average max-context overlap across {len(support)} answer sentence(s): "
        f"{three_decimals(score)}.",
        _claim_signals("faithfulness", facts, support, LOW_SUPPORT, words),
    )


def _answer_relevance(facts: RowFacts, score: float) -> Explained:
    tfidf, overlap = facts.details.parts[:2]
    return (
        f"TF-IDF similarity: {three_decimals(tfidf)}, unigram overlap: {three_decimals(overlap)}, "
        f"average: {three_decimals(score)}.",
        low_score("answer_relevance", score, _LOW_SCORE),
    )


def _context_precision(facts: RowFacts, score: float) -> Explained:
    chunks = facts.details.chunk_tfidf
    if not chunks:
        return "No context chunks provided.", ()
    low = [str(index) for index, value in enumerate(chunks) if value < _LOW_RELEVANCE]
    message = f"Context chunk(s) with low relevance (< 0.3): indices [{', '.join(low)}]."
    signals = chunk_signals("context_precision", message, low)
    return (
        f"Average TF-IDF relevance of {len(chunks)} context chunk(s) to the question: "
        f"{three_decimals(score)}.",
        signals,
    )


def _context_recall(facts: RowFacts, score: float) -> Explained:
    if not facts.has_ground_truth:
        return "groundTruth is required for contextRecall but was not provided.", ()
    coverage = facts.details.coverage
    if not coverage:
        return "No ground truth sentences or context chunks to evaluate.", ()
    threshold = facts.settings.sentence_coverage_threshold
    covered = sum(value >= threshold for value in coverage)
    return (
        f"{covered}/{len(coverage)} ground truth sentence(s) covered by contexts "
        f"(overlap >= {shortest(threshold)}): score={three_decimals(score)}.",
        (),
    )


def _context_relevance(facts: RowFacts, score: float) -> Explained:
    chunks = facts.details.chunk_overlap
    if not chunks:
        return "No context chunks provided.", ()
    threshold = facts.settings.chunk_relevance_threshold
    relevant = sum(value >= threshold for value in chunks)
    return (
        f"{relevant}/{len(chunks)} context chunk(s) meet relevance threshold "
        f"(>= {shortest(threshold)}): score={three_decimals(score)}.",
        (),
    )


def _answer_correctness(facts: RowFacts, score: float) -> Explained:
    if not facts.has_ground_truth:
        return "groundTruth is required for answerCorrectness but was not provided.", ()
    f1, overlap = facts.details.parts[2:]
    return (
        f"Token F1: {three_decimals(f1)}, unigram overlap: {three_decimals(overlap)}, "
        f"blended score (70%F1 + 30%ngram): {three_decimals(score)}.",
        low_score("answer_correctness", score, _LOW_SCORE),
    )


def _hallucination_rate(facts: RowFacts, score: float) -> Explained:
    if not facts.n_contexts:
        return "No context chunks provided to evaluate against.", ()
    overlaps = facts.details.overlap
    if not overlaps:
        return "Answer produced no sentences to evaluate.", ()
    threshold = facts.settings.claim_support_threshold
    words = "appears unsupported by any context (max overlap"
    signals = _claim_signals("hallucination_rate", facts, overlaps, threshold, words)
    n_unsupported = sum(overlap < threshold for overlap in overlaps)
    rate = n_unsupported / len(overlaps)
    return (
        f"{n_unsupported}/{len(overlaps)} answer sentence(s) appear unsupported "
        f"(hallucination rate={three_decimals(rate)}, score={three_decimals(score)}).",
        signals,
    )


def chunk_signals(metric: MetricId, message: str, low: Sequence[str]) -> tuple[EvalSignal, ...]:
    """One signal that lists the chunks of low relevance; none where there are none."""
    name = {"context_precision": "low-relevance", "context_relevance": "irrelevant"}[metric]
    signal = f"{metric.replace('_', '-')}-{name}-chunks"
    found = EvalSignal(id=signal, metric_id=metric, severity="info", message=message)
    return (found,) if low else ()


def low_score(metric: MetricId, score: float, below: float | None) -> tuple[EvalSignal, ...]:
    """A signal where the score is below a limit, which thresholds of the caller do not move."""
    if below is None or score >= below:
        return ()
    signal = f"{metric.replace('_', '-')}-low"
    message = f"{_LOW_SCORES[metric]} (score={three_decimals(score)})."
    return (EvalSignal(id=signal, metric_id=metric, severity="warning", message=message),)


_EXPLAINED: Final[dict[MetricId, Callable[[RowFacts, float], Explained]]] = {
    "faithfulness": _faithfulness,
    "answer_relevance": _answer_relevance,
    "context_precision": _context_precision,
    "context_recall": _context_recall,
    "context_relevance": _context_relevance,
    "answer_correctness": _answer_correctness,
    "hallucination_rate": _hallucination_rate,
}


def words_of_row(
    details: RowDetails,
    batch: SampleBatch,
    place: int,
    settings: OverlapSettings,
    metrics: Iterable[MetricId],
    quotes: bool = True,
) -> dict[MetricId, Words]:
    """Explanations and signals for the scores of some metrics of a row.

    Without ``quotes`` there are no signals about sentences.
    """
    truth = batch.ground_truth.offsets
    facts = RowFacts(
        details=details,
        settings=settings,
        answer=batch.answer.text_bytes(place),
        n_contexts=int(batch.row_contexts[place + 1] - batch.row_contexts[place]),
        has_ground_truth=bool(truth[place + 1] > truth[place]),
        quotes=quotes,
    )
    return {
        metric: (*_EXPLAINED[metric](facts, details.scores[ALL_METRIC_IDS.index(metric)]), {})
        for metric in metrics
    }
