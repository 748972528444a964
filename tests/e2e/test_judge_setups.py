"""The set-ups of docs/judge.md, each run against a server that replies as the named one does.

Calls by https go through a proxy of the environment, behind which the server has the vendor's name
and a certificate for it; SDKs, addresses and keys are those of the page.
"""

from __future__ import annotations

import json
import re
import shlex
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpcore2
import pytest

from tests.docs_pages import ROOT, tool
from tests.e2e.test_judge_cli import FAITH, invoke, result_of, samples
from tests.fluent_judge import FluentJudge
from tests.judge_servers import Act, Fails, JudgeServer, Request, Sends
from tests.tables import every_row

PAGE = ROOT / "docs" / "judge.md"
VENDORS = Path(__file__).parents[1] / "fixtures" / "tls" / "vendors.pem"
KEY = "YOUR-KEY"
USAGE = {"prompt_tokens": 800, "completion_tokens": 40, "total_tokens": 840}


def completion(text: str, model: str, **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": text, **message}
    choice = {"index": 0, "message": said, "logprobs": None, "finish_reason": "stop"}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1764000000,
        "model": model,
        "choices": [choice],
        "usage": USAGE,
    }


def openai(text: str) -> dict[str, Any]:
    details = {"reasoning_tokens": 64, "audio_tokens": 0}
    usage = {**USAGE, "completion_tokens_details": details}
    found = completion(text, "gpt-5-mini-2025-08-07", refusal=None, annotations=[])
    return {**found, "usage": usage, "service_tier": "default", "system_fingerprint": None}


def anthropic(text: str) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 700,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 100,
            "output_tokens": 40,
            "service_tier": "standard",
        },
    }


def azure(text: str) -> dict[str, Any]:
    found = openai(text)
    safe = {"hate": {"filtered": False, "severity": "safe"}}
    found["choices"][0]["content_filter_results"] = safe
    return {**found, "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": safe}]}


def ollama(text: str) -> dict[str, Any]:
    found = completion(text, "qwen3", reasoning="I compare the texts.")
    return {**found, "system_fingerprint": "fp_ollama"}


def vllm(text: str) -> dict[str, Any]:
    found = completion(text, "Qwen/Qwen3-8B", refusal=None, tool_calls=[], reasoning_content=None)
    found["choices"][0] |= {"stop_reason": None, "token_ids": None}
    return {**found, "prompt_logprobs": None, "kv_transfer_params": None}


def llama_cpp(text: str) -> dict[str, Any]:
    timings = {"cache_n": 200, "prompt_n": 600, "prompt_ms": 300.5, "predicted_n": 40}
    return {**completion(text, "qwen3.gguf"), "timings": timings, "system_fingerprint": "b6000"}


def litellm(text: str) -> dict[str, Any]:
    found = completion(text, "my-judge", tool_calls=None, function_call=None)
    return {**found, "usage": {**USAGE, "prompt_tokens_details": {"cached_tokens": 0}}}


@dataclass(frozen=True)
class Setup:
    """What a block of the page has to reach, and how its server replies.

    Attributes
    ----------
    place : str
        Host and port as the block or the vendor's SDK has them.
    starts : str
        The command that starts such a server; no test has it.
    refuses : tuple of str
        Parameters that the server does not take, in its words.
    """

    place: str
    model: str
    reply: Callable[[str], dict[str, Any]]
    path: str = "/v1/chat/completions"
    starts: str = ""
    key: str = ""
    refuses: tuple[tuple[str, str], ...] = ()
    body: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


# As models that reason word it.
NO_MAX_TOKENS = (
    "max_tokens",
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead.",
)
NO_TEMPERATURE = (
    "temperature",
    "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) "
    "value is supported.",
)
SETUPS = (
    Setup(
        "api.openai.com:443",
        "gpt-5-mini",
        openai,
        key=KEY,
        refuses=(NO_TEMPERATURE,),
        body={"reasoning_effort": "low", "max_completion_tokens": 2048},
    ),
    Setup("api.anthropic.com:443", "claude-sonnet-4-5", anthropic, "/v1/messages", key=KEY),
    Setup(
        "my-resource.openai.azure.com:443",
        "my-deployment",
        azure,
        "/openai/v1/chat/completions",
        key=KEY,
        refuses=(NO_MAX_TOKENS, NO_TEMPERATURE),
        body={"max_completion_tokens": 2048},
    ),
    Setup("127.0.0.1:11434", "qwen3", ollama, starts="OLLAMA_CONTEXT_LENGTH=16384 ollama serve"),
    Setup("ollama:11434", "qwen3", ollama),
    Setup(
        "127.0.0.1:8000",
        "Qwen/Qwen3-8B",
        vllm,
        starts="vllm serve ",
        body={"chat_template_kwargs": {"enable_thinking": False}},
    ),
    Setup("127.0.0.1:8080", "qwen3", llama_cpp, starts="llama-server "),
    Setup(
        "127.0.0.1:4000",
        "my-judge",
        litellm,
        starts="litellm ",
        key="YOUR-VIRTUAL-KEY",
        headers={"x-litellm-tags": "rag-eval"},
    ),
)


def blocks() -> list[str]:
    found = tool("docs_blocks").page_blocks(PAGE.read_text("utf-8"))
    # Those of batches have a test of their own.
    return [
        block.text
        for block in found
        if block.tag == "judge-server" and "--judge-batch" not in block.text
    ]


class Served(JudgeServer):
    """A server that replies as the one of a set-up, to those who have its key."""

    def __init__(self, setup: Setup) -> None:
        self.fluent = FluentJudge()
        self.setup = setup
        super().__init__(self._reply, proxied=VENDORS)

    def answer(self, request: Request) -> Any:
        self.asked = request
        return super().answer(request)

    def _reply(self, prompt: str) -> Act:
        request, setup = self.requests[-1], self.setup
        given = request.headers.get("x-api-key") or request.headers["authorization"]
        if setup.key and given.removeprefix("Bearer ") != setup.key:
            return Fails(401, "Access denied due to invalid subscription key")
        for name, message in setup.refuses:
            if name in request.json:
                return Fails(400, message, param=name, code="unsupported_parameter")
        return Sends(json.dumps(setup.reply(self.fluent(prompt))).encode())


@contextmanager
def vendors_at(server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whoever is called by https, this server answers, with a certificate of the vendors."""
    for name in ("NO_PROXY", "no_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{server.port}")
    monkeypatch.setenv("SSL_CERT_FILE", str(VENDORS))
    httpcore2.default_ssl_context.cache_clear()  # type: ignore[attr-defined]
    try:
        yield
    finally:
        httpcore2.default_ssl_context.cache_clear()  # type: ignore[attr-defined]


def test_every_set_up_has_its_server() -> None:
    assert len(blocks()) == len(SETUPS)


@every_row("number", range(len(SETUPS)), ids=lambda number: SETUPS[number].place)
def test_a_set_up_works_as_the_page_shows_it(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = SETUPS[number]
    samples(tmp_path, 2).rename(tmp_path / "samples.jsonl")
    monkeypatch.chdir(tmp_path)
    resolve = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *more, **also: resolve(
            "127.0.0.1" if host in ("ollama", b"ollama") else host, *more, **also
        ),
    )
    with Served(setup) as server:
        with vendors_at(server, monkeypatch):
            run_block(blocks()[number], setup, server.port)
        last = server.requests[-1]
        n_requests = server.n_requests
    result = result_of(tmp_path / "out.json")
    assert all(row["metrics"]["faithfulness"]["score"] is not None for row in result["results"])
    # Each parameter that is refused is found out once by each call that is in flight.
    assert result["totalCost"]["llmCalls"] == n_requests >= 4
    assert (last.path, last.json["model"]) == (setup.path, setup.model)
    assert setup.body.items() <= last.json.items()
    assert setup.headers.items() <= last.headers.items()
    written = (tmp_path / "out.json").read_text()
    assert not [key for key in (setup.key, *setup.headers.values()) if key and key in written]


def run_block(text: str, setup: Setup, port: int) -> None:
    """Run the commands of a block, but for those that start a server."""
    environment: dict[str, str | None] = {"RAG_EVAL_JUDGE_API_KEY": None}
    n_run = 0
    host = setup.place.partition(":")[0]
    for line in text.replace("\\\n", " ").splitlines():
        if setup.starts and line.startswith(setup.starts):
            continue
        if line.startswith("export "):
            name, _, value = line.removeprefix("export ").partition("=")
            environment[name] = value
            continue
        # A port of this machine that is free, where the page has the usual one.
        words = shlex.split(re.sub(rf"\b{re.escape(setup.place)}\b", f"{host}:{port}", line))
        assert words[0] == "rag-eval", line
        done = invoke(*words[1:], *FAITH, "--output", "out.json", **environment)
        assert done.exit_code == 0, done.output
        n_run += 1
    assert n_run == 1
