"""Judges that speak OpenAI's chat completions: the vendor's own, and any server that does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from rag_eval.adapters.answers import token_count
from rag_eval.adapters.call_settings import CallSettings
from rag_eval.adapters.messages import openai_messages
from rag_eval.adapters.openai_batches import OpenAIBatches
from rag_eval.adapters.served_judge import ServedJudge, Wire, served_judge
from rag_eval.judge.call_options import checked_headers
from rag_eval.judge.replies import CALL_TIMEOUT_S


class _Part(msgspec.Struct):
    text: str = ""


class _Message(msgspec.Struct):
    content: str | list[_Part] | None = None
    # Two names of one thing, at servers of open models.
    reasoning_content: Any = None
    reasoning: Any = None
    refusal: str | None = None


class _Likely(msgspec.Struct):
    token: str
    logprob: float


class _Token(msgspec.Struct):
    token: str
    top_logprobs: list[_Likely]


class _Logprobs(msgspec.Struct):
    content: list[_Token]


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None
    # Checked apart, like the usage.
    logprobs: Any = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    # Checked apart: a reply is not lost when its server cannot count.
    usage: Any = None
    model: Any = None


def _thought(answer: _Completion) -> bool:
    message = answer.choices[0].message if answer.choices else _Message()
    details = (
        answer.usage.get("completion_tokens_details") if isinstance(answer.usage, dict) else None
    )
    return bool(
        message.reasoning_content
        or message.reasoning
        or (isinstance(message.content, str) and message.content.lstrip().startswith("<think>"))
        or token_count(details, "reasoning_tokens")
    )


def _tokens(answer: _Completion) -> tuple[tuple[str, dict[str, float]], ...]:
    """The tokens of the text and the likeliest at each place; empty where that is not said."""
    try:
        found = msgspec.convert(answer.choices[0].logprobs, _Logprobs).content
    except (IndexError, msgspec.ValidationError):
        return ()
    return tuple((one.token, {it.token: it.logprob for it in one.top_logprobs}) for one in found)


def _said(answer: _Completion) -> tuple[str, str | None]:
    if not answer.choices:
        return "", None
    choice = answer.choices[0]
    if choice.message.refusal:
        return choice.message.refusal, "refusal"
    content = choice.message.content or ""
    text = content if isinstance(content, str) else "".join(part.text for part in content)
    return text, choice.finish_reason


_WIRE: Final = Wire(
    provider="openai",
    vendor="OpenAI",
    client="AsyncOpenAI",
    path="/chat/completions",
    limits=("max_completion_tokens", "max_tokens"),
    structure="response_format",
    form=lambda schema: {
        "type": "json_schema",
        "json_schema": {"name": "reply", "strict": True, "schema": schema},
    },
    effort=lambda effort: {"reasoning_effort": effort},
    optional=("temperature", "max_completion_tokens", "max_tokens", "response_format"),
    reserved=("n",),
    messages=openai_messages,
    shape=_Completion,
    said=_said,
    thought=_thought,
    tokens=_tokens,
    usage=("prompt_tokens", "completion_tokens"),
    cached=("prompt_tokens_details", "cached_tokens"),
    batches=OpenAIBatches,
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
    reasoning_effort: str | None = None,
    extra_headers: Mapping[str, str] | None = None,
    allow_http: Sequence[str] = (),
    **extra: Any,
) -> ServedJudge:
    """A judge that uses OpenAI's SDK.

    If the server rejects a parameter, later calls leave it out; the judge's identity keeps it.

    Parameters
    ----------
    model : str
    api_key : str, optional
        Key sent to ``base_url``. Default: ``OPENAI_API_KEY`` for the vendor's server and
        ``RAG_EVAL_JUDGE_API_KEY`` for any other; a server on this machine needs none.
    base_url : str, optional
        URL of another server with this protocol, such as ``http://127.0.0.1:11434/v1``.
    temperature : float or None
        None for the server's default.
    max_output_tokens : int
    timeout_s : float, default 60
        Time limit of one call; the ``call_timeout_s`` of a run can only shorten it.
    structured : bool
        Request replies that follow their JSON schema, if the server supports it.
    reasoning_effort : str, optional
        How long a reasoning model may think, such as ``low``.
    extra_headers : mapping, optional
        Further headers of each call, for gateways. They are not part of the judge's identity and
        are never logged or written.
    allow_http : sequence of str
        ``HOST:PORT`` of servers on other machines that may be called by plain http.
    **extra
        Further parameters of a chat completion, such as ``seed`` or ``top_p``.

    Raises
    ------
    InputError
        If a parameter is invalid, the URL could expose the key, or the key is not set.
    MissingExtraError
        If the SDK is not installed.
    """
    settings = CallSettings(
        model,
        temperature,
        max_output_tokens,
        structured,
        timeout_s,
        extra,
        reasoning_effort,
        checked_headers(extra_headers or {}, "extra_headers"),
    )
    return served_judge(_WIRE, settings, base_url, api_key, allow_http)
