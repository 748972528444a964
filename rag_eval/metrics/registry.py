"""The metrics and their contracts: what each reads, its default threshold, its options."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rag_eval.samples import METRIC_IDS, MetricId


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """Contract of one metric.

    Attributes
    ----------
    id : MetricId
    number : int
        Its number in the kernels.
    threshold : float
        Default threshold; a score passes from there on (``>=``). Higher is better for all.
    fields : tuple of str
        Sample fields it reads.
    options : tuple of str
        Heuristic options that can change its score, and so belong to its signature.
    needs_ground_truth : bool
        Null where a sample has none.
    summary : str
        The algorithm in one sentence.
    """

    id: MetricId
    number: int
    threshold: float
    fields: tuple[str, ...]
    options: tuple[str, ...]
    needs_ground_truth: bool
    summary: str


_NGRAMS: Final = ("ngram_sizes", "ngram_weights")


def _spec(
    metric: MetricId,
    threshold: float,
    fields: tuple[str, ...],
    options: tuple[str, ...],
    summary: str,
) -> MetricSpec:
    return MetricSpec(
        id=metric,
        number=METRIC_IDS.index(metric),
        threshold=threshold,
        fields=fields,
        options=options,
        needs_ground_truth="ground_truth" in fields,
        summary=summary,
    )


OVERLAP_METRICS: Final[dict[MetricId, MetricSpec]] = {
    spec.id: spec
    for spec in (
        _spec(
            "faithfulness",
            0.7,
            ("answer", "contexts"),
            _NGRAMS,
            "Mean over answer sentences of the best weighted n-gram overlap with a context",
        ),
        _spec(
            "answer_relevance",
            0.7,
            ("question", "answer"),
            ("ngram_weight", "tfidf_weight"),
            "Mean of TF-IDF cosine and unigram Jaccard of question and answer",
        ),
        _spec(
            "context_precision",
            0.7,
            ("question", "contexts"),
            (),
            "Mean over contexts of the TF-IDF cosine with the question",
        ),
        _spec(
            "context_recall",
            0.7,
            ("contexts", "ground_truth"),
            ("sentence_coverage_threshold",),
            "Share of ground truth sentences whose best unigram overlap with a context is >= 0.3",
        ),
        _spec(
            "context_relevance",
            0.6,
            ("question", "contexts"),
            (*_NGRAMS, "chunk_relevance_threshold"),
            "Share of contexts whose weighted n-gram overlap with the question is >= 0.2",
        ),
        _spec(
            "answer_correctness",
            0.6,
            ("answer", "ground_truth"),
            (),
            "0.7 token F1 + 0.3 unigram Jaccard of answer and ground truth",
        ),
        _spec(
            "hallucination_rate",
            0.7,
            ("answer", "contexts"),
            ("claim_support_threshold",),
            "1 - share of answer sentences whose best unigram overlap with a context is < 0.15",
        ),
    )
}


def metric_numbers(metrics: Iterable[MetricId]) -> list[int]:
    """The kernels' numbers of some metrics."""
    return [OVERLAP_METRICS[metric].number for metric in metrics]
