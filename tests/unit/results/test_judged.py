"""What a result file says of a judged metric."""

from __future__ import annotations

from typing import Any

from rag_eval.results.judged import JudgedScore
from rag_eval.samples import NullReason
from tests.tables import every_row

SEVERAL = {"spread": 0.1, "flaky": True}
VERDICT = {"verdict": "no", "reason": "r"}


@every_row(
    ("given", "written"),
    [
        ({}, {}),
        ({"by_judge": ((0.5,),), **SEVERAL}, {}),  # one question to one judge has no spread
        (
            {"by_judge": ((0.5, None),), **SEVERAL},
            {"byJudge": [[0.5, None]], "spread": 0.1, "flaky": True},
        ),
        (
            {"by_judge": ((0.5,), (0.7,)), **SEVERAL},
            {"byJudge": [[0.5], [0.7]], "spread": 0.1, "flaky": True},
        ),
        (
            {"mode": "heuristic", "failure": NullReason.JUDGE_FAILED, "message": "no reply"},
            {"fallback": True, "message": "no reply"},
        ),
        ({"mode": "heuristic", "is_audit": True, "share": 0.1}, {"auditShare": 0.1}),
    ],
)
def test_only_what_there_is_is_written(given: dict[str, Any], written: dict[str, Any]) -> None:
    whole = {"score": 0.5, "null_reason": NullReason.MEASURED, "mode": "llm", "details": (VERDICT,)}
    judged = JudgedScore(**{**whole, "judge_score": 0.5, "native_score": 0.2, **given})
    scores = {"score": 0.5, "nativeScore": 0.2}
    assert judged.to_dict(details=False) == {**scores, **written}
    assert judged.to_dict(details=True) == {**scores, **written, "verdicts": [VERDICT]}
