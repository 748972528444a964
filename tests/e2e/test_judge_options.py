"""What users want of a judge's calls, by flags and files, as it reaches servers."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

import rag_eval
from tests.e2e.test_judge_cli import FAITH, IN_ORDER, NO_RETRIES, invoke, samples
from tests.fluent_judge import FluentJudge
from tests.judge_servers import Act, JudgeServer, Says
from tests.tables import every_row

HEADER = "a-header-that-nobody-may-see"
CONFIG = """
[judge.options]
max_output_tokens = 300
temperature = 0.5
seed = 11
[judge.options.extra_body]
top_p = 0.5
"""


def files_in(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_options_reach_the_server_and_headers_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, config, out = samples(tmp_path, 2), tmp_path / "rag-eval.toml", tmp_path / "out"
    config.write_text(CONFIG)
    out.mkdir()
    written = ("--output", out / "r.jsonl", "--html", out / "r.html", "--store", out / "s.db")
    fluent = FluentJudge()

    def script(prompt: str) -> Act:
        return f"no {HEADER}" if "Thing 1 is red" in prompt else fluent(prompt)

    with JudgeServer(script) as server:
        judge = ("--mode", "llm", "--judge", f"{server.openai_url}#m", "--config", config, *FAITH)
        options = (
            *("--judge-option", "seed=12", "--judge-option", "reasoning_effort=low"),
            *("--judge-option", "structured=false", "--judge-option", "extra_body.top_k=5"),
            *("--judge-option", f"extra_headers.X-Gateway={HEADER}"),
        )
        flags = (*judge, *options, *IN_ORDER, "--cache-file", out / "cache.db")
        first = invoke("run", data, *flags, *written)
        assert first.exit_code == 0, first.output
        for request in server.requests:
            sent = {name: value for name, value in request.json.items() if name != "messages"}
            assert sent == {
                "model": "m",
                "max_tokens": 300,
                "temperature": 0.5,
                "seed": 12,
                "reasoning_effort": "low",
                "top_p": 0.5,
                "top_k": 5,
            }
            assert request.headers["x-gateway"] == HEADER
        n_requests = server.n_requests
        # What can change a reply is part of the key under which it is cached; headers are not.
        other_header = (*flags, "--judge-option", "extra_headers.X-Other=1")
        again = invoke("run", data, *other_header, "--format", "json")
        assert json.loads(again.stdout)["judging"]["metrics"]["faithfulness"]["cachedCalls"] == 2
        n_again = server.n_requests - n_requests
        invoke("run", data, *flags, "--judge-option", "extra_body.top_a=1")
        assert server.n_requests - n_requests - n_again == n_requests
    parameters = json.loads(again.stdout)["signature"]["options"]["judges"][0]["parameters"]
    assert (parameters["seed"], parameters["top_k"], parameters["max_output_tokens"]) == (
        12,
        5,
        300,
    )
    shown = first.output + again.output + first.stderr
    assert HEADER not in shown
    kept = files_in(out)
    assert HEADER.encode() not in kept
    assert b"X-Gateway" not in kept


def result_of(server: JudgeServer, **options: Any) -> Any:
    sample = {"question": "q?", "answer": "The house is red.", "contexts": ["The house is red."]}
    return rag_eval.evaluate_batch(
        [sample], ["faithfulness"], mode="llm", judge=f"{server.openai_url}#m", **options
    )


CUT = Says('{"mark": "', "length", usage=(400, 100))


@every_row("provider", ["openai", "anthropic"])
def test_a_reply_that_was_cut_is_asked_for_once_more_with_twice_the_limit(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k" * 9)
    fluent = FluentJudge()
    cut = Says('{"mark": "', "max_tokens" if provider == "anthropic" else "length")
    with JudgeServer([cut, fluent, fluent]) as server:
        if provider == "openai":
            judge: Any = f"{server.openai_url}#m"
        else:
            judge = rag_eval.adapters.create_anthropic_judge("m", base_url=server.anthropic_url)
        sample = {"question": "q?", "answer": "It is red.", "contexts": ["It is red."]}
        result = rag_eval.evaluate_batch([sample], ["faithfulness"], mode="llm", judge=judge)
        bodies = [request.json for request in server.requests]
    assert [body["max_tokens"] for body in bodies] == [2048, 4096, 2048]
    # The question is the same: nothing was wrong with the reply.
    assert "could not be used" not in bodies[1]["messages"][0]["content"]
    assert result.results[0].metrics.faithfulness.score is not None
    assert result.total_cost.llm_calls == 3


@every_row(
    ("script", "options", "n_requests", "reason", "said"),
    [
        ([CUT], {}, 2, "JUDGE_TRUNCATED", "also at twice the limit (100 tokens): raise the judge"),
        ([CUT], {"max_calls": 1}, 1, "JUDGE_BUDGET", "max_calls=1 was reached"),
        (
            [Says("<think>I wonder", "length", usage=(400, 4096))],
            {},
            2,
            "JUDGE_TRUNCATED",
            "spent its limit on thinking, and also twice the limit (4,096 tokens): raise the judge "
            "option max_output_tokens, or set reasoning_effort to low",
        ),
        (
            [Says('{"mark": "', "model_context_window_exceeded")],
            {},
            1,
            "JUDGE_TRUNCATED",
            "the reply was cut before its JSON ended",
        ),
        (["no", CUT], {}, 2, "JUDGE_TRUNCATED", "the reply was cut before its JSON ended"),
    ],
)
def test_what_is_said_of_a_reply_that_was_cut(
    script: list[Act], options: dict[str, Any], n_requests: int, reason: str, said: str
) -> None:
    with JudgeServer(script) as server:
        result = result_of(server, **options)
        assert server.n_requests == n_requests
    found = result.results[0].metrics.faithfulness
    assert (found.null_reason.name, result.total_cost.llm_calls) == (reason, n_requests)
    assert said in found.explanation


def test_a_server_by_plain_http_on_a_named_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in compose files: the name is known to the network of the containers alone."""
    resolve = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *more, **also: resolve(
            "127.0.0.1" if host in ("ollama", b"ollama") else host, *more, **also
        ),
    )
    # Nobody may read along: a proxy gets plain http of no judge.
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_API_KEY", "the-vendors-own")
    data = samples(tmp_path, 1)
    with JudgeServer(FluentJudge()) as server:
        place = f"ollama:{server.port}"
        judge = ("--mode", "llm", "--judge", f"http://{place}/v1#m", *FAITH)
        flags = (*judge, "--config", NO_RETRIES)
        refused = invoke("run", data, *flags)
        assert (refused.exit_code, server.n_requests) == (2, 0)
        assert f"must use https, got 'http://{place}/v1'" in refused.stderr
        assert f"add --judge-allow-http {place}" in refused.stderr
        done = invoke("run", data, *flags, "--judge-allow-http", place)
        assert done.exit_code == 0, done.output
        assert server.n_requests == 2
        assert b"the-vendors-own" not in server.seen()
        dry = invoke("run", data, *flags, "--judge-allow-http", place, "--dry-run")
        assert (dry.exit_code, server.n_requests) == (0, 2)
    assert f"warning: texts and key go to {place} without encryption" in done.stderr
    assert f"texts and key go unencrypted to {place}" in done.stderr
