"""Scores are the same on every Python: ``sum()`` of floats compensates from Python 3.12 on."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterable
from types import SimpleNamespace as Part
from typing import Any

import pytest

from rag_eval.judge.accounts import Accounts
from rag_eval.judge.metrics.expected_ratings import expected_rating
from rag_eval.judge.prices import PriceTable
from rag_eval.judge.replies import JudgeIdentity, JudgeLimits, Tally, Usage
from rag_eval.retrieval import ndcg_at_k
from rag_eval.scorers.mastra.trajectory_checks import check_trajectory_efficiency
from rag_eval.scorers.mastra.trajectory_unified import TrajectoryEvaluation, TrajectoryWeights
from rag_eval.scorers.regtrace.format_formulas import format_mean
from rag_eval.scorers.regtrace.formulas import tone_heuristic
from tests.tables import every_row

WORDS = {
    **{"formal": ["therefore"], "informal": ["cool"], "positive": ["great"], "negative": ["bad"]},
    **{"hedge": ["maybe"], "assertive": ["must", "will"]},
}
STEPS = [{"name": name, "durationMs": ms} for name, ms in zip("abc", (0.1, 0.2, 0.3), strict=True)]


builtin_sum = builtins.sum


def compensated(items: Iterable[Any], /, start: float = 0) -> Any:
    found = [start, *items]
    return math.fsum(found) if any(isinstance(one, float) for one in found) else builtin_sum(found)


def evaluation(**parts: Any) -> float:
    return TrajectoryEvaluation(**parts).score(TrajectoryWeights())


def four_parts() -> float:
    scores = {"accuracy": 0.7, "efficiency": 0.75, "tool_failures": 0.85, "blacklist": 1}
    return evaluation(**{name: Part(score=score, patterns=1) for name, score in scores.items()})


def three_nested() -> float:
    inner = Part(violated=False)
    return evaluation(nested=[Part(score=score, evaluation=inner) for score in (0.7, 0.89, 0.26)])


def rating() -> float | None:
    likely = {"3": math.log(0.2), "4": math.log(0.7), "5": math.log(0.1)}
    return expected_rating([('{"rating": ', {}), ("4", likely), ("}", {})])


def cost() -> float | None:
    judges = [JudgeIdentity("openai", name) for name in "abc"]
    prices = {name: {"input": usd, "output": 0} for name, usd in zip("abc", (1, 2, 3), strict=True)}
    accounts = Accounts(judges, JudgeLimits(), PriceTable.of(prices))
    for judge in range(3):
        accounts.call_took(judge, Tally(), Usage(100_000, 0))
    return accounts.cost_usd


# Each was another number where sums are compensated, or where they are not.
@every_row(
    ("score", "expected"),
    [
        (lambda: ndcg_at_k([*"abcdef"], {*"abdef"}, 6), 0.9512312000626861),
        (
            lambda: (
                format_mean("we we cool hence a cool regards", "hence the great i hence good").score
            ),
            0.3333333333333333,
        ),
        (
            lambda: (
                tone_heuristic("will must must we", "the a i maybe we you great of", WORDS).score
            ),
            0.4666666666666666,
        ),
        (four_parts, 0.78),
        (three_nested, 0.88),
        (rating, 3.9000000000000004),
        (cost, 0.6),
        (lambda: check_trajectory_efficiency(STEPS).total_duration_ms, 0.1 + 0.2 + 0.3),
    ],
)
def test_sums_do_not_depend_on_the_python(
    score: Callable[[], float | None], expected: float
) -> None:
    assert score() == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtins, "sum", compensated)
        assert score() == expected
