"""Judgements of one metric of one row -> its score: the mean over judges and their repeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_eval.judge.failures import JUDGE_FAILURES
from rag_eval.judge.metrics.judgements import Judgement
from rag_eval.judge.repeats import is_flaky, mean_of, spread_of
from rag_eval.judge.replies import Tally
from rag_eval.results.judged import JudgedScore
from rag_eval.samples import NullReason, ScoredBy


@dataclass(frozen=True, slots=True)
class OneJudgement:
    """One judge asked once about one metric of one row.

    Attributes
    ----------
    score : float or None
    null_reason : NullReason
    message : str
        Why there is no score.
    explanation : str
    details : tuple of dict
        Verdicts as JSON values.
    """

    score: float | None
    null_reason: NullReason
    message: str = ""
    explanation: str = ""
    details: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def of(cls, judgement: Judgement) -> OneJudgement:
        """A judgement of one of our metrics."""
        return cls(
            judgement.score,
            judgement.null_reason,
            judgement.message,
            judgement.explanation,
            tuple(verdict.to_dict() for verdict in judgement.verdicts),
        )


def combined(
    judgements: Sequence[OneJudgement],
    *,
    repeat: int,
    threshold: float | None,
    mode: ScoredBy = "llm",
    higher_is_better: bool,
    native_score: float | None,
    is_audit: bool,
    share: float,
    tally: Tally,
) -> JudgedScore:
    """All judges and repeats as one: the mean over judges of their means over repeats.

    Parameters
    ----------
    judgements : sequence of OneJudgement
        Judge by judge, ``repeat`` of each.
    threshold : float or None
        Of the judge's own scores; without one nothing is flaky.
    mode : {"llm", "verifier"}
        Who judged.
    """
    by_judge = tuple(
        tuple(one.score for one in judgements[begin : begin + repeat])
        for begin in range(0, len(judgements), repeat)
    )
    first = min(judgements, key=_rank)
    # Were some of them cut short, the mean of the others would be another score.
    score = None if first.score is None else mean_of(map(mean_of, by_judge))
    without = next((one for one in judgements if one.score is None), None)
    failed = first.null_reason in JUDGE_FAILURES
    return JudgedScore(
        score=score,
        null_reason=first.null_reason,
        mode=mode,
        failure=first.null_reason if failed else NullReason.MEASURED,
        message="" if without is None else without.message,
        explanation=first.explanation,
        judge_score=score,
        by_judge=by_judge,
        native_score=native_score,
        spread=spread_of(one.score for one in judgements),
        flaky=any(
            is_flaky(repeats, threshold, higher_is_better=higher_is_better) for repeats in by_judge
        ),
        is_audit=is_audit,
        share=share,
        tally=tally,
        details=first.details,
    )


def _rank(one: OneJudgement) -> int:
    """The judgement that stands for all: the first of the lowest rank."""
    if one.null_reason == NullReason.JUDGE_INTERRUPTED:
        return 0
    if one.score is not None:
        return 1
    return 3 if one.null_reason in JUDGE_FAILURES else 2
