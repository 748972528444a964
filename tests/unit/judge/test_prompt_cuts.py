"""Servers that cut prompts, known by what they report; and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

import rag_eval
from rag_eval.judge.prompt_cuts import cut_message
from rag_eval.judge.replies import JudgeReply, Usage
from rag_eval.results.batch import BatchEvalResult
from rag_eval.samples import NullReason, null_reason_named
from tests.fluent_judge import FluentJudge
from tests.tables import every_row

WORDS = "the bridge opened late " * 1000
# Thai, Japanese and Chinese are written without spaces.
UNSPACED = "วันนี้อากาศดีมาก" * 300 + "今日はとても良い天気です。" * 300


@every_row(
    ("prompt", "reported", "is_cut"),
    [
        (WORDS, 2048, True),
        (WORDS, 2999, True),
        (WORDS, 3000, False),
        (WORDS, 5600, False),
        (WORDS, 0, False),  # a server that does not count
        ("word " * 299, 11, False),
        ("word " * 300, 11, True),
        ("x" * 1700, 1, False),  # one word, whatever it takes
        (UNSPACED, 300, True),
        (UNSPACED, 3000, False),
        ("=" * 40_000, 700, False),
        (" \n" * 20_000, 10, False),
    ],
)
def test_a_count_that_no_tokeniser_comes_to(prompt: str, reported: int, is_cut: bool) -> None:
    assert (cut_message(prompt, Usage(reported, 5)) is not None) is is_cut
    assert cut_message(prompt, Usage(reported, 5, estimated=True)) is None


def test_a_prompt_that_was_cut_is_null_and_not_cached_or_asked_again(tmp_path: Path) -> None:
    fluent = FluentJudge(lambda text: 1.0)

    def judge(prompt: str) -> JudgeReply:
        return JudgeReply(fluent(prompt), usage=Usage(min(512, len(prompt) // 4), 20))

    judge.judge_name = "small"  # type: ignore[attr-defined]
    long = {"question": "q?", "answer": "It is red.", "contexts": ["It is red. " * 400]}
    short = {**long, "contexts": ["It is red."]}
    results = [
        rag_eval.evaluate_batch(
            [long, short],
            ["faithfulness"],
            mode="llm",
            judge=judge,
            judge_cache=tmp_path / "c.db",
            prices={"small": {"input": 1e6, "output": 0}},
        )
        for _ in range(2)
    ]
    for result, n_calls in zip(results, (4, 1), strict=True):
        cut, whole = (row.metrics.faithfulness for row in result.results)
        assert (cut.score, cut.null_reason) == (None, NullReason.JUDGE_PROMPT_CUT)
        assert "the server reports 512 tokens for a prompt of 1," in cut.explanation
        assert whole.score == 1
        assert result.total_cost.llm_calls == n_calls
        assert result.judging is not None
        # What the server worked on has its price.
        assert (result.judging.cost_usd or 0) >= 512


def test_files_name_the_reason_and_readers_take_those_of_later_versions() -> None:
    sample = {"question": "q?", "answer": "It is red.", "contexts": ["It is red. " * 400]}
    fluent = FluentJudge()
    result = rag_eval.evaluate_batch(
        [sample],
        ["faithfulness"],
        mode="llm",
        judge=lambda prompt: JudgeReply(fluent(prompt), usage=Usage(512, 1)),
    )
    text = result.to_json()
    assert text is not None
    assert '"nullReason":"judge_prompt_cut"' in text.replace(" ", "")
    read = BatchEvalResult.from_json(text)
    assert read.results[0].metrics.faithfulness.null_reason == NullReason.JUDGE_PROMPT_CUT
    later = BatchEvalResult.from_json(text.replace("judge_prompt_cut", "judge_of_a_later_version"))
    assert later.results[0].metrics.faithfulness.null_reason == NullReason.JUDGE_FAILED
    with pytest.raises(rag_eval.errors.InputError, match="nullReason"):
        BatchEvalResult.from_json(text.replace("judge_prompt_cut", "prompt_cut"))
    assert null_reason_named("judge_prompt_cut") == 14
