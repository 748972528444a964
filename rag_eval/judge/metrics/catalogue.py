"""The judged metrics: fields, steps and cost of each, and how a row is judged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from rag_eval.errors import InputError, suggestion
from rag_eval.judge.asking import Asker
from rag_eval.judge.failures import JudgeFailure
from rag_eval.judge.metrics import chunk_verdicts, claims
from rag_eval.judge.metrics.judgements import (
    JudgedRow,
    Judgement,
    RowSteps,
    has_word,
    null,
    together,
    unasked_zero,
)
from rag_eval.judge.metrics.ratings import rated, rating_step, score_of
from rag_eval.judge.replies import Tally
from rag_eval.judge.steps import Step, Template
from rag_eval.metrics.contract import JUDGE_STYLES, JudgedRule, JudgeStyle, Metric
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.metrics.seven import OVERLAP_METRICS
from rag_eval.plumbing.checked_values import one_of
from rag_eval.samples import NullReason, lack_of

MetricFn: TypeAlias = Callable[[RowSteps, Tally], Awaitable[Judgement]]
Precondition: TypeAlias = Callable[[JudgedRow], Judgement | None]

# 3 of 5.
RATING_THRESHOLD: Final = score_of(3)


# ---------------------------------------------------------------------------------- preconditions


def _question(row: JudgedRow) -> Judgement | None:
    return _lacking("question", row.question is None, has_word(row.question or ""))


def _answer(row: JudgedRow) -> Judgement | None:
    return _lacking("answer", row.answer is None, has_word(row.answer or ""))


def _answer_or_zero(row: JudgedRow) -> Judgement | None:
    if row.answer is not None and not has_word(row.answer):
        return unasked_zero("The answer contains no words.")
    return _answer(row)


def _truth(row: JudgedRow) -> Judgement | None:
    return _lacking("ground truth", not any(row.ground_truths), bool(row.truths))


def _contexts(row: JudgedRow) -> Judgement | None:
    if row.contexts is None:
        return null(NullReason.MISSING_FIELD, "The sample has no contexts.")
    if not any(map(has_word, row.contexts)):
        return unasked_zero("The contexts contain no words, so nothing can support the text.")
    return None


def _reference(row: JudgedRow) -> Judgement | None:
    if row.truths:
        return None
    if row.contexts is None:
        return null(NullReason.MISSING_FIELD, "The sample has neither a ground truth nor contexts.")
    return _contexts(row)


def _lacking(what: str, is_missing: bool, holds_a_word: bool) -> Judgement | None:
    if holds_a_word:
        return None
    reason = NullReason.MISSING_FIELD if is_missing else NullReason.NOTHING_TO_MEASURE
    return null(reason, lack_of(what, reason))


# -------------------------------------------------------------------------------------- the table


class _Judged(NamedTuple):
    """One metric; what its sample must have or may have, and how it is scored claim by claim."""

    summary: str
    fields: tuple[str, ...]
    optional: tuple[str, ...]
    settled_by: tuple[Precondition, ...]
    calls: str = "1"
    score: MetricFn | None = None
    steps: tuple[Step[Any], ...] = ()


_OF_ANSWER: Final = "1 + ceil(A/25), shared by faithfulness and hallucination_rate"
_SUPPORT: Final = (claims.EXTRACT_CLAIMS, claims.VERIFY_CLAIMS)

_SEVEN: Final = {
    "faithfulness": _Judged(
        "How well the contexts support the claims of the answer",
        ("answer", "contexts"),
        ("question",),
        (_answer, _contexts),
        _OF_ANSWER,
        claims.faithfulness,
        _SUPPORT,
    ),
    "answer_relevance": _Judged(
        "How well the answer answers the question",
        ("question", "answer"),
        (),
        (_question, _answer_or_zero),
        score=claims.answer_relevance,
        steps=(claims.ANSWER_STATEMENTS,),
    ),
    "context_precision": _Judged(
        "How high the useful contexts rank",
        ("question", "contexts"),
        ("ground_truth",),
        (_question, _contexts),
        "ceil(C/25)",
        chunk_verdicts.context_precision,
        (chunk_verdicts.USEFUL_CHUNKS,),
    ),
    "context_recall": _Judged(
        "How many key facts of the ground truth the contexts contain",
        ("contexts", "ground_truth"),
        ("question",),
        (_truth, _contexts),
        "G * (1 + ceil(T/25)), the 1 shared with answer_correctness",
        claims.context_recall,
        _SUPPORT,
    ),
    "context_relevance": _Judged(
        "How many of the contexts are relevant to the question",
        ("question", "contexts"),
        (),
        (_question, _contexts),
        "ceil(C/25)",
        chunk_verdicts.context_relevance,
        (chunk_verdicts.RELEVANT_CHUNKS,),
    ),
    "answer_correctness": _Judged(
        "How well the answer agrees with the ground truth",
        ("answer", "ground_truth"),
        ("question",),
        (_truth, _answer_or_zero),
        "1 + G * (1 + ceil(A/25) * ceil(T/25)), the claims shared",
        claims.answer_correctness,
        (claims.EXTRACT_CLAIMS, claims.MATCH_CLAIMS),
    ),
    "hallucination_rate": _Judged(
        "How free the answer is of claims that the contexts lack or contradict",
        ("answer", "contexts"),
        ("question",),
        (_answer, _contexts),
        _OF_ANSWER,
        claims.hallucination_rate,
        _SUPPORT,
    ),
}
_EITHER: Final = ("contexts", "ground_truth")
_OMK: Final = {
    "omk.faithfulness": _Judged(
        "How well the ground truth, or otherwise the contexts, support the answer",
        ("answer",),
        _EITHER,
        (_answer, _reference),
    ),
    "omk.answer_relevancy": _Judged(
        "How well the answer stays on topic and answers the question",
        ("question", "answer"),
        (),
        (_question, _answer_or_zero),
    ),
    "omk.context_recall": _Judged(
        "How many key facts of the ground truth, or otherwise of the contexts, the answer uses",
        ("answer",),
        _EITHER,
        (_reference, _answer_or_zero),
    ),
    "omk.semantic_similarity": _Judged(
        "How close the answer is in meaning to the ground truth, or otherwise to the contexts",
        ("answer",),
        _EITHER,
        (_reference, _answer_or_zero),
    ),
}
_METRICS: Final = {**_SEVEN, **_OMK}
_RATINGS: Final = {
    metric: rating_step(f"rating/{metric}", is_weighed=True)
    if metric in _SEVEN
    else rating_step(metric.replace(".", "/"), is_weighed=False)
    for metric in _METRICS
}


def _contract(metric: str, style: JudgeStyle) -> Metric:
    judged, is_ours, by_claims = _METRICS[metric], metric in _SEVEN, style == "claims"
    cost = judged.calls if by_claims else "1"
    return Metric(
        id=metric,
        fields=judged.fields,
        optional=judged.optional,
        summary=judged.summary,
        kind="judged",
        null_when="a field is missing, there is nothing to judge, or the judge failed",
        judged=f"{__name__}:rule_of",
        threshold=OVERLAP_METRICS[metric].threshold if is_ours and by_claims else RATING_THRESHOLD,
        cost=cost if is_ours else "1 call",
        in_composite=is_ours,
        source="" if is_ours else "omk 0.54",
    )


JUDGED_METRICS: Final[Mapping[JudgeStyle, Mapping[str, Metric]]] = MappingProxyType(
    {
        style: {metric: _contract(metric, style) for metric in (*METRIC_IDS, *_OMK)}
        for style in JUDGE_STYLES
    }
)
"""By style the contracts of the seven and of those of ``omk``, which are ratings in either.

Their cost is the number of calls for a row, as a formula: A is the number of claims of the answer,
T that of a ground truth, G the number of ground truths, C that of chunks. ``ceil(A/25)`` is 0
without a claim.
"""

OMK_METRICS: Final = tuple(JUDGED_METRICS["rating"][metric] for metric in _OMK)


def metric_fn(metric: str, style: JudgeStyle) -> MetricFn:
    """Computes a metric."""
    score = _METRICS[metric].score if style == "claims" else None
    return score or partial(rated, _RATINGS[metric])


def steps_of(metric: str, style: JudgeStyle) -> tuple[Step[Any], ...]:
    """The steps of a metric, in the order in which they are asked; metrics share some."""
    steps = _METRICS[metric].steps if style == "claims" else ()
    return steps or (_RATINGS[metric],)


def rule_of(metric: str) -> JudgedRule:
    """How a judge scores one of these metrics, together with the others of its row."""
    return JudgedRule(
        metric={style: JUDGED_METRICS[style][metric] for style in JUDGE_STYLES},
        steps={style: steps_of(metric, style) for style in JUDGE_STYLES},
    )


def settled(metric: str, row: JudgedRow) -> Judgement | None:
    """The result of a metric that needs no judge; None if a judge must be asked.

    The rules are those of the grounded profile, so that scores are null in the same cases.
    """
    judgements = (precondition(row) for precondition in _METRICS[metric].settled_by)
    return next((found for found in judgements if found is not None), None)


async def judge_row(
    asker: Asker,
    row: JudgedRow,
    metrics: Sequence[str],
    style: JudgeStyle,
    tallies: dict[str, Tally],
) -> dict[str, Judgement]:
    """Judge some metrics of a row concurrently.

    Steps that metrics share are asked once and counted for the first of them, in the order of
    ``metrics``. A failed step makes the scores of all metrics that share it null.

    Parameters
    ----------
    metrics : sequence of str
        Keys of :data:`~rag_eval.judge.metrics.catalogue.JUDGED_METRICS`.
    style : {"claims", "rating"}
        The style of the seven metrics; those of ``omk`` are always ratings.
    tallies : dict of Tally
        By metric; missing ones are added.

    Returns
    -------
    dict of Judgement
        By metric, in the order of ``metrics``.

    Raises
    ------
    JudgeUnavailableError
        If the judge cannot be used.
    """
    wanted = list(dict.fromkeys(metrics))
    _check(wanted, style)
    steps = RowSteps(asker, row)
    # Steps that begin with the chunks follow one another, so that a server can reuse its work on
    # them; metrics that share a step keep their order.
    order = sorted(wanted, key=lambda metric: "chunk" in _first_step(metric, style).variables)
    judging = [
        _judged(steps, metric, style, tallies.setdefault(metric, Tally())) for metric in order
    ]
    try:
        found = dict(zip(order, await together(judging), strict=True))
        await steps.finish()
    finally:
        await steps.close()
    return {metric: found[metric] for metric in wanted}


def _first_step(metric: str, style: JudgeStyle) -> Template:
    return steps_of(metric, style)[0].template


async def _judged(steps: RowSteps, metric: str, style: JudgeStyle, tally: Tally) -> Judgement:
    without_judge = settled(metric, steps.row)
    if without_judge is not None:
        return without_judge
    try:
        return await metric_fn(metric, style)(steps, tally)
    except JudgeFailure as failure:
        return null(failure.null_reason, str(failure))


def _check(metrics: Sequence[str], style: str) -> None:
    one_of(style, "the judge's style", JUDGE_STYLES)
    for metric in metrics:
        if metric not in JUDGED_METRICS["claims"]:
            hint = suggestion(metric, JUDGED_METRICS["claims"])
            raise InputError(f"{metric!r} is not a judged metric{hint}")
