"""The judged metrics by id: what each reads, asks and costs, and where it passes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from rag_eval.judge.asking import Tally
from rag_eval.judge.metrics import chunk_verdicts, claims, correctness, ratings, relevance
from rag_eval.judge.metrics.judgements import Judgement
from rag_eval.judge.metrics.row_steps import RowSteps
from rag_eval.judge.steps import Step
from rag_eval.judge.styles import JUDGE_STYLES, JudgeStyle
from rag_eval.metrics.seven import OVERLAP_METRICS
from rag_eval.samples import METRIC_IDS

MetricFn: TypeAlias = Callable[[RowSteps, Tally], Awaitable[Judgement]]

# 3 of 5.
RATING_THRESHOLD: Final = ratings.score_of(3)
_ONE_CALL: Final = "1"


@dataclass(frozen=True, slots=True)
class JudgedSpec:
    """Contract of one judged metric; higher is better in all of them.

    Attributes
    ----------
    id : str
    fields : tuple of str
        Sample fields it reads.
    optional : tuple of str
        Those of them that it can do without.
    thresholds : mapping of style to float
        A score passes from there on.
    calls : mapping of style to str
        Calls for a row, as a formula. A is the number of claims of the answer, T that of a ground
        truth, G the number of ground truths, C that of chunks. ``ceil(A/25)`` is 0 without a claim.
    summary : str
        What it measures.
    scoring : mapping of style to str
        How the score is counted.
    """

    id: str
    fields: tuple[str, ...]
    optional: tuple[str, ...]
    thresholds: Mapping[JudgeStyle, float]
    calls: Mapping[JudgeStyle, str]
    summary: str
    scoring: Mapping[JudgeStyle, str]


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


_RATED: Final = "A rating of 1 to 5 as 0 to 1"


def _spec(metric: str) -> JudgedSpec:
    fields, optional, calls, scoring, summary = _WORDS[metric]
    threshold = OVERLAP_METRICS[metric].threshold
    assert threshold is not None
    return JudgedSpec(
        metric,
        fields,
        optional,
        thresholds={"claims": threshold, "rating": RATING_THRESHOLD},
        calls={"claims": calls, "rating": _ONE_CALL},
        summary=summary,
        scoring={"claims": scoring, "rating": _RATED},
    )


def _omk_spec(metric: str) -> JudgedSpec:
    fields, optional, summary = _OMK_WORDS[metric]
    return JudgedSpec(
        metric,
        fields,
        optional,
        thresholds=dict.fromkeys(JUDGE_STYLES, RATING_THRESHOLD),
        calls=dict.fromkeys(JUDGE_STYLES, _ONE_CALL),
        summary=summary,
        scoring=dict.fromkeys(JUDGE_STYLES, _RATED),
    )


JUDGED_METRICS: Final[Mapping[str, JudgedSpec]] = MappingProxyType(
    {metric: _spec(metric) for metric in METRIC_IDS}
    | {metric: _omk_spec(metric) for metric in _OMK_WORDS}
)
"""The seven metrics and those of ``omk``, which are ratings in either style."""

DEFAULT_THRESHOLDS: Final[Mapping[JudgeStyle, Mapping[str, float]]] = MappingProxyType(
    {
        style: {metric: spec.thresholds[style] for metric, spec in JUDGED_METRICS.items()}
        for style in JUDGE_STYLES
    }
)


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


STEPS_OF: Final[Mapping[JudgeStyle, Mapping[str, tuple[Step[Any], ...]]]] = MappingProxyType(
    {
        style: {metric: steps_of(metric, style) for metric in JUDGED_METRICS}
        for style in JUDGE_STYLES
    }
)
"""The steps of all metrics, by style and metric."""
