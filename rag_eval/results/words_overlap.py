"""The overlap profile in words: what the scores of a row are made of -> explanations, signals.

Wording, severities and limits are those of rag-eval-node-ts 0.3.2, to the letter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rag_eval.kernels.overlap_settings import OverlapSettings
from rag_eval.kernels.scoring import RowDetails
from rag_eval.plumbing.javascript_numbers import shortest, three_decimals
from rag_eval.results.row import EvalSignal
from rag_eval.samples import MetricId

# Signals have limits of their own; thresholds do not move them.
LOW_SUPPORT: Final = 0.3
"""Below it faithfulness warns of a sentence."""
_LOW_RELEVANCE: Final = 0.3
_LOW_SCORE: Final = 0.5


@dataclass(frozen=True, slots=True)
class RowFacts:
    """One scored row: its score details and what of its texts is quoted."""

    details: RowDetails
    settings: OverlapSettings
    answer: bytes
    n_contexts: int
    has_ground_truth: bool

    def claim(self, index: int) -> str:
        """Sentence ``index`` of the answer."""
        begin, end = self.details.answer_spans[index]
        return self.answer[begin:end].decode("utf-8", "surrogatepass")


Explained = tuple[str, tuple[EvalSignal, ...]]


def _faithfulness(facts: RowFacts, score: float) -> Explained:
    support = facts.details.support
    if not support:
        return "No answer sentences or context chunks to evaluate.", ()
    signals = tuple(
        EvalSignal(
            id=f"faithfulness-low-support-{index}",
            metric_id="faithfulness",
            severity="warning",
            message=f"Answer sentence has low context support (overlap={three_decimals(overlap)}).",
            evidence=facts.claim(index),
        )
        for index, overlap in enumerate(support)
        if overlap < LOW_SUPPORT
    )
    return (
        f"Average max-context overlap across {len(support)} answer sentence(s): "
        f"{three_decimals(score)}.",
        signals,
    )


def _answer_relevance(facts: RowFacts, score: float) -> Explained:
    tfidf, overlap = facts.details.parts[:2]
    return (
        f"TF-IDF similarity: {three_decimals(tfidf)}, unigram overlap: {three_decimals(overlap)}, "
        f"average: {three_decimals(score)}.",
        _low_score(
            "answer-relevance-low",
            "answer_relevance",
            "Answer may not be relevant to the question",
            score,
        ),
    )


def _context_precision(facts: RowFacts, score: float) -> Explained:
    chunks = facts.details.chunk_tfidf
    if not chunks:
        return "No context chunks provided.", ()
    low = [str(index) for index, value in enumerate(chunks) if value < _LOW_RELEVANCE]
    signal = EvalSignal(
        id="context-precision-low-relevance-chunks",
        metric_id="context_precision",
        severity="info",
        message=f"Context chunk(s) with low relevance (< 0.3): indices [{', '.join(low)}].",
    )
    return (
        f"Average TF-IDF relevance of {len(chunks)} context chunk(s) to the question: "
        f"{three_decimals(score)}.",
        (signal,) if low else (),
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
        _low_score(
            "answer-correctness-low", "answer_correctness", "Answer correctness is low", score
        ),
    )


def _hallucination_rate(facts: RowFacts, score: float) -> Explained:
    if not facts.n_contexts:
        return "No context chunks provided to evaluate against.", ()
    overlaps = facts.details.overlap
    if not overlaps:
        return "Answer produced no sentences to evaluate.", ()
    threshold = facts.settings.claim_support_threshold
    signals = tuple(
        EvalSignal(
            id=f"hallucination-unsupported-{index}",
            metric_id="hallucination_rate",
            severity="critical",
            message="Answer sentence appears unsupported by any context "
            f"(max overlap={three_decimals(overlap)}).",
            evidence=facts.claim(index),
        )
        for index, overlap in enumerate(overlaps)
        if overlap < threshold
    )
    rate = len(signals) / len(overlaps)
    return (
        f"{len(signals)}/{len(overlaps)} answer sentence(s) appear unsupported "
        f"(hallucination rate={three_decimals(rate)}, score={three_decimals(score)}).",
        signals,
    )


def _low_score(signal: str, metric: MetricId, what: str, score: float) -> tuple[EvalSignal, ...]:
    if score >= _LOW_SCORE:
        return ()
    message = f"{what} (score={three_decimals(score)})."
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


def explain(metric: MetricId, facts: RowFacts, score: float) -> Explained:
    """Explanation and signals of one metric of a row."""
    return _EXPLAINED[metric](facts, score)
