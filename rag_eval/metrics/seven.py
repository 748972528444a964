"""The metrics and their contracts: what each reads, its default threshold, its options."""

from __future__ import annotations

from typing import Final

from rag_eval.metrics.contract import Metric
from rag_eval.metrics.ids import ALL_METRIC_IDS, METRIC_IDS
from rag_eval.samples import MetricId, Profile

_NGRAMS: Final = ("ngram_sizes", "ngram_weights")
# What each word of a row means depends on these, whatever the metric of the grounded profile.
_READING: Final = ("language", "stemmer")
_WEIGHTED: Final = (*_READING, "faithfulness_weights")

_JUDGED: Final = "rag_eval.judge.metrics.catalogue:rule_of"


def _metric(
    metric: MetricId,
    threshold: float | None,
    fields: tuple[str, ...],
    summary: str,
    null_when: str = "never",
    higher_is_better: bool = True,
    settings: tuple[str, ...] = _READING,
    source: str = "this library",
) -> Metric:
    return Metric(
        id=metric,
        number=ALL_METRIC_IDS.index(metric),
        threshold=threshold,
        fields=fields,
        settings=settings,
        summary=summary,
        higher_is_better=higher_is_better,
        in_composite=metric in METRIC_IDS,
        null_when=null_when,
        source=source,
        judged=_JUDGED if metric in METRIC_IDS else "",
    )


def _of_node(
    metric: MetricId,
    threshold: float,
    fields: tuple[str, ...],
    settings: tuple[str, ...],
    summary: str,
    null_when: str = "never",
) -> Metric:
    source = "rag-eval-node-ts 0.3.2"
    return _metric(metric, threshold, fields, summary, null_when, settings=settings, source=source)


OVERLAP_METRICS: Final[dict[MetricId, Metric]] = {
    spec.id: spec
    for spec in (
        _of_node(
            "faithfulness",
            0.7,
            ("answer", "contexts"),
            _NGRAMS,
            "Mean over answer sentences of the best weighted n-gram overlap with a context",
        ),
        _of_node(
            "answer_relevance",
            0.7,
            ("question", "answer"),
            ("ngram_weight", "tfidf_weight"),
            "Mean of TF-IDF cosine and unigram Jaccard of question and answer",
        ),
        _of_node(
            "context_precision",
            0.7,
            ("question", "contexts"),
            (),
            "Mean over contexts of the TF-IDF cosine with the question",
        ),
        _of_node(
            "context_recall",
            0.7,
            ("contexts", "ground_truth"),
            ("sentence_coverage_threshold",),
            "Share of ground truth sentences whose best unigram overlap with a context is >= 0.3",
            "no ground truth",
        ),
        _of_node(
            "context_relevance",
            0.6,
            ("question", "contexts"),
            (*_NGRAMS, "chunk_relevance_threshold"),
            "Share of contexts whose weighted n-gram overlap with the question is >= 0.2",
        ),
        _of_node(
            "answer_correctness",
            0.6,
            ("answer", "ground_truth"),
            (),
            "0.7 token F1 + 0.3 unigram Jaccard of answer and ground truth",
            "no ground truth",
        ),
        _of_node(
            "hallucination_rate",
            0.7,
            ("answer", "contexts"),
            ("claim_support_threshold",),
            "1 - share of answer sentences whose best unigram overlap with a context is < 0.15",
        ),
    )
}


GROUNDED_METRICS: Final[dict[MetricId, Metric]] = {
    spec.id: spec
    for spec in (
        _metric(
            "faithfulness",
            0.6,
            ("question", "answer", "contexts"),
            "Support of the answer's sentences: 0.40 content words in one window of a context "
            "+ 0.20 bigrams + 0.20 pairs of content words + 0.08 numbers + 0.06 names found + "
            "0.06 names near each other; minus 0.12 for a number that a context contradicts "
            "and 0.06 for a new name",
            "no answer or contexts; the answer only declines",
            settings=_WEIGHTED,
        ),
        _metric(
            "answer_relevance",
            None,
            ("question", "answer"),
            "Shared words of question and answer, and the kind of answer; 0 for a refusal. "
            "Weak evidence: prefer an LLM judge",
            "no question, answer not given",
        ),
        _metric(
            "context_precision",
            None,
            ("question", "contexts", "ground_truth"),
            "Average precision of the order of the contexts; a context is relevant if its "
            "relevance to the question (and to the ground truth) is at least 0.30",
            "no question, no contexts",
        ),
        _metric(
            "context_recall",
            0.6,
            ("question", "contexts", "ground_truth"),
            "Faithfulness of the ground truth, instead of the answer, to the contexts",
            "no ground truth or contexts; the ground truth only declines",
        ),
        _metric(
            "context_relevance",
            None,
            ("question", "contexts"),
            "Share of contexts with a relevance (0.40 window + 0.45 root of TF-IDF cosine + "
            "0.15 kind of answer) >= 0.30",
            "no question, no contexts",
        ),
        _metric(
            "answer_correctness",
            0.4,
            ("question", "answer", "ground_truth"),
            "F1 of the content words of answer and ground truth, blended with letter trigrams "
            "if the ground truth is short, and adjusted for numbers and for yes or no on both "
            "sides",
            "no ground truth, answer not given",
        ),
        _metric(
            "hallucination_rate",
            0.5,
            ("question", "answer", "contexts"),
            "Share of answer sentences whose own faithfulness is >= 0.60 (1 = no hallucination)",
            "no answer or contexts; the answer only declines",
        ),
        _metric(
            "context_utilization",
            None,
            ("question", "answer", "contexts"),
            "Share of the relevant contexts (relevance >= 0.30) that alone support an answer "
            "sentence (faithfulness >= 0.60)",
            "no answer, question or contexts; no relevant context",
        ),
        _metric(
            "noise_sensitivity",
            None,
            ("question", "answer", "contexts", "ground_truth"),
            "Share of answer sentences that an irrelevant context supports (>= 0.60), but no "
            "relevant context and not the ground truth",
            "no answer, question, contexts or ground truth",
            higher_is_better=False,
        ),
        _metric(
            "claim_recall",
            None,
            ("question", "answer", "ground_truth"),
            "Share of ground truth sentences that the answer supports (>= 0.60)",
            "no answer or ground truth",
        ),
        _metric(
            "self_knowledge",
            None,
            ("question", "answer", "contexts", "ground_truth"),
            "Share of answer sentences that the ground truth supports (>= 0.60), but no context",
            "no answer, contexts or ground truth",
            higher_is_better=False,
        ),
        _metric(
            "unsupported_numbers",
            None,
            ("question", "answer", "contexts"),
            "Share of the answer's numbers, in any notation, that are in no context and not in "
            "the question",
            "no answer or contexts; no number in the answer",
            higher_is_better=False,
        ),
        _metric(
            "unsupported_names",
            None,
            ("question", "answer", "contexts"),
            "Share of the answer's names (capitalised words that do not begin a sentence) that "
            "are in no context and not in the question",
            "no answer or contexts; no name in the answer",
            higher_is_better=False,
        ),
    )
}

PROFILE_METRICS: Final[dict[Profile, dict[MetricId, Metric]]] = {
    "overlap": OVERLAP_METRICS,
    "grounded": GROUNDED_METRICS,
}


def needed_fields(spec: Metric) -> tuple[str, ...]:
    """The fields without which a metric is null; it may read others, which it can do without."""
    if spec is OVERLAP_METRICS.get(spec.id):
        return spec.fields
    named = tuple(name for name in spec.fields if name.replace("_", " ") in spec.null_when)
    return named or spec.fields
