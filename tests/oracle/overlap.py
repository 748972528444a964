"""What the seven metrics of the `overlap` profile mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.oracle.ngrams import SIZES, WEIGHTS, ngram_overlap, weighted_ngram_overlap
from tests.oracle.sentences import split_sentences
from tests.oracle.tfidf import tfidf_similarity
from tests.oracle.token_f1 import token_f1

Sample = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Options:
    """The heuristic options and their defaults."""

    ngram_sizes: Sequence[float] = SIZES
    ngram_weights: Sequence[float | None] = WEIGHTS
    chunk_relevance_threshold: float = 0.2
    claim_support_threshold: float = 0.15
    sentence_coverage_threshold: float = 0.3
    ngram_weight: float = 1
    tfidf_weight: float = 1


class Details(NamedTuple):
    """What the scores are made of; a maximum over no contexts is 0."""

    answer_support: list[float]  # per answer sentence: max weighted overlap with a context
    answer_overlap: list[float]  # per answer sentence: max unigram overlap with a context
    context_similarity: list[float]  # per context: TF-IDF similarity to the question
    context_overlap: list[float]  # per context: weighted overlap with the question
    truth_overlap: list[float]  # per ground truth sentence: max unigram overlap with a context
    answer_contexts: list[int | None]  # per answer sentence: the first context with that support
    truth_contexts: list[int | None]  # per ground truth sentence: the same of its overlap


def score(metric_id: str, sample: Sample, **options: Any) -> float | None:
    """One score; an option that is None counts as not given. Only fields in use are read."""
    return METRICS[metric_id](sample, _with_defaults(options))


def details(sample: Sample, **options: Any) -> Details:
    used = _with_defaults(options)
    return Details(
        answer_support=_answer_support(sample, used),
        answer_overlap=_best_overlaps(sample["answer"], sample["contexts"]),
        context_similarity=_context_similarity(sample),
        context_overlap=_context_overlap(sample, used),
        truth_overlap=_best_overlaps(_ground_truth(sample) or "", sample["contexts"]),
        answer_contexts=[_first_best(overlaps) for overlaps in _weighted_overlaps(sample, used)],
        truth_contexts=[
            _first_best([ngram_overlap(sentence, context) for context in sample["contexts"]])
            for sentence in split_sentences(_ground_truth(sample) or "")
        ],
    )


def faithfulness(sample: Sample, options: Options) -> float:
    if not split_sentences(sample["answer"]) or not sample["contexts"]:
        return 0.0
    return _mean(_answer_support(sample, options))


def answer_relevance(sample: Sample, options: Options) -> float:
    """Departure: the two weights count here; rag-eval-node has them in its options, unread."""
    question, answer = sample["question"], sample["answer"]
    tfidf, ngram = options.tfidf_weight, options.ngram_weight
    if tfidf + ngram == 0:
        raise ValueError("tfidf_weight + ngram_weight is 0")
    weighted = tfidf * tfidf_similarity(question, answer) + ngram * ngram_overlap(question, answer)
    return weighted / (tfidf + ngram)


def context_precision(sample: Sample, options: Options) -> float:
    if not sample["contexts"]:
        return 0.0
    return _mean(_context_similarity(sample))


def context_recall(sample: Sample, options: Options) -> float | None:
    """Departure: the threshold is an option here; in rag-eval-node it is 0.3 whatever is given."""
    truth = _ground_truth(sample)
    if not truth:
        return None
    if not split_sentences(truth) or not sample["contexts"]:
        return 0.0
    overlaps = _best_overlaps(truth, sample["contexts"])
    covered = [overlap for overlap in overlaps if overlap >= options.sentence_coverage_threshold]
    return len(covered) / len(overlaps)


def context_relevance(sample: Sample, options: Options) -> float:
    if not sample["contexts"]:
        return 0.0
    overlaps = _context_overlap(sample, options)
    relevant = [overlap for overlap in overlaps if overlap >= options.chunk_relevance_threshold]
    return len(relevant) / len(overlaps)


def answer_correctness(sample: Sample, options: Options) -> float | None:
    truth = _ground_truth(sample)
    if not truth:
        return None
    return 0.7 * token_f1(truth, sample["answer"]) + 0.3 * ngram_overlap(truth, sample["answer"])


def hallucination_rate(sample: Sample, options: Options) -> float:
    """Higher is better. Departure: no answer sentences score 1, as documented, not 0."""
    if not sample["contexts"]:
        return 0.0
    overlaps = _best_overlaps(sample["answer"], sample["contexts"])
    if not overlaps:
        return 1.0
    unsupported = [overlap for overlap in overlaps if overlap < options.claim_support_threshold]
    return 1 - len(unsupported) / len(overlaps)


METRICS: dict[str, Callable[[Sample, Options], float | None]] = {
    "faithfulness": faithfulness,
    "answer_relevance": answer_relevance,
    "context_precision": context_precision,
    "context_recall": context_recall,
    "context_relevance": context_relevance,
    "answer_correctness": answer_correctness,
    "hallucination_rate": hallucination_rate,
}


def _with_defaults(given: Mapping[str, Any]) -> Options:
    return Options(**{name: value for name, value in given.items() if value is not None})


def _ground_truth(sample: Sample) -> str | None:
    truth: str | None = sample.get("ground_truth", sample.get("groundTruth"))
    return truth


def _answer_support(sample: Sample, options: Options) -> list[float]:
    return [max([0.0, *overlaps]) for overlaps in _weighted_overlaps(sample, options)]


def _weighted_overlaps(sample: Sample, options: Options) -> list[list[float]]:
    sizes, weights = options.ngram_sizes, options.ngram_weights
    return [
        [
            weighted_ngram_overlap(sentence, context, sizes, weights)
            for context in sample["contexts"]
        ]
        for sentence in split_sentences(sample["answer"])
    ]


def _first_best(overlaps: list[float]) -> int | None:
    best = max([0.0, *overlaps])
    return overlaps.index(best) if best > 0 else None


def _best_overlaps(text: str, contexts: list[str]) -> list[float]:
    return [
        max([0.0, *(ngram_overlap(sentence, context) for context in contexts)])
        for sentence in split_sentences(text)
    ]


def _context_similarity(sample: Sample) -> list[float]:
    return [tfidf_similarity(sample["question"], context) for context in sample["contexts"]]


def _context_overlap(sample: Sample, options: Options) -> list[float]:
    sizes, weights = options.ngram_sizes, options.ngram_weights
    return [
        weighted_ngram_overlap(sample["question"], context, sizes, weights)
        for context in sample["contexts"]
    ]


def _mean(values: list[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return total / len(values)
