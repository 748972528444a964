"""Addresses of judges, the servers they may name, and which key goes where."""

from __future__ import annotations

import asyncio

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.adapters.addresses import (
    JudgeAddress,
    checked_addresses,
    judge_from_address,
    parsed_address,
)
from rag_eval.errors import InputError
from rag_eval.judge.failures import JudgeCallError
from rag_eval.judge.replies import JudgeIdentity
from rag_eval.judge.server_urls import checked_server_url, key_for, vendor_of
from tests.tables import every_row

OPENAI = "https://api.openai.com/v1"
ANTHROPIC = "https://api.anthropic.com"
ALL_KEYS = {
    "OPENAI_API_KEY": "openai-key",
    "ANTHROPIC_API_KEY": "anthropic-key",
    "RAG_EVAL_JUDGE_API_KEY": "other-key",
}


@every_row(
    ("text", "address"),
    [
        ("openai:gpt-x", JudgeAddress("openai", "gpt-x", OPENAI)),
        (" OpenAI: gpt-x ", JudgeAddress("openai", "gpt-x", OPENAI)),
        ("openai:ft:gpt-x:org::id", JudgeAddress("openai", "ft:gpt-x:org::id", OPENAI)),
        ("anthropic:claude-x", JudgeAddress("anthropic", "claude-x", ANTHROPIC)),
        (
            "http://127.0.0.1:11434/v1#llama3:8b",
            JudgeAddress("openai", "llama3:8b", "http://127.0.0.1:11434/v1"),
        ),
        (
            "https://host.example/v1/#org/model#2",
            JudgeAddress("openai", "org/model#2", "https://host.example/v1"),
        ),
        ("http://[::1]:8000/v1#m", JudgeAddress("openai", "m", "http://[::1]:8000/v1")),
        ("http://localhost#m", JudgeAddress("openai", "m", "http://localhost")),
        (f"{OPENAI}#gpt-x", JudgeAddress("openai", "gpt-x", OPENAI)),
    ],
)
def test_an_address_names_protocol_server_and_model(text: str, address: JudgeAddress) -> None:
    assert parsed_address(text) == address


def test_a_base_url_takes_the_place_of_the_vendors() -> None:
    found = parsed_address("anthropic:m", base_url="https://proxy.example/a/")
    assert found == JudgeAddress("anthropic", "m", "https://proxy.example/a")


@every_row(
    ("text", "message"),
    [
        ("gpt-x", "unknown judge 'gpt-x'; use openai:MODEL"),
        ("opanai:gpt-x", "unknown judge 'opanai:gpt-x'; did you mean 'openai'"),
        ("openai:", "names no model"),
        ("openai: ", "names no model"),
        ("", "unknown judge ''"),
        ("http://127.0.0.1:1/v1", "names no model; write http://127.0.0.1:1/v1#MODEL"),
        ("http://127.0.0.1:1/v1# ", "names no model"),
        ("http://host.example/v1#m", "on another machine must use https"),
        ("http://10.0.0.1/v1#m", "on another machine must use https"),
        ("http://0.0.0.0/v1#m", "on another machine must use https"),
        ("http://127.0.0.1.host.example/v1#m", "on another machine must use https"),
        ("http://localhost.host.example/v1#m", "on another machine must use https"),
        ("http://2130706433/v1#m", "on another machine must use https"),
        ("ftp://127.0.0.1/v1#m", "must be a URL"),
        ("://x#m", "must be a URL"),
        ("https://#m", "must be a URL"),
        ("https://host:port/v1#m", "must be a URL"),
        ("https://host:99999/v1#m", "must be a URL"),
        ("https://ho st/v1#m", "must be a URL"),
        ("https://host\\.example/v1#m", "must be a URL"),
        ("https://host\t.example/v1#m", "must be a URL"),
        ("https://höst.example/v1#m", "must be a URL"),
        ("https://host.example/v1?key=s3cret#m", "must not contain a query"),
        ("http://127.0.0.1\\@host.example/v1#m", "user name or password"),
    ],
)
def test_a_wrong_address_says_how_it_is_written(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parsed_address(text)
    assert message in str(caught.value)


@every_row("url", ["https://me:s3cret@host.example/v1", "https://s3cret@host/v1"])
def test_a_password_in_a_url_is_refused_and_not_repeated(url: str) -> None:
    for text, base_url in ((f"{url}#m", None), ("openai:m", url)):
        with pytest.raises(InputError, match="user name or password") as caught:
            parsed_address(text, base_url=base_url)
        assert "s3cret" not in str(caught.value)


def test_a_url_takes_no_base_url_beside_it() -> None:
    with pytest.raises(InputError, match="not with a judge's URL"):
        parsed_address("http://127.0.0.1/v1#m", base_url="http://127.0.0.1/v1")


def test_a_base_url_names_no_model() -> None:
    with pytest.raises(InputError, match="must not name a model"):
        parsed_address("openai:m", base_url="http://127.0.0.1/v1#m")


@given(st.text(max_size=30))
def test_any_text_is_an_address_or_an_input_error(text: str) -> None:
    for whole in (text, f"openai:{text}", f"https://{text}#m", f"http://{text}#m"):
        try:
            found = parsed_address(whole)
        except InputError:
            continue
        assert found.model
        assert checked_server_url(found.base_url) == found.base_url


@every_row(
    ("url", "key"),
    [
        (OPENAI, "openai-key"),
        ("https://API.OpenAI.com:443/v1", "openai-key"),
        (ANTHROPIC, "anthropic-key"),
        ("https://api.openai.com.host.example/v1", "other-key"),
        ("https://api.openai.com:8443/v1", "other-key"),
        ("https://eu.api.openai.com/v1", "other-key"),
        ("https://host.example/api.openai.com/v1", "other-key"),
        ("http://127.0.0.1:1/v1", "other-key"),
    ],
)
def test_a_vendors_key_goes_to_the_vendor_alone(url: str, key: str) -> None:
    assert key_for(checked_server_url(url), ALL_KEYS) == key


@every_row(
    ("url", "variable"),
    [
        (OPENAI, "OPENAI_API_KEY"),
        (ANTHROPIC, "ANTHROPIC_API_KEY"),
        ("https://host.example/v1", "RAG_EVAL_JUDGE_API_KEY"),
    ],
)
def test_a_key_that_is_not_set_is_named_and_no_other_takes_its_place(
    url: str, variable: str
) -> None:
    others = {name: key for name, key in ALL_KEYS.items() if name != variable}
    for environment in (others, {**others, variable: " "}):
        with pytest.raises(InputError, match=f"set {variable}$"):
            key_for(url, environment)


def test_a_server_on_this_machine_needs_no_key() -> None:
    vendors = {name: key for name, key in ALL_KEYS.items() if "JUDGE" not in name}
    for url in ("http://127.9.9.9:1/v1", "http://localhost/v1", "http://[::1]/v1"):
        assert key_for(url, vendors) == "none"


def test_a_judge_comes_from_its_address() -> None:
    judge = judge_from_address("http://127.0.0.1:9/v1#m", environment={})
    assert (judge.identity.model, judge.identity.base_url) == ("m", "http://127.0.0.1:9/v1")
    judge = judge_from_address("anthropic:m", environment=ALL_KEYS)
    assert (judge.identity.provider, judge.identity.base_url) == ("anthropic", None)
    assert "key" not in repr(judge)


@every_row("address", ["http://127.0.0.1:9/v1#m", "openai:m", "anthropic:m"])
def test_the_time_limit_of_a_call_is_the_one_of_its_connection(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: dict[str, set[float]] = {"call": set(), "connection": set()}
    timeout = asyncio.timeout

    def limited(delay: float) -> asyncio.Timeout:
        limits["call"].add(delay)
        return timeout(delay)

    async def refused(client: object, request: httpx2.Request, **options: object) -> None:
        limits["connection"] |= set(request.extensions["timeout"].values())
        raise httpx2.ConnectError("refused")

    monkeypatch.setattr(asyncio, "timeout", limited)
    monkeypatch.setattr(httpx2.AsyncClient, "send", refused)
    for timeout_s in (300.0, 900.0):
        limits.update(call=set(), connection=set())
        judge = judge_from_address(address, timeout_s=timeout_s, environment=ALL_KEYS)
        with pytest.raises(JudgeCallError):
            asyncio.run(judge("Who?"))
        assert limits == {"call": {timeout_s}, "connection": {timeout_s}}


def test_the_process_environment_does_not_count_where_another_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "process-key")
    with pytest.raises(InputError, match="set OPENAI_API_KEY"):
        judge_from_address("openai:m", environment={})


def test_a_list_of_addresses() -> None:
    assert checked_addresses("openai:a, anthropic:b") == ["openai:a", "anthropic:b"]


@every_row(
    ("text", "message"),
    [
        ("", "empty"),
        ("openai:a,,openai:b", "empty"),
        ("openai:a, ", "empty"),
        ("openai:a, OpenAI:a", "'OpenAI:a' is given twice"),
        (f"openai:a,{OPENAI}/#a", "is given twice"),
    ],
)
def test_a_list_holds_each_judge_once_and_no_gap(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        checked_addresses(text)


@every_row(
    ("identity", "vendor"),
    [
        (JudgeIdentity("openai", "m"), "openai"),
        (JudgeIdentity("anthropic", "m"), "anthropic"),
        (JudgeIdentity("callable", "m"), None),
        (JudgeIdentity("callable", "m", OPENAI), None),
        (JudgeIdentity("openai", "m", "http://127.0.0.1:1/v1"), None),
        (JudgeIdentity("openai", "m", "https://api.anthropic.com/v1"), "anthropic"),
    ],
)
def test_the_vendor_is_whose_server_answers(identity: JudgeIdentity, vendor: str | None) -> None:
    assert vendor_of(identity) == vendor
