"""Ratings weighted by log-probabilities: the probability-weighted mean at the rating's token."""

from __future__ import annotations

import asyncio
import json
from math import log
from typing import Any

import pytest

import rag_eval
from rag_eval.adapters.openai import create_openai_judge
from rag_eval.judge.metrics.expected_ratings import expected_rating
from tests.judge_servers import JudgeServer, Sends
from tests.judging import mark_of, reply_with
from tests.tables import every_row

LIKELY = {"4": log(0.5), "5": log(0.25), " 3": log(0.05), "}": log(0.1), "9": log(0.1)}
MEAN = (4 * 0.5 + 5 * 0.25 + 3 * 0.05) / 0.8


def tokens(*texts: str, likely: Any = LIKELY) -> list[tuple[str, Any]]:
    return [(text, likely if text.strip() in "12345" else {text: 0.0}) for text in texts]


@every_row(
    ("found", "mean"),
    [
        (tokens('{"rating', '":', " ", "4", "}"), MEAN),
        (tokens('{"rating":', " 4", "}"), MEAN),
        (tokens('{"rating": "', "4", '"}'), MEAN),
        (tokens('{"rating": ', "4", "}", likely={"4": 0.0}), 4.0),
        (tokens('{"rating": ', "4", "}", likely={"x": 0.0}), None),
        (tokens('{"rating": ', "4", "}", likely={"4": 1.0}), None),  # no probability
        (tokens('{"rating": 4', "}"), None),  # the token holds more
        (tokens('{"rating": ', "4", ".5}"), None),
        (tokens('{"rating": ', "4", '} {"rating": ', "4", "}"), None),
        (tokens('{"reason": "', "4", '"}'), None),
        ([], None),
    ],
)
def test_the_mean_is_over_the_ratings_at_the_token(found: Any, mean: float | None) -> None:
    assert expected_rating(found) == pytest.approx(mean)


def test_the_mean_is_one_of_the_scale_however_it_is_rounded() -> None:
    likely = {"5": -0.14, "3": -39.6, "4": -37.8}  # 5.000000000000001, and an error
    assert expected_rating(tokens('{"rating":', "5", "}", likely=likely)) == 5
    alone = {"4": -180.28763603096957}  # 3.9999999999999996
    assert expected_rating(tokens('{"rating":', "4", "}", likely=alone)) == 4


def answer(prompt: str, logprobs: object) -> Sends:
    text = reply_with(prompt, reason="so", rating=4, expected=1)
    choice = {"message": {"content": text}, "finish_reason": "stop", "logprobs": logprobs}
    return Sends(json.dumps({"choices": [choice]}).encode())


def logprobs_of(prompt: str) -> dict[str, Any]:
    before = f'{{"mark": "{mark_of(prompt)}", "reason": "so", "rating": '
    likely = [{"token": token, "logprob": found, "bytes": None} for token, found in LIKELY.items()]
    return {
        "content": [
            {"token": before, "logprob": 0.0, "top_logprobs": []},
            {"token": "4", "logprob": log(0.5), "top_logprobs": likely},
        ]
    }


SAMPLE = {"question": "Q?", "answer": "A b.", "contexts": ["A b."], "ground_truth": "A b."}


@every_row("metric", ["faithfulness", "omk.faithfulness"])
def test_ratings_are_weighted_where_the_server_tells_the_likeliest_tokens(metric: str) -> None:
    """Ratings of other tools stay whole, and a judge cannot give the mean itself."""

    async def judged(logprobs: Any) -> Any:
        with JudgeServer(lambda prompt: answer(prompt, logprobs(prompt))) as server:
            judge = create_openai_judge(
                "m", base_url=server.openai_url, logprobs=True, top_logprobs=5
            )
            result = await rag_eval.aevaluate(
                SAMPLE, [metric], mode="llm", judge=judge, judge_style="rating"
            )
            sent = server.requests[0].json
        assert (sent["logprobs"], sent["top_logprobs"]) == (True, 5)
        assert "'logprobs': True" in str(result.signature)
        schema = sent["response_format"]["json_schema"]["schema"]
        assert "expected" not in schema["properties"]
        return result.metrics[metric]

    found = asyncio.run(judged(logprobs_of))
    if metric == "faithfulness":
        assert found.score == pytest.approx((MEAN - 1) / 4)
        assert found.explanation == f"Rated 4 of 5 ({MEAN:.2f} weighted by log-probabilities): so"
    else:
        assert (found.score, found.explanation) == (0.75, "Rated 4 of 5: so")
    for unusable in (None, {}, {"content": None}, {"content": [{"token": 1}]}, "yes"):
        found = asyncio.run(judged(lambda prompt, given=unusable: given))
        assert (found.score, found.explanation) == (0.75, "Rated 4 of 5: so")
