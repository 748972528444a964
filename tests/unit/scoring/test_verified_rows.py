"""A verifier in runs: kernels, then the verifier, then the judge, each for what is left."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import rag_eval
from rag_eval import BatchEvalResult
from rag_eval.errors import InputError
from rag_eval.judge import Verifier
from rag_eval.judge.failures import JudgeUnavailableError
from rag_eval.samples import NullReason
from tests.fluent_judge import FluentJudge, read_prompt

FAITH = ["faithfulness"]
# What the verifier says of an answer that has the word.
SAYS = {"certain": 0.97, "dubious": 0.5, "false": 0.02}
KINDS = ("certain", "dubious", "false", "long", "certain")


def row(n: int) -> dict[str, Any]:
    kind = KINDS[n % len(KINDS)]
    return {
        "id": f"q{n}",
        "question": "What is said?",
        "answer": f"It is {kind} that thing {n} is red.",
        "contexts": [f"Thing {n} may be red, as people say."],
    }


ROWS = [row(n) for n in range(20)]


class Judge(FluentJudge):
    """A judge that supports every claim; it keeps the answers that it was asked about."""

    def __init__(self) -> None:
        super().__init__(lambda text: 1.0)
        self.asked: list[str] = []
        self._of_answers = threading.Lock()

    def __call__(self, prompt: str) -> str:
        found = read_prompt(prompt)
        if "text" in found.fields:
            with self._of_answers:
                self.asked += found.texts("text")
        return super().__call__(prompt)


def verifier(**more: Any) -> Verifier:
    def score(premises: Sequence[str], claim: str) -> float:
        for word, probability in SAYS.items():
            if word in claim:
                return probability
        raise ValueError("the claim is too long")

    return Verifier(score, name="words", **more)


def cascade(rows: Sequence[dict[str, Any]] = ROWS, **options: Any) -> BatchEvalResult:
    given: Any = {
        "mode": "cascade",
        "profile": "grounded",
        "cascade_band": (0.0, 1.0),
        "verifier": verifier(),
        **options,
    }
    return rag_eval.evaluate_batch(rows, FAITH, **given)


def modes(batch: BatchEvalResult) -> list[str]:
    return [one.metrics.faithfulness.mode for one in batch.results]


def test_the_judge_is_asked_only_about_what_the_verifier_leaves_uncertain() -> None:
    judge = Judge()
    batch = cascade(judge=judge)
    left = [n for n in range(20) if KINDS[n % 5] in ("dubious", "long")]
    assert sorted(judge.asked) == sorted(ROWS[n]["answer"] for n in left)
    assert modes(batch) == ["llm" if n in left else "verifier" for n in range(20)]
    wanted = [0.0 if KINDS[n % 5] == "false" else 1.0 for n in range(20)]
    assert [one.metrics.faithfulness.score for one in batch.results] == wanted
    judging = batch.judging
    assert judging is not None
    found = judging.metrics["faithfulness"]
    assert (found.n_judged, found.n_verified, found.n_unverified) == (20, 12, 4)
    assert found.unverified == "the verifier raised ValueError: the claim is too long"
    assert found.tally.verified_claims == 20
    # Two calls for each row that went to the judge, and as many saved for each that did not.
    assert (found.tally.llm_calls, found.calls_saved) == (16, 24)
    assert judging.verifier == "verifier:words"
    assert found.n_both == 20


def test_each_row_says_what_every_tier_found(tmp_path: Path) -> None:
    batch = cascade(judge=Judge())
    path = tmp_path / "run.json"
    batch.to_json(path)
    for results in (batch.results, BatchEvalResult.from_json(path).results):
        certain, dubious, _, too_long, _ = (one.metrics.faithfulness for one in results[:5])
        for found in (certain, dubious, too_long):
            assert found.judged is not None
            assert found.judged.native_score is not None
        assert (certain.judged.judge_score, certain.judged.verifier_score) == (1.0, 1.0)
        assert (dubious.judged.judge_score, dubious.judged.verifier_score) == (1.0, 1.0)
        assert too_long.judged.verifier_score is None
        assert too_long.judged.verifier_message.endswith("the claim is too long")
        assert (certain.mode, dubious.mode) == ("verifier", "llm")


def test_rows_outside_the_kernels_band_are_for_nobody_and_audits_for_the_judge() -> None:
    judge = Judge()
    batch = cascade(judge=judge, cascade_band=(0.999, 1.0), audit_share=0.5)
    assert batch.judging is not None
    found = batch.judging.metrics["faithfulness"]
    assert 0 < found.n_audited == len(judge.asked) < 20
    assert (found.n_verified, found.tally.verified_claims) == (0, 0)


def test_a_wider_band_of_the_verifier_leaves_more_to_the_judge() -> None:
    n_asked = []
    for band in ((0.5, 0.5), (0.02, 0.8), (0.0, 1.0)):
        judge = Judge()
        cascade(judge=judge, verifier_band=band)
        n_asked.append(len(judge.asked))
    assert n_asked == [8, 12, 20]
    with pytest.raises(InputError, match=r"must enclose the verifier's threshold 0.5, got 0.6"):
        cascade(judge=Judge(), verifier_band=(0.6, 0.9))


def test_without_a_judge_the_verifier_decides_all_and_its_faults_are_nulls() -> None:
    batch = cascade()
    scores = [one.metrics.faithfulness.score for one in batch.results[:5]]
    assert scores == [1.0, 1.0, 0.0, None, 1.0]
    assert batch.results[3].metrics.faithfulness.null_reason == NullReason.JUDGE_FAILED
    kept = cascade(on_judge_failure="heuristic")
    assert kept.results[3].metrics.faithfulness.mode == "heuristic"
    assert kept.results[3].metrics.faithfulness.score in (0.0, 1.0)


def test_judges_agree_on_the_rows_that_they_were_asked_about() -> None:
    judges = [Judge(), Judge()]
    batch = cascade(judges=judges, judge_repeat=2)
    assert [sorted(set(one.asked)) for one in judges] == [
        sorted(ROWS[n]["answer"] for n in range(20) if KINDS[n % 5] in ("dubious", "long"))
    ] * 2
    assert batch.judging is not None
    assert batch.judging.agreement["faithfulness"].n_rows == 8


def test_a_budget_is_for_both_tiers() -> None:
    judge = Judge()
    batch = cascade(
        judge=judge,
        verifier=verifier(cost_per_claim=0.1),
        budget_usd=0.65,
        prices={"fluent": {"input": 0, "output": 0}},
    )
    reasons = [one.metrics.faithfulness.null_reason for one in batch.results]
    assert reasons.count(NullReason.JUDGE_BUDGET) >= 12
    assert batch.judging is not None
    assert batch.judging.cost_usd == pytest.approx(0.7)


def test_a_verifier_that_is_broken_ends_the_run_and_keeps_what_came_before() -> None:
    n = 0

    def fatal(premises: Sequence[str], claim: str) -> float:
        nonlocal n
        n += 1
        if n > 6:
            raise PermissionDenied()
        return 0.9

    class PermissionDenied(Exception):
        status_code = 401

    with pytest.raises(JudgeUnavailableError, match="verifier:f cannot be used") as stopped:
        cascade(judge=Judge(), verifier=Verifier(fatal, name="f"))
    partial: Any = stopped.value.partial
    assert [one.metrics.faithfulness.mode for one in partial.results] == ["verifier"] * 6


def test_signatures_name_the_verifier_and_its_band_where_a_judge_follows() -> None:
    signed = [
        batch.results[0].signature.options
        for batch in (
            cascade(judge=Judge()),
            cascade(judge=Judge(), verifier_band=(0.1, 0.9)),
            cascade(judge=Judge(), verifier=verifier(version="2")),
            cascade(judge=Judge(), verifier=verifier(threshold=0.6)),
            cascade(),
        )
    ]
    assert len({json.dumps(one["verifier"], sort_keys=True) for one in signed}) == 5
    assert signed[0]["verifier"]["band"] == [0.2, 0.8]
    assert "band" not in signed[4]["verifier"]
    assert "judgePrompts" not in signed[4]


def test_a_run_with_another_verifier_is_not_comparable() -> None:
    old, new = cascade(), cascade(verifier=verifier(version="2"))

    with pytest.raises(rag_eval.errors.SignatureMismatchError, match="verifier"):
        rag_eval.compare(old, new)
