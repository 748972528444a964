"""The benchmarks of judging: their server answers, both sides ask the same, lost bars are told."""

from __future__ import annotations

import json
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import bare_sdk, judge_machinery, judged_runs, write_results
from benchmarks.instant_server import InstantServer, Provider, instant_server
from benchmarks.judge_question import FIELDS, STEP, STYLE, Verdict, mark_in, reply_text
from benchmarks.judge_results import judge_bars
from rag_eval.judge.failures import JudgeFailure
from rag_eval.judge.reading import read_reply
from rag_eval.judge.rendering import render
from rag_eval.judge.replies import JudgeReply
from tests.judge_servers import JudgeServer
from tests.tables import every_row

PROVIDERS: tuple[Provider, ...] = ("openai", "anthropic")
PATHS: dict[Provider, str] = {"openai": "/chat/completions", "anthropic": "/v1/messages"}


@pytest.fixture(scope="module")
def server() -> Iterator[InstantServer]:
    with instant_server() as found:
        yield found


def body_of(prompt: str) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": prompt}]}).encode()


def said(provider: Provider, answer: bytes) -> str:
    found = json.loads(answer)
    if provider == "openai":
        return str(found["choices"][0]["message"]["content"])
    return str(found["content"][0]["text"])


@every_row("provider", PROVIDERS)
def test_the_server_repeats_the_mark_of_the_prompt(
    server: InstantServer, provider: Provider
) -> None:
    prompt = render(STEP, FIELDS, STYLE)
    url = server.url(provider) + PATHS[provider]
    with urllib.request.urlopen(url, body_of(prompt.text), timeout=30) as answer:
        text = said(provider, answer.read())
    assert text == reply_text(prompt.mark)
    assert read_reply(JudgeReply(text), prompt.mark, Verdict) == Verdict(1)


def test_the_server_answers_requests_however_they_are_cut(server: InstantServer) -> None:
    marks = ["ab12", "cd34"]
    stream = b""
    for mark in marks:
        body = body_of(f'Its first key is "mark" with the value "{mark}".')
        head = f"POST /v1/messages HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n"
        stream += head.encode() + body
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        for begin in range(0, len(stream), 37):
            connection.sendall(stream[begin : begin + 37])
        received = b""
        while received.count(b"output_tokens") < len(marks):
            received += connection.recv(1 << 16)
    places = [received.index(mark.encode()) for mark in marks]
    assert places == sorted(places)


def test_the_server_ends_with_the_block() -> None:
    with instant_server() as server:
        process = Path(f"/proc/{server.pid}")
        assert process.exists()
        assert server.processor_seconds() >= 0
    assert not process.exists()


@every_row("provider", PROVIDERS)
def test_rates_are_compared_round_by_round(server: InstantServer, provider: Provider) -> None:
    pytest.importorskip(provider)
    rates = bare_sdk.beside_sdk(provider, server, concurrency=2, n_calls=4, rounds=3)
    assert set(rates.by_clock) == set(rates.by_processor) == {"sdk", "library"}
    assert all(len(found) == 3 for found in rates.by_clock.values())
    rounds = zip(rates.by_clock["library"], rates.by_clock["sdk"], strict=True)
    assert rates.ratio().median == sorted(ours / theirs for ours, theirs in rounds)[1]


@every_row("provider", PROVIDERS)
def test_the_library_and_the_sdk_by_itself_send_the_same(provider: Provider) -> None:
    pytest.importorskip(provider)
    with JudgeServer(lambda prompt: reply_text(mark_in(prompt))) as recording:
        place = InstantServer(recording.port, 0)
        bare_sdk.beside_sdk(provider, place, concurrency=1, n_calls=1, rounds=1)
        sent = [(request.path, without_marks(request.json)) for request in recording.requests]
    assert len(sent) == 4
    assert all(one == sent[0] for one in sent)


def without_marks(body: dict[str, Any]) -> dict[str, Any]:
    mark = mark_in(body["messages"][-1]["content"])
    unmarked: dict[str, Any] = json.loads(json.dumps(body).replace(mark, "MARK"))
    return unmarked


def test_a_call_of_the_machinery_is_answered_and_read() -> None:
    for judge in judge_machinery.JUDGES.values():
        judge_machinery.judged(judge, 5)

    def without_a_mark(prompt: str) -> str:
        return reply_text("")

    with pytest.raises(JudgeFailure):
        judge_machinery.judged(without_a_mark, 5)


def test_the_whole_of_a_call_takes_longer_than_its_parts() -> None:
    found = judge_machinery.part_costs(100, 5)
    assert found["whole"].median > found["prompt"].median
    assert found["whole"].median > found["reading"].median


def test_whole_runs_make_the_calls_of_every_metric() -> None:
    found = judged_runs.run_rates(4, 1)
    assert {style: one["calls_a_row"] for style, one in found.items()} == {
        "claims": 8.0,
        "rating": 7.0,
    }


def test_a_whole_run_with_a_reply_that_cannot_be_used_is_not_timed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def without_verdicts(prompt: str) -> str:
        return reply_text(mark_in(prompt))

    monkeypatch.setattr(judged_runs, "instant_judge", without_verdicts)
    with pytest.raises(AssertionError):
        judged_runs.run_rates(2, 1)


# ----------------------------------------------------------------------------------- results


def figures(ratio: float, rate: float, grown_mb: float) -> dict[str, Any]:
    spread = [rate, rate * 0.9, rate * 1.1]
    return {
        "calls_per_second": {"async callable": spread, "plain function": spread},
        "calls_per_second_bar": judge_machinery.CALLS_PER_SECOND_BAR,
        "part_us": {"whole": [150, 140, 160], "prompt": [30, 28, 32], "reading": [14, 13, 15]},
        "pending": 100_000,
        "growth_mb": grown_mb,
        "growth_bar_mb": judge_machinery.GROWTH_BAR_MB,
        "beside_sdk": [
            {
                "provider": "openai",
                "concurrency": 4,
                "calls_per_second": {"library": spread, "sdk": spread},
                "ratio": [ratio, ratio - 0.1, ratio + 0.1],
                "processor_ratio": [ratio, ratio, ratio],
                "server_us": 300.0,
                "bar": bare_sdk.RATIO_BAR,
            }
        ],
        "runs": {
            "claims": {
                "rows_per_second": [200, 190, 210],
                "calls_per_second": [1_600, 1_520, 1_680],
                "processor_us": [400, 390, 410],
                "calls_a_row": 8.0,
            }
        },
        "load": (1.0, 2.0, 3.0),
    }


def infos_of(found: dict[str, Any]) -> list[dict[str, Any]]:
    """As the benches leave them."""
    load = {"load": found["load"]}
    return [
        {"what": "judge_machinery", **found},
        {"what": "judge_memory", **found},
        *({"what": "judge_sdk", **one, **load} for one in found["beside_sdk"]),
        {"what": "judge_runs", "rows": 200, "runs": found["runs"], **load},
    ]


def test_bars_that_were_met_are_no_complaints() -> None:
    found = figures(0.8, 2_000.0, 60.0)
    assert list(judge_machinery.complaints(found)) == []
    assert [bar.met for bar in judge_bars(infos_of(found))] == [True] * 4


def test_every_lost_bar_is_a_complaint() -> None:
    found = figures(0.79, 1_999.0, 60.1)
    assert len(list(judge_machinery.complaints(found))) == 4
    assert [bar.met for bar in judge_bars(infos_of(found))] == [False] * 4


def test_the_results_page_has_the_section_on_judging() -> None:
    infos = infos_of(figures(1.2, 5_000.0, 1.0))
    times = {"rag_eval": 40.0, "msgspec": 30.0}
    page = write_results.render(infos, None, times, "5,000,000 rows need 12.0 GB")
    wanted = (
        "| judging by the SDK of openai, 4 calls at a time | ≥ 80 % of the SDK's rate by itself "
        "| 120 (110–130) % | met |"
    )
    assert wanted in page
    assert "| calls of a judge that is a plain function | ≥ 2,000 a second |" in page
    assert "| openai | 4 | 5,000 (4,500–5,500) | 5,000 (4,500–5,500) | 1.20 (1.10–1.30) |" in page
    assert "| claims | 200 (190–210) | 8 | 1,600 (1,520–1,680) | 400 (390–410) |" in page
    assert "| of it, making the prompt | 30 (28–32) |" in page
    assert len(list(judge_machinery.lines(figures(1.2, 5_000.0, 1.0)))) == 7
