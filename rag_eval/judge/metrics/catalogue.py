"""The judged metrics: what each reads, asks and costs, and where it passes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from rag_eval.judge.asking import Tally
from rag_eval.judge.metrics import chunk_verdicts, claims, correctness, ratings, relevance
from rag_eval.judge.metrics.judgements import Judgement
from rag_eval.judge.metrics.row_steps import RowSteps
from rag_eval.judge.steps import Step
from rag_eval.metrics.contract import JUDGE_STYLES, JudgedRule, JudgeStyle, Metric
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.metrics.seven import OVERLAP_METRICS

MetricFn: TypeAlias = Callable[[RowSteps, Tally], Awaitable[Judgement]]

# 3 of 5.
RATING_THRESHOLD: Final = ratings.score_of(3)
_ONE_CALL: Final = "1"


_CLAIM_METRICS: Final[dict[str, tuple[MetricFn, tuple[Step[Any], ...]]]] = {
    "faithfulness": (claims.faithfulness, (claims.EXTRACT_CLAIMS, claims.VERIFY_CLAIMS)),
    "answer_relevance": (relevance.answer_relevance, (relevance.ANSWER_STATEMENTS,)),
    "context_precision": (chunk_verdicts.context_precision, (chunk_verdicts.USEFUL_CHUNKS,)),
    "context_recall": (claims.context_recall, (claims.EXTRACT_CLAIMS, claims.VERIFY_CLAIMS)),
    "context_relevance": (chunk_verdicts.context_relevance, (chunk_verdicts.RELEVANT_CHUNKS,)),
    "answer_correctness": (
        correctness.answer_correctness,
        (claims.EXTRACT_CLAIMS, correctness.MATCH_CLAIMS),
    ),
    "hallucination_rate": (
        claims.hallucination_rate,
        (claims.EXTRACT_CLAIMS, claims.VERIFY_CLAIMS),
    ),
}

_OF_ANSWER: Final = "1 + ceil(A/25), shared by faithfulness and hallucination_rate"

# Per metric: fields, those it can do without, calls and scoring in the claims style, and what it
# measures.
_WORDS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...], str, str, str]]] = {
    "faithfulness": (
        ("question", "answer", "contexts"),
        ("question",),
        _OF_ANSWER,
        "Mean over the answer's claims of their support by the contexts: 1, partly 0.5, else 0",
        "How far the contexts support what the answer claims",
    ),
    "answer_relevance": (
        ("question", "answer"),
        (),
        _ONE_CALL,
        "Mean over the answer's statements: answers the question 1, partly 0.5, not 0; a refusal 0",
        "How well the answer answers the question",
    ),
    "context_precision": (
        ("question", "contexts", "ground_truth"),
        ("ground_truth",),
        "ceil(C/25)",
        "Average precision of the contexts' order, by their use for arriving at the ground truth",
        "How far the useful contexts come first",
    ),
    "context_recall": (
        ("question", "contexts", "ground_truth"),
        ("question",),
        "G * (1 + ceil(T/25)), the 1 shared with answer_correctness",
        "Mean over the ground truth's claims of their support by the contexts; the best of several",
        "How many key facts of the ground truth the contexts hold",
    ),
    "context_relevance": (
        ("question", "contexts"),
        (),
        "ceil(C/25)",
        "Share of the contexts that are relevant to the question",
        "How many of the contexts are relevant to the question",
    ),
    "answer_correctness": (
        ("question", "answer", "ground_truth"),
        ("question",),
        "1 + G * (1 + ceil(A/25) * ceil(T/25)), the claims shared",
        "F1 of the claims of answer and ground truth, each looked up in the other; best of several",
        "How far the answer agrees with the ground truth",
    ),
    "hallucination_rate": (
        ("question", "answer", "contexts"),
        ("question",),
        _OF_ANSWER,
        "1 - share of the answer's claims that the contexts lack or contradict",
        "How free the answer is of things that the contexts lack or contradict",
    ),
}

_REFERENCE: Final = ("answer", "contexts", "ground_truth")
_EITHER: Final = ("contexts", "ground_truth")
_OMK_WORDS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...], str]]] = {
    "omk.faithfulness": (
        _REFERENCE,
        _EITHER,
        "How far the ground truth, or else the contexts, support the answer",
    ),
    "omk.answer_relevancy": (
        ("question", "answer"),
        (),
        "How far the answer stays with the question and answers it",
    ),
    "omk.context_recall": (
        _REFERENCE,
        _EITHER,
        "How many key facts of the ground truth, or else of the contexts, the answer uses",
    ),
    "omk.semantic_similarity": (
        _REFERENCE,
        _EITHER,
        "How close the answer's meaning is to that of the ground truth, or else of the contexts",
    ),
}


def _judged(
    metric: str, fields: tuple[str, ...], optional: tuple[str, ...], summary: str, **more: Any
) -> Metric:
    return Metric(
        id=metric,
        fields=tuple(name for name in fields if name not in optional),
        optional=optional,
        summary=summary,
        kind="judged",
        null_when="a field is missing, there is nothing to judge, or the judge failed",
        judged=f"{__name__}:rule_of",
        **more,
    )


def _metric(metric: str, style: JudgeStyle) -> Metric:
    fields, optional, calls, _, summary = _WORDS[metric]
    found = OVERLAP_METRICS[metric].threshold if style == "claims" else RATING_THRESHOLD
    cost = calls if style == "claims" else _ONE_CALL
    return _judged(metric, fields, optional, summary, threshold=found, cost=cost, in_composite=True)


def _omk_metric(metric: str) -> Metric:
    fields, optional, summary = _OMK_WORDS[metric]
    return _judged(
        metric,
        fields,
        optional,
        summary,
        threshold=RATING_THRESHOLD,
        cost="1 call",
        source="omk 0.54",
    )


OMK_METRICS: Final = tuple(map(_omk_metric, _OMK_WORDS))

JUDGED_METRICS: Final[Mapping[JudgeStyle, Mapping[str, Metric]]] = MappingProxyType(
    {
        style: {metric: _metric(metric, style) for metric in METRIC_IDS}
        | {metric.id: metric for metric in OMK_METRICS}
        for style in JUDGE_STYLES
    }
)
"""By style the contracts of the seven and of those of ``omk``, which are ratings in either.

Their cost is the number of calls for a row, as a formula: A is the number of claims of the answer,
T that of a ground truth, G the number of ground truths, C that of chunks. ``ceil(A/25)`` is 0
without a claim.
"""

SCORING: Final[Mapping[JudgeStyle, Mapping[str, str]]] = MappingProxyType(
    {
        "claims": {metric: words[3] for metric, words in _WORDS.items()},
        "rating": dict.fromkeys(_WORDS, "A rating of 1 to 5 as 0 to 1"),
    }
)
"""By style how the scores of the seven are counted."""


def metric_fn(metric: str, style: JudgeStyle) -> MetricFn:
    """What computes a metric."""
    if metric in ratings.OMK_RATINGS:
        return ratings.OMK_RATINGS[metric]
    return _CLAIM_METRICS[metric][0] if style == "claims" else ratings.RATINGS[metric]


def steps_of(metric: str, style: JudgeStyle) -> tuple[Step[Any], ...]:
    """The steps of a metric, in the order in which they are asked; metrics share some."""
    if metric in ratings.OMK_RATINGS:
        return (ratings.OMK_RATINGS[metric].step,)
    if style == "claims":
        return _CLAIM_METRICS[metric][1]
    return (ratings.RATINGS[metric].step,)


def rule_of(metric: str) -> JudgedRule:
    """How a judge scores one of these metrics: together with the others of its row."""
    return JudgedRule(
        metric={style: JUDGED_METRICS[style][metric] for style in JUDGE_STYLES},
        steps={style: steps_of(metric, style) for style in JUDGE_STYLES},
    )
