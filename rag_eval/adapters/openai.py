"""Judges that speak OpenAI's chat completions: the vendor's own, and any server that does."""

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
from rag_eval.judge.server_urls import VENDOR_URLS, vendor_at

_RESERVED: Final = frozenset(
    {"model", "messages", "stream", "n", "response_format", "max_tokens", "max_completion_tokens"}
)


def create_openai_judge(
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
    """A judge on OpenAI's SDK.

    A parameter that the server says it does not take is left out from then on; the judge's
    identity keeps what was asked for.

    Parameters
    ----------
    model : str
    api_key : str, optional
        Sent to ``base_url``. Without one, ``OPENAI_API_KEY`` for the vendor's server and
        ``RAG_EVAL_JUDGE_API_KEY`` for any other, which a server on this machine can do without.
    base_url : str, optional
        Of another server that speaks the protocol, as ``http://127.0.0.1:11434/v1``.
    temperature : float or None
        None leaves it to the server.
    max_output_tokens : int
    timeout_s : float, default 60
        For one call. A run's ``call_timeout_s`` can end it earlier, not later.
    structured : bool
        Hold replies to their JSON schema, where the server can do so.
    **extra
        Further parameters of a chat completion, as ``seed`` or ``reasoning_effort``.

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
    url, key = server_and_key("openai", base_url, api_key)
    clients = LoopClients(lambda: _client(sdk, url, key, timeout_s))
    shown = None if url == VENDOR_URLS["openai"] else url
    identity = JudgeIdentity("openai", model, shown, settings.parameters())
    wire = _ChatCompletions(sdk, settings, own_vendor=vendor_at(url) == "openai")
    return ServedJudge(identity, wire, clients, settings, key)


def _client(sdk: ModuleType, url: str, key: str, timeout_s: float) -> Any:
    return sdk.AsyncOpenAI(
        api_key=key,
        base_url=url,
        max_retries=0,
        timeout=timeout_s,
        http_client=http_client(url, key, timeout_s),
    )


def _sdk() -> ModuleType:
    try:
        import openai
    except ImportError as error:
        raise MissingExtraError(
            "a judge on OpenAI's protocol needs its SDK; pip install 'rag-eval-native[openai]'"
        ) from error
    return openai


class _ChatCompletions:
    """The protocol."""

    structure = "response_format"
    optional: tuple[str, ...] = (
        "temperature",
        "max_completion_tokens",
        "max_tokens",
        "response_format",
    )

    def __init__(self, sdk: ModuleType, settings: CallSettings, *, own_vendor: bool) -> None:
        self.sdk = sdk
        self._settings = settings
        # Other servers know the older name, and one that they do not know they may pass over.
        names = ("max_completion_tokens", "max_tokens")
        self._limits = names if own_vendor else names[::-1]

    async def send(self, client: Any, body: Mapping[str, Any]) -> bytes:
        import httpx2

        answer = await client.post("/chat/completions", cast_to=httpx2.Response, body=body)
        return bytes(answer.content)

    def body(
        self, prompt: str, schema: Mapping[str, Any] | None, refused: frozenset[str]
    ) -> dict[str, Any]:
        settings = self._settings
        limit = next((name for name in self._limits if name not in refused), self._limits[0])
        found: dict[str, Any] = {
            **settings.extra,
            "model": settings.model,
            "messages": [{"role": "user", "content": prompt}],
            limit: settings.max_output_tokens,
        }
        if settings.temperature is not None and "temperature" not in refused:
            found["temperature"] = settings.temperature
        if schema is not None and self.structure not in refused:
            form = {"name": "reply", "strict": True, "schema": schema}
            found[self.structure] = {"type": "json_schema", "json_schema": form}
        return found

    def reply(self, answer: bytes) -> JudgeReply:
        found = decoded_answer(answer, _Completion)
        model = found.model if isinstance(found.model, str) else None
        usage = _usage(found.usage)
        if not found.choices:
            return JudgeReply("", None, usage, model)
        choice = found.choices[0]
        if choice.message.refusal:
            return JudgeReply(choice.message.refusal, "refusal", usage, model)
        return JudgeReply(_text(choice.message.content), choice.finish_reason, usage, model)


class _Part(msgspec.Struct):
    text: str = ""


class _Message(msgspec.Struct):
    content: str | list[_Part] | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    # Checked apart: a reply is not lost when its server cannot count.
    usage: Any = None
    model: Any = None


def _text(content: str | list[_Part] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part.text for part in content)


def _usage(found: object) -> Usage | None:
    inward = token_count(found, "prompt_tokens")
    outward = token_count(found, "completion_tokens")
    return None if inward is None or outward is None else Usage(inward, outward)
