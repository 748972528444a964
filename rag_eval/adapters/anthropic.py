"""Judges that speak Anthropic's messages: the vendor's own, and any server that does."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

import msgspec

from rag_eval.adapters.answers import decoded_answer, token_count
from rag_eval.adapters.call_settings import CallSettings, checked_settings, server_and_key
from rag_eval.adapters.clients import LoopClients, http_client
from rag_eval.adapters.served_judge import ServedJudge
from rag_eval.errors import MissingExtraError
from rag_eval.judge.limits import CALL_TIMEOUT_S
from rag_eval.judge.replies import JudgeIdentity, JudgeReply, Usage
from rag_eval.judge.server_urls import VENDOR_URLS

_RESERVED: Final = frozenset({"model", "messages", "stream", "max_tokens", "output_config"})


def create_anthropic_judge(
    model: str,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    temperature: float | None = 0.0,
    max_output_tokens: int = 2048,
    timeout_s: float = CALL_TIMEOUT_S,
    structured: bool = True,
    **extra: Any,
) -> ServedJudge:
    """A judge on Anthropic's SDK.

    A parameter that the server says it does not take is left out from then on; the judge's
    identity keeps what was asked for.

    Parameters
    ----------
    model : str
    api_key : str, optional
        Sent to ``base_url``. Without one, ``ANTHROPIC_API_KEY`` for the vendor's server and
        ``RAG_EVAL_JUDGE_API_KEY`` for any other, which a server on this machine can do without.
    base_url : str, optional
        Of another server that speaks the protocol, without the ``/v1`` of its paths.
    temperature : float or None
        None leaves it to the server.
    max_output_tokens : int
    timeout_s : float, default 60
        For one call. A run's ``call_timeout_s`` can end it earlier, not later.
    structured : bool
        Hold replies to their JSON schema, where the server can do so.
    **extra
        Further parameters of a message, as ``thinking`` or ``system``.

    Raises
    ------
    InputError
        A parameter cannot be, the URL could give the key away, or the key is not set.
    MissingExtraError
        The SDK is not installed.
    """
    sdk = _sdk()
    settings = checked_settings(
        model,
        temperature=temperature,
        max_output_tokens=max_output_tokens,
        structured=structured,
        timeout_s=timeout_s,
        extra=extra,
        reserved=_RESERVED,
    )
    url, key = server_and_key("anthropic", base_url, api_key)
    clients = LoopClients(lambda: _client(sdk, url, key, timeout_s))
    shown = None if url == VENDOR_URLS["anthropic"] else url
    identity = JudgeIdentity("anthropic", model, shown, settings.parameters())
    return ServedJudge(identity, _Messages(sdk, settings), clients, settings, key)


def _client(sdk: ModuleType, url: str, key: str, timeout_s: float) -> Any:
    return sdk.AsyncAnthropic(
        api_key=key,
        base_url=url,
        max_retries=0,
        timeout=timeout_s,
        open_telemetry=False,
        http_client=http_client(url, key, timeout_s),
    )


def _sdk() -> ModuleType:
    try:
        import anthropic
    except ImportError as error:
        raise MissingExtraError(
            "a judge on Anthropic's protocol needs its SDK; "
            "pip install 'rag-eval-native[anthropic]'"
        ) from error
    return anthropic


class _Messages:
    """The protocol."""

    structure = "output_config"
    optional: tuple[str, ...] = ("temperature", "output_config")

    def __init__(self, sdk: ModuleType, settings: CallSettings) -> None:
        self.sdk = sdk
        self._settings = settings

    async def send(self, client: Any, body: Mapping[str, Any]) -> bytes:
        import httpx2

        answer = await client.post("/v1/messages", cast_to=httpx2.Response, body=body)
        return bytes(answer.content)

    def body(
        self, prompt: str, schema: Mapping[str, Any] | None, refused: frozenset[str]
    ) -> dict[str, Any]:
        settings = self._settings
        found: dict[str, Any] = {
            **settings.extra,
            "model": settings.model,
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": settings.max_output_tokens,
        }
        if settings.temperature is not None and "temperature" not in refused:
            found["temperature"] = settings.temperature
        if schema is not None and self.structure not in refused:
            found[self.structure] = {"format": {"type": "json_schema", "schema": schema}}
        return found

    def reply(self, answer: bytes) -> JudgeReply:
        found = decoded_answer(answer, _Message)
        text = "".join(block.text for block in found.content if block.type == "text")
        model = found.model if isinstance(found.model, str) else None
        return JudgeReply(text, found.stop_reason, _usage(found.usage), model)


class _Block(msgspec.Struct):
    type: str
    text: str = ""


class _Message(msgspec.Struct):
    content: list[_Block]
    stop_reason: str | None = None
    # Checked apart: a reply is not lost when its server cannot count.
    usage: Any = None
    model: Any = None


def _usage(found: object) -> Usage | None:
    inward, outward = token_count(found, "input_tokens"), token_count(found, "output_tokens")
    if inward is None or outward is None:
        return None
    # Tokens that the vendor's own cache took or gave are counted apart from the others.
    for name in ("cache_creation_input_tokens", "cache_read_input_tokens"):
        inward += token_count(found, name) or 0
    return Usage(inward, outward)
