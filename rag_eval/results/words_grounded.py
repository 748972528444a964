"""The grounded profile in words: what the scores of a row are made of -> explanations, signals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, TypeAlias

from rag_eval.kernels.scoring import Evidence, GroundedDetails
from rag_eval.metrics.ids import ALL_METRIC_IDS
from rag_eval.metrics.seven import GROUNDED_METRICS
from rag_eval.plumbing.javascript_numbers import three_decimals
from rag_eval.results.row import EvalSignal, SentenceEvidence, Severity
from rag_eval.samples import MetricId

RELEVANT: Final = 0.30
"""Relevance from which a chunk counts as relevant."""
SENTENCE_CUT: Final = 0.60
"""Support below which a sentence counts as not supported."""


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
    Cause.NO_ANSWER: "No answer with a word to evaluate.",
    Cause.NO_CONTEXTS: "No contexts given.",
    Cause.NO_CONTEXT: "The contexts hold no word: nothing can carry the text.",
    Cause.NO_TRUTH: "No ground truth with a word to evaluate.",
    Cause.NO_QUESTION: "No question with a word to evaluate.",
    Cause.EMPTY_ANSWER: "The answer holds no word.",
    Cause.REFUSAL: "The answer declines to answer.",
    Cause.NO_RELEVANT_CHUNK: "No chunk is relevant to the question.",
    Cause.NO_NUMBERS: "The answer holds no number.",
    Cause.NO_NAMES: "The answer holds no name.",
}


@dataclass(frozen=True, slots=True)
class RowFacts:
    """One scored row: its score details and what of its texts is quoted."""

    details: GroundedDetails
    answer: str
    truths: Sequence[str]
    n_chunks: int

    @property
    def truth(self) -> str:
        """The ground truth that context_recall took."""
        return self.truths[self.details.best_truth or 0]


Explained: TypeAlias = tuple[str, tuple[EvalSignal, ...], dict[str, Any]]


def _evidence(sentences: Sequence[Evidence]) -> tuple[SentenceEvidence, ...]:
    return tuple(
        SentenceEvidence(
            span=found.span,
            support=found.support,
            chunk=found.chunk,
            window=found.window,
            covered=found.covered,
            missing_numbers=tuple(found.missing_numbers),
            missing_names=tuple(found.missing_names),
        )
        for found in sentences
    )


def _missing(found: Evidence) -> str:
    parts = []
    if found.missing_numbers:
        parts.append("numbers in no chunk: " + ", ".join(found.missing_numbers))
    if found.missing_names:
        parts.append("names in no chunk: " + ", ".join(found.missing_names))
    return "".join(f"; {part}" for part in parts)


def _window(found: Evidence) -> str:
    if found.chunk is None or found.window is None:
        return "no chunk has a content word of it"
    begin, end = found.window
    return (
        f"best window: chunk {found.chunk}, characters {begin} to {end}, with "
        f"{round(100 * found.covered)} % of its content words"
    )


def _sentence_signals(
    metric: MetricId, what: str, severity: Severity, sentences: Sequence[Evidence], text: str
) -> tuple[EvalSignal, ...]:
    """One signal per sentence below the cut: best window, numbers and names that no chunk has."""
    return tuple(
        EvalSignal(
            id=f"{what}-{index}",
            metric_id=metric,
            severity=severity,
            message=f"Sentence is carried to {three_decimals(found.support)} only "
            f"({_window(found)}{_missing(found)}).",
            evidence=text[slice(*found.span)],
            context_chunk_index=found.chunk,
        )
        for index, found in enumerate(sentences)
        if found.support < SENTENCE_CUT
    )


def _faithfulness(facts: RowFacts, score: float) -> Explained:
    sentences = facts.details.answer or []
    return (
        f"Support of {len(sentences)} answer sentence(s) by the contexts, by their content words: "
        f"{three_decimals(score)}. A low score is strong evidence, a high one weak.",
        _sentence_signals(
            "faithfulness", "faithfulness-low-support", "warning", sentences, facts.answer
        ),
        {"evidence": _evidence(sentences)},
    )


def _hallucination_rate(facts: RowFacts, score: float) -> Explained:
    sentences = facts.details.answer or []
    below = sum(found.support < SENTENCE_CUT for found in sentences)
    return (
        f"{below}/{len(sentences)} answer sentence(s) carried to less than 0.60 "
        f"(score={three_decimals(score)}, 1 is no hallucination).",
        _sentence_signals(
            "hallucination_rate", "hallucination-unsupported", "critical", sentences, facts.answer
        ),
        {"evidence": _evidence(sentences)},
    )


def _context_recall(facts: RowFacts, score: float) -> Explained:
    sentences = facts.details.truth or []
    several = (
        f" (ground truth {facts.details.best_truth} of {len(facts.truths)}, counted from 0)"
        if len(facts.truths) > 1
        else ""
    )
    return (
        f"Support of {len(sentences)} ground truth sentence(s) by the contexts{several}: "
        f"{three_decimals(score)}.",
        _sentence_signals(
            "context_recall", "context-recall-missing", "warning", sentences, facts.truth
        ),
        {"evidence": _evidence(sentences)},
    )


def _context_relevance(facts: RowFacts, score: float) -> Explained:
    chunks = facts.details.chunk_scores or []
    low = [str(index) for index, value in enumerate(chunks) if value < RELEVANT]
    signal = EvalSignal(
        id="context-relevance-irrelevant-chunks",
        metric_id="context_relevance",
        severity="info",
        message=f"Context chunk(s) with relevance below 0.30: indices [{', '.join(low)}].",
    )
    return (
        f"{len(chunks) - len(low)}/{len(chunks)} context chunk(s) relevant to the question "
        f"(>= 0.30): score={three_decimals(score)}.",
        (signal,) if low else (),
        {"chunk_scores": tuple(chunks)},
    )


def _context_precision(facts: RowFacts, score: float) -> Explained:
    read_with = " read with the ground truth" if facts.truths else ""
    chunks = facts.details.precision_scores or []
    return (
        f"Average precision of the order of the chunks, relevant to the question{read_with} from "
        f"0.30 on: {three_decimals(score)}.",
        _low_score(
            "context_precision",
            "context-precision-low",
            "Relevant chunks come late, or none is relevant",
            score,
        ),
        {"chunk_scores": tuple(chunks)},
    )


def _answer_relevance(facts: RowFacts, score: float) -> Explained:
    return (
        f"Shared words and kind of answer: {three_decimals(score)}. Weak evidence: it cannot tell "
        "a right answer from a wrong one.",
        _low_score(
            "answer_relevance",
            "answer-relevance-low",
            "Answer may not be relevant to the question",
            score,
        ),
        {},
    )


def _answer_correctness(facts: RowFacts, score: float) -> Explained:
    several = f" (best of {len(facts.truths)})" if len(facts.truths) > 1 else ""
    return (
        f"Agreement of the answer's words and letters with the ground truth{several}: "
        f"{three_decimals(score)}.",
        _low_score(
            "answer_correctness", "answer-correctness-low", "Answer correctness is low", score
        ),
        {},
    )


def _low_score(metric: MetricId, signal: str, what: str, score: float) -> tuple[EvalSignal, ...]:
    # The default: thresholds of the caller move verdicts, not signals.
    threshold = GROUNDED_METRICS[metric].threshold
    if threshold is None or score >= threshold:
        return ()
    message = f"{what} (score={three_decimals(score)})."
    return (EvalSignal(id=signal, metric_id=metric, severity="warning", message=message),)


def _diagnostic(metric: MetricId) -> Callable[[RowFacts, float], Explained]:
    spec = GROUNDED_METRICS[metric]

    def words(facts: RowFacts, score: float) -> Explained:
        direction = "higher" if spec.higher_is_better else "lower"
        return f"{spec.summary}: {three_decimals(score)} ({direction} is better).", (), {}

    return words


_EXPLAINED: Final[dict[MetricId, Callable[[RowFacts, float], Explained]]] = {
    "faithfulness": _faithfulness,
    "answer_relevance": _answer_relevance,
    "context_precision": _context_precision,
    "context_recall": _context_recall,
    "context_relevance": _context_relevance,
    "answer_correctness": _answer_correctness,
    "hallucination_rate": _hallucination_rate,
    **{
        metric: _diagnostic(metric)
        for metric, spec in GROUNDED_METRICS.items()
        if not spec.in_composite
    },
}


def explain(metric: MetricId, facts: RowFacts, score: float) -> Explained:
    """Explanation, signals and details of one metric of a row."""
    cause = Cause(facts.details.causes[ALL_METRIC_IDS.index(metric)])
    if cause is Cause.COUNTED:
        return _EXPLAINED[metric](facts, score)
    null = facts.details.reasons[ALL_METRIC_IDS.index(metric)] != 0
    signals = () if null else _zero_signal(metric, cause)
    return _CAUSES[cause], signals, _zero_details(metric, facts)


def _zero_signal(metric: MetricId, cause: Cause) -> tuple[EvalSignal, ...]:
    """A score of 0 that no counting gave is a finding of its own."""
    name = cause.name.lower().replace("_", "-")
    return (
        EvalSignal(
            id=f"{metric.replace('_', '-')}-{name}",
            metric_id=metric,
            severity="warning",
            message=_CAUSES[cause],
        ),
    )


def _zero_details(metric: MetricId, facts: RowFacts) -> dict[str, Any]:
    """Chunks without a word have a relevance of 0 each, where there is a question."""
    cause = facts.details.causes[ALL_METRIC_IDS.index(metric)]
    if metric in ("context_relevance", "context_precision") and cause == Cause.NO_CONTEXT:
        return {"chunk_scores": (0.0,) * facts.n_chunks}
    return {}
