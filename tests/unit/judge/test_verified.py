"""Probabilities of claims -> scores, verdicts, and whether the verifier is sure of a row."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rag_eval.judge.failures import JudgeFailure
from rag_eval.judge.metrics.judgements import JudgedRow
from rag_eval.judge.metrics.verified import RowVerifier, Verification, claims_in
from rag_eval.judge.replies import Tally
from rag_eval.judge.verifiers import Support, Verifier
from rag_eval.samples import NullReason
from tests.tables import every_row

VERIFIER = Verifier(lambda premises, claim: 0.5, name="v", threshold=0.6)
BAND = (0.4, 0.8)
THRESHOLDS = {"faithfulness": 0.7, "hallucination_rate": 0.7, "context_recall": 0.7}


class Says:
    """An asker with a probability per claim; a text in its place is a failure."""

    def __init__(self, said: Mapping[str, float | str]) -> None:
        self.asked: list[str] = []
        self._said = said

    async def support(self, premises: Sequence[str], claim: str, tally: Tally) -> Support:
        self.asked.append(claim)
        tally.verified_claims += 1
        found = self._said[claim]
        if isinstance(found, str):
            raise JudgeFailure("failed", found)
        return Support(found, 1, (3, 1200))


def verified(
    row: JudgedRow, metrics: Sequence[str], said: Mapping[str, float | str], **tallies: Tally
) -> tuple[dict[str, Verification], Says]:
    asker = Says(said)
    verifier = RowVerifier(asker, VERIFIER, BAND, THRESHOLDS)
    counted = {metric: tallies.get(metric, Tally()) for metric in metrics}
    return asyncio.run(verifier.verified(row, metrics, counted)), asker


def answer_of(n_claims: int) -> tuple[str, list[str]]:
    claims = [f"Claim {chr(97 + n)} is made here." for n in range(n_claims)]
    return " ".join(claims), claims


@every_row(
    ("probabilities", "score", "is_sure"),
    [
        ((0.9, 0.95), 1.0, True),
        ((0.1, 0.2), 0.0, True),
        # The band belongs to what is uncertain, and the threshold to what is supported.
        ((0.6,), 1.0, False),
        ((0.59,), 0.0, False),
        ((0.8,), 1.0, False),
        ((0.81,), 1.0, True),
        ((0.4,), 0.0, False),
        ((0.39,), 0.0, True),
        # Of ten claims, one in doubt can change nothing; of three, it decides.
        ((*(0.9,) * 9, 0.5), 0.9, True),
        ((0.9, 0.9, 0.5), 2 / 3, False),
        ((0.1, 0.1, 0.5), 0.0, True),
        ((0.9, 0.9, 0.9, 0.1), 0.75, True),
    ],
)
def test_scores_are_shares_of_supported_claims_and_sure_where_no_doubt_can_change_the_verdict(
    probabilities: tuple[float, ...], score: float, is_sure: bool
) -> None:
    answer, claims = answer_of(len(probabilities))
    found, _ = verified(
        JudgedRow(answer=answer, contexts=["c"]),
        ["faithfulness"],
        dict(zip(claims, probabilities, strict=True)),
    )
    assert found["faithfulness"].judgement.score == score
    assert found["faithfulness"].is_sure == is_sure


def test_verdicts_name_the_probability_and_the_window_that_decided() -> None:
    answer, (first, second) = answer_of(2)
    row = JudgedRow(answer=answer, contexts=["a", "b"])
    found, _ = verified(row, ["faithfulness"], {first: 0.9, second: 0.1})
    judgement = found["faithfulness"].judgement
    assert [verdict.to_dict() for verdict in judgement.verdicts] == [
        {
            "subject": "answer claim",
            "verdict": verdict,
            "text": claim,
            "chunk": 1,
            "probability": probability,
            "window": [3, 1200],
            "reason": f"probability of support {probability:.3f} by characters 3 to 1,200 of the "
            "context",
        }
        for claim, verdict, probability in (
            (first, "supported", 0.9),
            (second, "unsupported", 0.1),
        )
    ]
    assert judgement.explanation == (
        "2 answer claims, verified against the contexts by verifier:v: 1 supported, 1 unsupported."
    )


def test_what_metrics_share_is_asked_once_and_counted_for_the_first() -> None:
    answer, claims = answer_of(2)
    row = JudgedRow(answer=answer, contexts=["c"], ground_truths=["It rained.", "It snowed."])
    said = {**dict.fromkeys(claims, 0.9), "It rained.": 0.1, "It snowed.": 0.95}
    tallies = {metric: Tally() for metric in THRESHOLDS}
    found, asker = verified(row, list(THRESHOLDS), said, **tallies)
    assert max(Counter(asker.asked).values()) == 1
    assert {name: one.judgement.score for name, one in found.items()} == dict.fromkeys(
        THRESHOLDS, 1.0
    )
    # Of several ground truths one is enough, and it makes the row sure.
    assert found["context_recall"].is_sure
    assert [tallies[metric].verified_claims for metric in THRESHOLDS] == [2, 0, 2]


@every_row(
    ("row", "reason"),
    [
        (JudgedRow(answer="", contexts=["c"]), NullReason.NOTHING_TO_MEASURE),
        (JudgedRow(answer=None, contexts=["c"]), NullReason.MISSING_FIELD),
        (JudgedRow(answer="It rains.", contexts=None), NullReason.MISSING_FIELD),
        (JudgedRow(answer="I don't know.", contexts=["c"]), NullReason.REFUSAL),
        (JudgedRow(answer="It rains.", contexts=["", " "]), NullReason.MEASURED),
    ],
)
def test_rows_without_claims_or_texts_ask_nothing(row: JudgedRow, reason: NullReason) -> None:
    found, asker = verified(row, ["faithfulness"], {})
    judgement = found["faithfulness"].judgement
    assert asker.asked == []
    assert judgement.null_reason == reason
    assert judgement.score == (0.0 if reason == NullReason.MEASURED else None)


def test_a_failed_claim_is_a_null_of_its_metrics_and_of_no_other() -> None:
    answer, (first, second) = answer_of(2)
    row = JudgedRow(answer=answer, contexts=["c"], ground_truths=["It rained."])
    said = {first: 0.9, second: "too long", "It rained.": 0.9}
    found, asker = verified(row, list(THRESHOLDS), said)
    for metric in ("faithfulness", "hallucination_rate"):
        judgement = found[metric].judgement
        assert (judgement.null_reason, judgement.message) == (NullReason.JUDGE_FAILED, "too long")
        assert not found[metric].is_sure
    assert found["context_recall"].judgement.score == 1.0
    assert max(Counter(asker.asked).values()) == 1


@every_row(
    ("text", "claims"),
    [
        (
            "Dr. Marsh led it (e.g. in 1999) [3]. The facts are:\n- Alice won\n- Bob lost 3.5.",
            ["Dr. Marsh led it (e.g. in 1999) [3].", "Alice won", "Bob lost 3.5."],
        ),
        ("北京是首都。上海很大。", ["北京是首都。", "上海很大。"]),
        ("It rains. It rains.", ["It rains."]),
        ("!!", []),
    ],
)
def test_claims_are_the_sentences_of_the_grounded_profile(text: str, claims: list[Any]) -> None:
    assert claims_in(text)[0] == claims
