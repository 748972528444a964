"""Options of a judge's calls: what is taken, from where, and that no header is ever shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from rag_eval.adapters.addresses import judge_from_address
from rag_eval.cli.parameters import OF_OPTION
from rag_eval.cli.report_flags import this_command
from rag_eval.errors import InputError
from rag_eval.judge.call_options import checked_call_options, merged_call_options
from rag_eval.judge.server_urls import checked_server_url, unencrypted_notes
from rag_eval.options.config_file import read_config
from rag_eval.options.judging import make_judging
from tests.fluent_judge import FluentJudge
from tests.tables import every_row

SECRET = "a-header-that-nobody-may-see"
LOCAL = "http://127.0.0.1:9/v1#m"


@every_row(
    ("given", "message"),
    [
        ({"max_output_tokens": 0}, "max_output_tokens must be a whole number of at least 1"),
        ({"temperature": "hot"}, "temperature must be a number"),
        ({"temperature": -1}, "temperature must be at least 0"),
        ({"seed": 1.5}, "seed must be a whole number"),
        ({"reasoning_effort": "very much"}, "reasoning_effort must be a word such as low"),
        ({"structured": "no"}, "structured must be true or false"),
        ({"extra_body": [1]}, "extra_body must be a table of parameters"),
        ({"extra_headers": SECRET}, "extra_headers must be a table of headers"),
        (
            {"extra_headers": {"X-A": f"{SECRET}\r\nHost: b"}},
            "value of X-A must be a line of ASCII",
        ),
        ({"extra_headers": {"X A": SECRET}}, "'X A' is not the name of a header"),
        ({"extra_headers": {"Host": SECRET}}, "Host cannot be set"),
        ({"extra_headers": {"x-api-key": SECRET}}, "x-api-key cannot be set"),
        ({"max_tokens": 5}, "no option 'max_tokens'; use max_output_tokens"),
        ({"temprature": 5}, "did you mean 'temperature'"),
        ({f"X-A: {SECRET}": 5}, "no option of that name. Options are max_output_tokens"),
    ],
)
def test_what_an_option_cannot_be(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        checked_call_options(given)
    assert SECRET not in str(raised.value)


@every_row(
    ("address", "options", "message"),
    [
        ("anthropic:m", {"seed": 1}, "Anthropic's protocol has no seed"),
        (LOCAL, {"extra_body": {"base_url": "http://h"}}, "extra_body.base_url cannot be set"),
        (LOCAL, {"extra_body": {"temperature": 1}}, "extra_body.temperature cannot be set"),
        (LOCAL, {"extra_body": {"messages": []}}, "messages cannot be set"),
        (LOCAL, {"extra_body": {"max_tokens": 9}}, "max_tokens cannot be set"),
    ],
)
def test_what_an_address_does_not_take(address: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        judge_from_address(address, options=options, environment={"ANTHROPIC_API_KEY": "k" * 9})


def test_options_that_change_replies_are_what_a_judge_is_known_by() -> None:
    options = {
        "temperature": "default",
        "seed": 3,
        "reasoning_effort": "low",
        "extra_body": {"top_p": 0.5},
        "extra_headers": {"X-Team": SECRET},
    }
    judge = judge_from_address(LOCAL, options=options, environment={})
    assert dict(judge.identity.parameters) == {
        "max_output_tokens": 2048,
        "reasoning_effort": "low",
        "seed": 3,
        "structured": True,
        "temperature": None,
        "top_p": 0.5,
    }
    assert SECRET not in repr(judge) + repr(vars(judge)["_settings"])
    plain = judge_from_address(LOCAL, environment={}).identity
    assert judge_from_address(LOCAL, options={}, environment={}).identity == plain


def test_options_are_for_judges_with_an_address() -> None:
    options = {"mode": "llm", "judge": FluentJudge(), "judge_options": {"seed": 1}}
    with pytest.raises(InputError, match="judge_options are for judges given by an address"):
        make_judging(options, ("faithfulness",))


@every_row(
    ("texts", "found"),
    [
        (["temperature=0.2", "seed=7"], {"temperature": 0.2, "seed": 7}),
        (
            ["structured=false", "reasoning_effort=low"],
            {"structured": False, "reasoning_effort": "low"},
        ),
        (
            ["extra_body.top_k=5", 'extra_body.a={"b": [1]}'],
            {"extra_body": {"top_k": 5, "a": {"b": [1]}}},
        ),
        (
            ["extra_headers.X-A=1", "extra_headers.X-B=b=c"],
            {"extra_headers": {"X-A": "1", "X-B": "b=c"}},
        ),
        (['extra_headers={"X-A": "1"}'], {"extra_headers": {"X-A": "1"}}),
    ],
)
def test_flags_are_options(texts: list[str], found: dict[str, Any]) -> None:
    assert OF_OPTION["judge_options"]("--judge-option", texts) == found
    assert checked_call_options(found) == found


@every_row(
    ("texts", "message"),
    [
        (["seed=1", "seed=2"], "seed is given twice"),
        (["seed.x=1"], "seed has no parts"),
        ([f"extra_headers.X-A: {SECRET}"], "expected NAME=VALUE"),
        (["extra_body=1", "extra_body.a=1"], "extra_body.a is given twice"),
    ],
)
def test_what_flags_cannot_be(texts: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        OF_OPTION["judge_options"]("--judge-option", texts)
    assert SECRET not in str(raised.value)


def test_a_file_gives_options_that_flags_are_laid_over(tmp_path: Path) -> None:
    config = tmp_path / "rag-eval.toml"
    config.write_text(
        "[judge]\nretries = 2\n[judge.options]\ntemperature = 'default'\nseed = 4\n"
        "[judge.options.extra_body]\ntop_p = 0.5\nchat_template_kwargs = {enable_thinking = false}"
    )
    found = read_config(config)
    assert found["retries"] == 2
    merged = merged_call_options(found["judge_options"], {"seed": 5, "extra_body": {"top_p": 1}})
    assert merged == {
        "temperature": "default",
        "seed": 5,
        "extra_body": {"top_p": 1, "chat_template_kwargs": {"enable_thinking": False}},
    }


@every_row(
    ("text", "message"),
    [
        ("extra_headers = {X-A = 'b'}", "extra_headers is not allowed in a configuration file"),
        ("extra_body = {api_base = 'https://e.example'}", "extra_body.api_base is not allowed"),
        ("extra_body = {tools = []}", "extra_body.tools is not allowed"),
        ("judge = 'openai:m'", "no option 'judge'"),
    ],
)
def test_a_file_names_no_server_and_no_key(tmp_path: Path, text: str, message: str) -> None:
    config = tmp_path / "rag-eval.toml"
    for table in (f"[judge.options]\n{text}", f"[judge_options]\n{text}"):
        config.write_text(table)
        with pytest.raises(InputError, match=message):
            read_config(config)
    config.write_text("judge_allow_http = ['h:1']")
    with pytest.raises(InputError, match="not allowed in a configuration file"):
        read_config(config)


@every_row(
    "words",
    [
        ["--judge-option", f"extra_headers.X-A={SECRET}"],
        [f"--judge-option=extra_headers.X-A={SECRET}\n{SECRET}"],
        ["--judge-option", f" extra_headers.X-A = {SECRET}"],
        ["--judge-option", f'extra_headers={{"X-A": "{SECRET}"}}'],
    ],
)
def test_the_command_in_a_report_shows_no_header(
    monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["rag-eval", "run", "d.jsonl", *words, "--quiet"])
    shown = this_command()
    assert SECRET not in shown
    assert "extra_headers" in shown
    assert shown.endswith(" --quiet")


@every_row(
    ("url", "allowed", "is_fine"),
    [
        ("http://ollama:11434/v1", ["ollama:11434"], True),
        ("http://Ollama:11434/v1", ["OLLAMA:11434"], True),
        ("http://ollama/v1", ["ollama:80"], True),
        ("http://[fd00::1]:8/v1", ["[fd00::1]:8"], True),
        ("http://ollama:11435/v1", ["ollama:11434"], False),
        ("http://ollama.evil.example:11434/v1", ["ollama:11434"], False),
        ("http://ollama:11434/v1", [], False),
    ],
)
def test_plain_http_is_for_the_named_server_alone(
    url: str, allowed: list[str], is_fine: bool
) -> None:
    if is_fine:
        judge = judge_from_address(f"{url}#m", allow_http=allowed, environment={})
        (note,) = unencrypted_notes([judge.identity, judge.identity])
        assert "unencrypted to" in note
    else:
        with pytest.raises(InputError, match="add --judge-allow-http ollama"):
            judge_from_address(f"{url}#m", allow_http=allowed, environment={})


@every_row("place", ["ollama", "http://ollama:1", "ollama:x", "a b:1", ""])
def test_a_server_for_plain_http_has_a_host_and_a_port(place: str) -> None:
    with pytest.raises(InputError, match="must be HOST:PORT, such as ollama:11434"):
        judge_from_address(LOCAL, allow_http=[place], environment={})


def test_servers_by_https_and_on_this_machine_have_no_note() -> None:
    for address in (LOCAL, "https://h.example/v1#m"):
        judge = judge_from_address(address, environment={"RAG_EVAL_JUDGE_API_KEY": "k" * 9})
        assert unencrypted_notes([judge.identity]) == ()
    assert checked_server_url("http://anywhere/v1", None) == "http://anywhere/v1"
