"""Judges on the vendors' SDKs, against servers on this machine that do as badly as servers do."""

from __future__ import annotations

import asyncio
import email.utils
import gc
import gzip
import json
import sys
import threading
import time
import traceback
import tracemalloc
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

import rag_eval
from rag_eval.adapters.answers import bounded_body
from rag_eval.adapters.anthropic import create_anthropic_judge
from rag_eval.adapters.openai import create_openai_judge
from rag_eval.errors import InputError, MissingExtraError
from rag_eval.judge.failures import JudgeCallError
from rag_eval.judge.replies import JudgePrompt, JudgeReply, SchemaJudge, Usage
from tests.fluent_judge import FluentJudge, read_prompt
from tests.judge_servers import (
    Act,
    CutsBody,
    Endless,
    Fails,
    HangsUp,
    Holds,
    JudgeServer,
    Refuses,
    Says,
    Script,
    Sends,
    Waits,
    limited,
    no_choices,
    redirect,
)

KEY = "sk-MARKER-0123456789abcdef"
SCHEMA = {
    "type": "object",
    "properties": {"mark": {"type": "string"}},
    "required": ["mark"],
    "additionalProperties": False,
}
BOTH = pytest.mark.parametrize("provider", ["openai", "anthropic"])


def judge_at(server: JudgeServer, provider: str, **options: Any) -> SchemaJudge:
    options.setdefault("api_key", KEY)
    if provider == "openai":
        return create_openai_judge("m", base_url=server.openai_url, **options)
    return create_anthropic_judge("m", base_url=server.anthropic_url, **options)


async def asked(judge: SchemaJudge) -> JudgeReply:
    return await judge.ask("what is it?", SCHEMA)


def reply_to(script: Script, provider: str, **options: Any) -> JudgeReply:
    with JudgeServer(script) as server:
        return asyncio.run(asked(judge_at(server, provider, **options)))


def error_of(script: Script, provider: str, **options: Any) -> JudgeCallError:
    with pytest.raises(JudgeCallError) as caught:
        reply_to(script, provider, **options)
    return caught.value


@BOTH
def test_a_reply_comes_with_all_that_its_server_says(provider: str) -> None:
    end = {"openai": "stop", "anthropic": "end_turn"}[provider]
    reply = reply_to(lambda prompt: prompt.upper(), provider)
    assert reply == JudgeReply("WHAT IS IT?", end, Usage(11, 7), "served-model")


@BOTH
def test_a_request_holds_what_was_asked_for_and_no_header_more(provider: str) -> None:
    with JudgeServer("yes") as server:
        judge = judge_at(server, provider, temperature=0.5, max_output_tokens=99, top_p=0.9)
        asyncio.run(asked(judge))
    (request,) = server.requests
    body = request.json
    assert body["model"] == "m"
    assert body["messages"] == [{"role": "user", "content": "what is it?"}]
    assert (body["temperature"], body["max_tokens"], body["top_p"]) == (0.5, 99, 0.9)
    if provider == "openai":
        form = {"name": "reply", "strict": True, "schema": SCHEMA}
        assert body["response_format"] == {"type": "json_schema", "json_schema": form}
    else:
        assert body["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert not [name for name in request.headers if "stainless" in name]


PROMPT = JudgePrompt.of("How to read it.", "[[begin chunk 0 m]]", "\n\nWhat is it?")


@BOTH
def test_how_to_read_a_prompt_is_a_message_of_its_own(provider: str) -> None:
    with JudgeServer("yes") as server:
        asyncio.run(judge_at(server, provider).ask(PROMPT, SCHEMA))
    body = server.requests[0].json
    user = {"role": "user", "content": "[[begin chunk 0 m]]\n\nWhat is it?"}
    if provider == "openai":
        assert body["messages"] == [{"role": "system", "content": "How to read it."}, user]
    else:
        assert (body["system"], body["messages"]) == ("How to read it.", [user])


def test_a_system_message_of_the_callers_own_stays() -> None:
    block = {"type": "text", "text": "Be brief."}
    with JudgeServer("yes") as server:
        for system in ("Be brief.", [block]):
            judge = judge_at(server, "anthropic", system=system)
            asyncio.run(judge.ask(PROMPT, SCHEMA))
            asyncio.run(judge("what?"))
    found = [request.json["system"] for request in server.requests]
    ours = {"type": "text", "text": "How to read it."}
    assert found == ["Be brief.\n\nHow to read it.", "Be brief.", [block, ours], [block]]


@BOTH
def test_a_server_without_system_messages_gets_one_message_from_then_on(provider: str) -> None:
    """As chat templates of some open models want it; the message is the prompt for a function."""

    async def calls(judge: SchemaJudge) -> list[JudgeReply]:
        return [await judge.ask(PROMPT, SCHEMA) for _ in range(2)]

    refusal = Fails(400, "Jinja Exception: System role not supported")
    with JudgeServer([refusal, "yes"]) as server:
        replies = asyncio.run(calls(judge_at(server, provider)))
    assert [reply.text for reply in replies] == ["yes", "yes"]
    assert server.n_requests == 3
    for request in server.requests[1:]:
        assert request.json["messages"] == [{"role": "user", "content": str(PROMPT)}]
        assert "system" not in request.json


EXACT = JudgePrompt.of("How to read it.", "", "What is it?", mark="kqzvmwa")


def schemas_sent(server: JudgeServer) -> list[str | None]:
    """By request: whether its schema is of one reply (exact), of a step, or not there."""
    kinds: list[str | None] = []
    for request in server.requests:
        body = request.json
        if "response_format" in body:
            schema = body["response_format"]["json_schema"]["schema"]
        else:
            schema = body.get("output_config", {}).get("format", {}).get("schema")
        kinds.append(schema and ("step" if schema == SCHEMA else "exact"))
        if kinds[-1] == "exact":
            assert schema["properties"]["mark"] == {"type": "string", "enum": ["kqzvmwa"]}
    return kinds


@BOTH
@pytest.mark.parametrize(
    ("refusals", "sent"),
    [
        (0, ["exact", "exact"]),
        (1, ["exact", "step", "step"]),
        (2, ["exact", "step", None, None]),
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_a_server_nearby_is_given_the_schema_of_one_reply(
    provider: str, refusals: int, sent: list[str | None], named: bool
) -> None:
    """One that cannot do it gets the step's schema from then on, or none."""

    async def calls(judge: SchemaJudge) -> None:
        for _ in range(2):
            await judge.ask(EXACT, SCHEMA)

    name = {"openai": "response_format", "anthropic": "output_config"}[provider]
    message = f"{name}: minItems is not supported" if named else "bad request"
    script: list[Any] = [Fails(400, message, param=name if named else None)] * refusals
    with JudgeServer([*script, "yes"]) as server:
        asyncio.run(calls(judge_at(server, provider)))
    assert schemas_sent(server) == sent


@BOTH
def test_a_server_behind_https_is_given_the_schema_of_the_step(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vendors compile a schema on its first call; one for each call would take seconds each."""
    bodies: list[Any] = []
    create = create_openai_judge if provider == "openai" else create_anthropic_judge
    for url in (None, "https://models.example.com/v1"):
        judge = create("m", api_key=KEY, base_url=url)

        async def sent(body: Any) -> JudgeReply:
            bodies.append(body)
            return JudgeReply("yes")

        monkeypatch.setattr(judge, "_sent", sent)
        asyncio.run(judge.ask(EXACT, SCHEMA))
    assert len(bodies) == 2
    assert all(str(SCHEMA) in str(body) for body in bodies)


@BOTH
def test_a_plain_call_and_an_unstructured_judge_send_no_schema(provider: str) -> None:
    async def calls(judge: SchemaJudge, unstructured: SchemaJudge) -> None:
        await judge("q")
        await asked(unstructured)

    with JudgeServer("yes") as server:
        asyncio.run(calls(judge_at(server, provider), judge_at(server, provider, structured=False)))
    assert server.n_requests == 2
    assert b"json_schema" not in server.seen()


@BOTH
@pytest.mark.parametrize(
    ("act", "retry_after_s"),
    [
        (limited(), None),
        (limited("3"), 3.0),
        (limited("0.5"), 0.5),
        (limited("-4"), None),
        (limited("1500", "retry-after-ms"), 1.5),
        (limited("soon"), None),
        (limited("nan"), None),
        (Fails(529, "overloaded", {"retry-after": "2"}), 2.0),
    ],
)
def test_a_limit_of_the_rate(provider: str, act: Fails, retry_after_s: float | None) -> None:
    error = error_of(act, provider)
    assert (error.retryable, error.rate_limited, error.fatal) == (True, True, False)
    assert error.retry_after_s == retry_after_s
    assert str(act.status) in str(error)


@BOTH
def test_a_wait_until_a_date(provider: str) -> None:
    date = email.utils.formatdate(time.time() + 100, usegmt=True)
    wait = error_of(limited(date), provider).retry_after_s
    assert wait is not None
    assert 50 < wait <= 101


@BOTH
@pytest.mark.parametrize(
    ("act", "retryable", "fatal", "timed_out"),
    [
        (Fails(500), True, False, False),
        (Fails(503), True, False, False),
        (Fails(408), True, False, True),
        (Fails(504), True, False, True),
        (Fails(409), True, False, False),
        (Fails(400), False, False, False),
        (Fails(413), False, False, False),
        (Fails(401), False, True, False),
        (Fails(403), False, True, False),
        (Fails(404), False, True, False),
        (Fails(429, "pay first", code="insufficient_quota"), False, True, False),
        (CutsBody(), True, False, False),
        (HangsUp(), True, False, False),
        (Sends(b'{"choices": [{"mess'), True, False, False),
        (Sends(b"<html>busy</html>", 200, {"Content-Type": "text/html"}), True, False, False),
        (Sends(b"<html>busy</html>", 503, {"Content-Type": "text/html"}), True, False, False),
        (Sends(b""), True, False, False),
        (Sends(b"\xff\xfe"), True, False, False),
        (Sends(b"[1, 2]"), False, False, False),
        (Sends(b'"text"'), False, False, False),
        (Sends(b'{"choices": 3, "content": 4}'), False, False, False),
        (Sends(b'{"choices": [{"message": {"content": 3}}]}'), False, False, False),
        (Sends(b'{"content": [{"type": "text", "text": 3}]}'), False, False, False),
        (Sends(b'{"error": {"message": "behind me", "code": 503}}'), True, False, False),
        (Sends(b'{"error": {"message": "behind me", "code": 401}}'), False, True, False),
    ],
)
def test_a_fault_says_whether_another_try_may_help(
    provider: str, act: Any, retryable: bool, fatal: bool, timed_out: bool
) -> None:
    error = error_of(act, provider, structured=False)
    assert (error.retryable, error.fatal, error.timed_out) == (retryable, fatal, timed_out)
    assert not error.rate_limited
    assert error.retry_after_s is None


@BOTH
def test_no_fault_is_tried_again_here(provider: str) -> None:
    """One layer retries, and it is not this one."""
    with JudgeServer([Fails(500), "yes"]) as server:
        with pytest.raises(JudgeCallError):
            asyncio.run(asked(judge_at(server, provider)))
        assert server.n_requests == 1


@BOTH
def test_a_slow_server_is_left_and_the_limit_is_named(provider: str) -> None:
    error = error_of(Waits(30, "late"), provider, timeout_s=0.2)
    assert (error.retryable, error.timed_out) == (True, True)
    assert str(error) == "the judge did not reply within 0.2 s"


GZIP = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
# 64 MB in 64 KB: a thousandth, as in any bomb of one layer.
BOMB = gzip.compress(bytes(64_000_000))


@BOTH
@pytest.mark.parametrize("status", [200, 400, 401, 500])
@pytest.mark.parametrize("name", ["bomb", "endless", "endless bombs"])
def test_an_answer_is_read_no_further_than_a_reply_can_be_long(
    provider: str, status: int, name: str
) -> None:
    act = {
        "bomb": Sends(BOMB, status, GZIP),
        "endless": Endless(b" " * 65536, status),
        "endless bombs": Endless(BOMB, status, GZIP),
    }[name]
    with JudgeServer(act) as server:
        judge = judge_at(server, provider)
        tracemalloc.start()
        try:
            with pytest.raises(JudgeCallError, match="sent a reply of more than 4 MB") as caught:
                asyncio.run(asked(judge))
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert server.n_requests == 1
    assert (caught.value.retryable, caught.value.fatal) == (False, False)
    assert most < 30_000_000


def test_small_pieces_of_an_answer_are_not_kept_one_by_one() -> None:
    """A list of a million chunks takes many times the bytes in them."""

    async def pieces() -> AsyncIterator[bytes]:
        for place in range(200_000):
            yield place.to_bytes(3)

    tracemalloc.start()
    try:
        body = asyncio.run(bounded_body(pieces(), ""))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert body[-3:] == (199_999).to_bytes(3)
    assert most < 8 * len(body)


@BOTH
def test_a_packed_answer_is_unpacked_and_one_packed_otherwise_is_refused(provider: str) -> None:
    with JudgeServer("yes") as plain:
        asyncio.run(asked(judge_at(plain, provider)))
    assert plain.requests[0].headers["accept-encoding"] == "gzip"
    body = (
        b'{"choices": [{"message": {"content": "yes"}}], "content": [{"type": "text", "text": '
        b'"yes"}]}'
    )
    assert reply_to(Sends(gzip.compress(body), 200, GZIP), provider).text == "yes"
    cut = error_of(Sends(gzip.compress(body)[:-20], 200, GZIP), provider)
    broken = error_of(Sends(b"no gzip", 200, GZIP), provider)
    other = error_of(Sends(body, 200, {**GZIP, "Content-Encoding": "br"}), provider)
    assert (cut.retryable, broken.retryable, other.retryable) == (True, True, False)
    assert "compressed its reply as 'br', which was not requested" in str(other)


@BOTH
def test_a_server_that_is_not_there(provider: str) -> None:
    with JudgeServer("gone") as server:
        judge = judge_at(server, provider)
    with pytest.raises(JudgeCallError, match="connection") as caught:
        asyncio.run(asked(judge))
    assert (caught.value.retryable, caught.value.fatal) == (True, False)


@BOTH
@pytest.mark.parametrize("reason", ["length", "max_tokens", "content_filter", None])
def test_the_finish_reason_is_the_servers_word(provider: str, reason: str | None) -> None:
    plain = {"openai": "stop", "anthropic": "end_turn"}[provider]
    reply = reply_to(Says("half of", finish_reason=reason), provider)
    assert (reply.text, reply.finish_reason) == ("half of", reason or plain)


@BOTH
def test_a_refusal(provider: str) -> None:
    assert reply_to(Says(None, refusal="no"), provider).finish_reason == "refusal"


@BOTH
def test_a_filtered_prompt_is_a_refusal_too(provider: str) -> None:
    reply = reply_to(Fails(400, "filtered", code="content_filter"), provider)
    assert (reply.text, reply.finish_reason) == ("", "content_filter")


@BOTH
@pytest.mark.parametrize("act", [no_choices(), Says(None), Says("")])
def test_a_reply_with_nothing_in_it_is_an_empty_text(provider: str, act: Any) -> None:
    assert reply_to(act, provider).text == ""


@BOTH
@pytest.mark.parametrize("usage", ['"many"', "{}", "null", '{"prompt_tokens": -1}', "[1]"])
def test_usage_that_makes_no_sense_costs_no_reply(provider: str, usage: str) -> None:
    body = (
        '{"choices": [{"message": {"content": "yes"}}], '
        f'"content": [{{"type": "text", "text": "yes"}}], "usage": {usage}, "model": 3}}'
    )
    reply = reply_to(Sends(body.encode()), provider)
    assert reply == JudgeReply("yes", None, None, None)


def test_content_in_parts_and_thinking_beside_the_text() -> None:
    parts = {"choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"text": "b"}]}}]}
    assert reply_to(Sends(json.dumps(parts).encode()), "openai").text == "ab"
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}]
    assert reply_to(Sends(json.dumps({"content": blocks}).encode()), "anthropic").text == "a"


def test_tokens_of_the_vendors_own_cache_are_counted() -> None:
    usage = {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_read_input_tokens": 10,
        "cache_creation_input_tokens": 100,
    }
    body = json.dumps({"content": [], "usage": usage}).encode()
    assert reply_to(Sends(body), "anthropic").usage == Usage(
        111, 2, cached_tokens=10, written_tokens=100
    )
    usage = {"prompt_tokens": 50, "completion_tokens": 2}
    for details, cached in (({"cached_tokens": 40}, 40), ({"cached_tokens": 99}, 50), (None, 0)):
        found = {**usage, "prompt_tokens_details": details}
        body = json.dumps({"choices": [], "usage": found}).encode()
        assert reply_to(Sends(body), "openai").usage == Usage(50, 2, cached_tokens=cached)


def test_a_long_beginning_is_marked_for_the_vendors_cache() -> None:
    long = JudgePrompt.of("How to read it.", "A long text. " * 400, "\n\nWhat is it?")
    alone = JudgePrompt.of("How to read it.", "", long.shared + long.task)
    with JudgeServer("yes") as server:
        judge = judge_at(server, "anthropic")
        for prompt in (long, PROMPT, alone):
            asyncio.run(judge.ask(prompt, SCHEMA))
        asyncio.run(judge_at(server, "openai").ask(long, SCHEMA))
    contents = [request.json["messages"][-1]["content"] for request in server.requests]
    shared, task = contents[0]
    assert shared == {
        "type": "text",
        "text": long.shared,
        "cache_control": {"type": "ephemeral"},
    }
    assert task == {"type": "text", "text": long.task}
    # Short ones are not kept, and what no other prompt begins with is not worth the price.
    assert all(isinstance(content, str) for content in contents[1:])


def test_the_first_prompt_with_a_rows_contexts_goes_alone() -> None:
    """Asked at once, all of them would be read in full, and written to the vendor's cache."""
    contexts = [f"Number {n} stands in the list of long texts. " * 30 for n in range(5)]
    row = {"question": "Q?", "answer": "A b. C d.", "contexts": contexts, "ground_truth": "A b."}
    gate, matched, fluent = threading.Event(), threading.Event(), FluentJudge()

    def script(prompt: str) -> Act:
        asked = read_prompt(prompt)
        if asked.step == "match_claims":
            matched.set()
        return Holds(gate, fluent(prompt)) if "chunk" in asked.fields else fluent(prompt)

    with JudgeServer(script) as server:
        options: Any = {"mode": "llm", "judge": judge_at(server, "anthropic"), "concurrency": 9}
        thread = threading.Thread(target=rag_eval.evaluate, args=(row,), kwargs=options)
        thread.start()
        # The last of the prompts without contexts: whatever can be asked has been asked by then.
        assert matched.wait(60)
        server.wait_for_held(1)
        kept = [b"cache_control" in request.body for request in server.requests]
        gate.set()
        thread.join()
    assert kept.count(True) == 1
    blocks = [request.json["messages"][-1]["content"][0] for request in server.requests]
    shared = {block["text"] for block in blocks if isinstance(block, dict)}
    assert len(shared) == 1
    assert sum(isinstance(block, dict) for block in blocks) == fluent.n_calls - 4
    # One prompt with contexts has no other to share them with: both metrics count its verdicts.
    with JudgeServer(FluentJudge()) as server:
        options["judge"] = judge_at(server, "anthropic")
        rag_eval.evaluate(row, ["faithfulness", "hallucination_rate"], **options)
    assert server.n_requests == 2
    assert b"cache_control" not in server.seen()


# What a server does not take.


def calls_after(script: Script, provider: str, n_asks: int = 2) -> list[dict[str, Any]]:
    """The bodies of requests, of some asks of one judge after another."""

    async def ask_all(judge: SchemaJudge) -> None:
        for _ in range(n_asks):
            assert (await asked(judge)).text == "yes"

    with JudgeServer(script) as server:
        asyncio.run(ask_all(judge_at(server, provider)))
    return [request.json for request in server.requests]


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("openai", "response_format"),
        ("openai", "temperature"),
        ("anthropic", "output_config"),
        ("anthropic", "temperature"),
    ],
)
@pytest.mark.parametrize("status", [400, 422])
def test_a_parameter_that_is_refused_is_left_out_from_then_on(
    provider: str, name: str, status: int
) -> None:
    bodies = calls_after(Refuses((name,), "yes", status), provider)
    assert [name in body for body in bodies] == [True, False, False]


def test_the_limit_goes_by_its_other_name() -> None:
    bodies = calls_after(Refuses(("max_tokens",), "yes"), "openai")
    assert [body.get("max_completion_tokens") for body in bodies] == [None, 2048, 2048]


def test_all_that_can_be_refused_at_once() -> None:
    refused = ("response_format", "temperature", "max_tokens")
    bodies = calls_after(Refuses(refused, "yes"), "openai")
    assert len(bodies) == 5  # one each, and the two that go through
    assert bodies[-1].keys() == {"model", "messages", "max_completion_tokens"}


@BOTH
def test_a_schema_refused_without_saying_so_is_left_out_when_that_helps(provider: str) -> None:
    structure = {"openai": "response_format", "anthropic": "output_config"}[provider]

    class Grudging(JudgeServer):
        """A server that says no more than that it failed."""

        def _next_step(self) -> Any:
            return Fails(400, "bad request") if structure in self.requests[-1].json else "yes"

    async def ask_twice(judge: SchemaJudge) -> None:
        assert (await asked(judge)).text == (await asked(judge)).text == "yes"

    with Grudging("unused") as server:
        asyncio.run(ask_twice(judge_at(server, provider)))
    assert [structure in request.json for request in server.requests] == [True, False, False]


@BOTH
def test_a_schema_is_not_blamed_for_a_bad_request(provider: str) -> None:
    """One prompt that is refused must not turn structured replies off for all the others."""
    script = [Fails(400, "bad words"), Fails(400, "bad words again"), "yes"]

    async def ask_twice(judge: SchemaJudge) -> None:
        with pytest.raises(JudgeCallError, match=r"bad words$"):
            await asked(judge)
        assert (await asked(judge)).text == "yes"

    with JudgeServer(script) as server:
        asyncio.run(ask_twice(judge_at(server, provider)))
    assert b"json_schema" in server.requests[-1].body


@BOTH
def test_a_server_that_refuses_everything_is_not_asked_twice_for_ever(provider: str) -> None:
    async def ask_often(judge: SchemaJudge) -> None:
        for _ in range(10):
            with pytest.raises(JudgeCallError):
                await asked(judge)

    with JudgeServer(Fails(422, "no")) as server:
        asyncio.run(ask_often(judge_at(server, provider)))
    assert server.n_requests == 10 + 3


@BOTH
def test_a_schema_that_was_taken_once_is_not_blamed_again(provider: str) -> None:
    async def ask_twice(judge: SchemaJudge) -> None:
        assert (await asked(judge)).text == "yes"
        with pytest.raises(JudgeCallError):
            await asked(judge)

    with JudgeServer(["yes", Fails(400, "bad words"), "never asked"]) as server:
        asyncio.run(ask_twice(judge_at(server, provider)))
    assert server.n_requests == 2


@BOTH
def test_a_prompt_that_is_too_long_is_not_sent_twice(provider: str) -> None:
    with JudgeServer(Fails(400, "prompt is too long: 9 tokens > 8 maximum")) as server:
        with pytest.raises(JudgeCallError):
            asyncio.run(asked(judge_at(server, provider)))
        assert server.n_requests == 1


@pytest.mark.parametrize(
    "message",
    [
        "temperature: must be less than or equal to 1",
        "Input should be at most 1 for temperature",
        "the prompt 'temperature' was odd",
    ],
)
def test_a_value_out_of_range_is_an_error_and_not_left_out(message: str) -> None:
    with JudgeServer(Fails(400, message, param="temperature")) as server:
        with pytest.raises(JudgeCallError):
            asyncio.run(judge_at(server, "openai", temperature=1.5)("q"))
        assert server.n_requests == 1


def test_calls_at_the_same_time_learn_the_same() -> None:
    async def ask_all(judge: SchemaJudge) -> list[str]:
        replies = await asyncio.gather(*(asked(judge) for _ in range(8)))
        return [reply.text for reply in replies]

    with JudgeServer(Refuses(("temperature", "max_tokens"), "yes")) as server:
        assert asyncio.run(ask_all(judge_at(server, "openai"))) == ["yes"] * 8
    assert server.n_requests <= 3 * 8


# Keys.


def everything_shown(judge: SchemaJudge, error: BaseException | None = None) -> str:
    shown = [repr(judge), str(judge), repr(judge.identity), str(judge.identity.to_dict())]
    if error is not None:
        shown += [repr(error), str(error), str(error.__dict__)]
        shown += traceback.format_exception(error)
        assert error.__context__ is None
        assert error.__cause__ is None
    return "\n".join(shown)


@BOTH
@pytest.mark.parametrize(
    "act",
    [
        Fails(401, f"Incorrect API key provided: {KEY}. Find yours on the page of keys."),
        Fails(500, f"while handling Authorization: Bearer {KEY}", {"x-echo": KEY}),
        Fails(400, f"no such thing as {KEY[:12]}****{KEY[-4:]}"),
        Sends(f'{{"error": {{"message": "{KEY}", "code": 500}}}}'.encode()),
        Sends(f'{{"choices": "{KEY}", "content": "{KEY}"}}'.encode()),
        HangsUp(),
        CutsBody(),
        Waits(9, "late"),
    ],
)
def test_no_error_shows_the_key(provider: str, act: Any) -> None:
    with JudgeServer(act) as server:
        # On a busy machine a request takes its time to the server, too.
        judge = judge_at(server, provider, timeout_s=3 if isinstance(act, Waits) else 60)
        with pytest.raises(JudgeCallError) as caught:
            asyncio.run(asked(judge))
    assert KEY.encode() in server.seen()
    assert "MARKER" not in everything_shown(judge, caught.value)


@BOTH
def test_a_key_of_no_known_form_is_not_shown_either(provider: str) -> None:
    error = error_of(Fails(500, "bad key MARKER/of-ours!"), provider, api_key="MARKER/of-ours!")
    assert "[key]" in str(error)
    assert "MARKER" not in str(error)


@BOTH
def test_a_redirect_is_not_followed_and_takes_no_key_along(provider: str) -> None:
    with JudgeServer("never") as other, JudgeServer(redirect(other.openai_url + "/x")) as server:
        judge = judge_at(server, provider)
        with pytest.raises(JudgeCallError, match="redirect") as caught:
            asyncio.run(asked(judge))
    assert caught.value.fatal
    assert server.n_requests == 1
    assert other.n_requests == 0


@BOTH
def test_the_environment_sends_nothing_elsewhere_and_adds_nothing(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with JudgeServer("stolen") as thief, JudgeServer("yes") as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
            monkeypatch.setenv(name, thief.anthropic_url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        for vendor in ("OPENAI", "ANTHROPIC"):
            monkeypatch.setenv(f"{vendor}_BASE_URL", thief.openai_url)
            for name in ("API_KEY", "AUTH_TOKEN", "ADMIN_KEY", "ORG_ID", "PROJECT_ID"):
                monkeypatch.setenv(f"{vendor}_{name}", f"SECRET-{name}")
            monkeypatch.setenv(
                f"{vendor}_CUSTOM_HEADERS",
                "Authorization: Bearer SECRET-H\nX-Api-Key: SECRET-H\nX-More: SECRET-H\n"
                "Host: elsewhere.example\nCookie: SECRET-H",
            )
        judge = judge_at(server, provider)
        assert asyncio.run(asked(judge)).text == "yes"
    assert thief.n_requests == 0
    assert b"SECRET" not in server.seen()
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert server.requests[0].headers["host"] == f"127.0.0.1:{server.port}"


@BOTH
def test_a_server_on_this_machine_gets_no_vendors_key(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.delenv("RAG_EVAL_JUDGE_API_KEY", raising=False)
    with JudgeServer("yes") as server:
        asyncio.run(asked(judge_at(server, provider, api_key=None)))
        monkeypatch.setenv("RAG_EVAL_JUDGE_API_KEY", "local-key")
        asyncio.run(asked(judge_at(server, provider, api_key=None)))
    assert KEY.encode() not in server.seen()
    sent = [request.headers["authorization"] for request in server.requests]
    assert sent == ["Bearer none", "Bearer local-key"]


@BOTH
def test_cookies_of_a_server_are_not_sent_back(provider: str) -> None:
    async def ask_twice(judge: SchemaJudge) -> None:
        for _ in range(2):
            with pytest.raises(JudgeCallError):
                await asked(judge)

    with JudgeServer(Fails(500, headers={"Set-Cookie": "track=me; Path=/"})) as server:
        asyncio.run(ask_twice(judge_at(server, provider)))
    assert server.n_requests == 2
    assert b"track=me" not in server.seen()


# Loops and clients.


@BOTH
def test_one_judge_serves_many_loops_one_after_another_and_at_once(provider: str) -> None:
    replies: list[str] = []
    with JudgeServer("yes") as server:
        judge = judge_at(server, provider)

        def in_own_loop() -> None:
            replies.append(asyncio.run(asked(judge)).text)

        in_own_loop()
        threads = [threading.Thread(target=in_own_loop) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        in_own_loop()
    assert replies == ["yes"] * 6


@BOTH
def test_connections_are_kept_within_a_loop_and_closed_with_it(provider: str) -> None:
    async def ask_often(judge: SchemaJudge) -> int:
        for _ in range(5):
            await asked(judge)
        return len(server._connections)

    with JudgeServer("yes") as server:
        assert asyncio.run(ask_often(judge_at(server, provider))) == 1
        server.wait_for_goodbyes()


@BOTH
def test_a_judge_that_is_dropped_closes_its_connections(provider: str) -> None:
    async def ask_and_drop() -> None:
        judge = judge_at(server, provider)
        await asked(judge)
        del judge
        gc.collect()
        await asyncio.to_thread(server.wait_for_goodbyes)

    with JudgeServer("yes") as server:
        asyncio.run(ask_and_drop())


@BOTH
def test_a_cancelled_call_ends_at_once(provider: str) -> None:
    async def cancel(judge: SchemaJudge) -> None:
        task = asyncio.ensure_future(asked(judge))
        await asyncio.to_thread(server.wait_for_held, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with JudgeServer(Holds(threading.Event(), "never")) as server:
        asyncio.run(cancel(judge_at(server, provider)))


# Making one.


CREATE: dict[str, Callable[..., SchemaJudge]] = {
    "openai": create_openai_judge,
    "anthropic": create_anthropic_judge,
}


@BOTH
def test_the_identity_is_all_that_can_change_a_verdict(provider: str) -> None:
    judge = CREATE[provider]("m", api_key=KEY, seed=3)
    assert isinstance(judge, SchemaJudge)
    assert judge.identity.to_dict() == {
        "provider": provider,
        "model": "m",
        "parameters": {
            "temperature": 0.0,
            "max_output_tokens": 2048,
            "structured": True,
            "seed": 3,
        },
    }
    assert "MARKER" not in everything_shown(judge)
    other = CREATE[provider]("m", api_key=KEY, base_url="http://localhost:1/v1/", temperature=None)
    assert other.identity.base_url == "http://localhost:1/v1"
    assert dict(other.identity.parameters)["temperature"] is None


@BOTH
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": " "}, "model must be"),
        ({"temperature": -1}, "temperature must be a number of at least 0 or None, got -1"),
        ({"temperature": "hot"}, "temperature must be"),
        ({"temperature": float("nan")}, "temperature must be"),
        ({"max_output_tokens": 0}, "max_output_tokens must be a whole number of at least 1, got 0"),
        ({"max_output_tokens": True}, "max_output_tokens must be"),
        ({"timeout_s": 0}, "timeout_s must be a number above 0, got 0"),
        ({"stream": True}, "stream cannot be set"),
        ({"extra_headers": {"Authorization": "Bearer y"}}, "Authorization cannot be set"),
        ({"extra_headers": {"x": "two\nlines"}}, "a line of ASCII text"),
        ({"extra_body": {"x": "y"}}, "extra_body cannot be set"),
        ({"base_url": "http://example.org/v1"}, "https"),
        ({"base_url": "https://u:p@example.org/v1"}, "password"),
        ({"api_key": "two\nlines"}, "key"),
        ({"api_key": "clé"}, "key"),
        ({"api_key": ""}, "key"),
    ],
)
def test_what_cannot_be_is_said_at_once(
    provider: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        CREATE[provider](**{"model": "m", "api_key": KEY, **options})


@BOTH
def test_a_missing_key_is_named(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(f"{provider.upper()}_API_KEY", raising=False)
    with pytest.raises(InputError, match=f"set {provider.upper()}_API_KEY"):
        CREATE[provider]("m")


@BOTH
def test_a_missing_sdk_names_the_extra(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, provider, None)
    with pytest.raises(MissingExtraError, match=rf"rag-eval-native\[{provider}\]"):
        CREATE[provider]("m", api_key=KEY)


def test_the_vendors_own_server_is_given_the_newer_name_of_the_limit() -> None:
    judge = create_openai_judge("m", api_key=KEY)
    body = judge._body("q", None, frozenset())
    assert (body["max_completion_tokens"], "max_tokens" in body) == (2048, False)
