"""Judges that speak Anthropic's messages: the vendor's own, and any server that does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from rag_eval.adapters.anthropic_batches import AnthropicBatches
from rag_eval.adapters.call_settings import CallSettings
from rag_eval.adapters.messages import anthropic_messages
from rag_eval.adapters.served_judge import ServedJudge, Wire, served_judge
from rag_eval.judge.call_options import checked_headers
from rag_eval.judge.replies import CALL_TIMEOUT_S


class _Block(msgspec.Struct):
    type: str
    text: str = ""


class _Message(msgspec.Struct):
    content: list[_Block]
    stop_reason: str | None = None
    # Checked apart: a reply is not lost when its server cannot count.
    usage: Any = None
    model: Any = None


def _said(answer: _Message) -> tuple[str, str | None]:
    text = "".join(block.text for block in answer.content if block.type == "text")
    return text, answer.stop_reason


_WIRE: Final = Wire(
    provider="anthropic",
    vendor="Anthropic",
    client="AsyncAnthropic",
    client_options={"open_telemetry": False},
    path="/v1/messages",
    limits=("max_tokens",),
    structure="output_config",
    form=lambda schema: {"format": {"type": "json_schema", "schema": schema}},
    effort=lambda effort: {"output_config": {"effort": effort}},
    optional=("temperature", "output_config"),
    messages=anthropic_messages,
    shape=_Message,
    said=_said,
    thought=lambda answer: any("thinking" in block.type for block in answer.content),
    # Tokens that the vendor's own cache took or gave are counted apart from the others.
    usage=(
        *("input_tokens", "output_tokens"),
        *("cache_creation_input_tokens", "cache_read_input_tokens"),
    ),
    cached=("cache_read_input_tokens",),
    written=("cache_creation_input_tokens",),
    batches=AnthropicBatches,
)


def create_anthropic_judge(
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
    """A judge that uses Anthropic's SDK.

    Parameters
    ----------
    model : str
    api_key : str, optional
        Key sent to ``base_url``. Default: ``ANTHROPIC_API_KEY`` for the vendor's server and
        ``RAG_EVAL_JUDGE_API_KEY`` for any other; a server on this machine needs none.
    base_url : str, optional
        URL of another server with this protocol, without the ``/v1`` of its paths.
    temperature, max_output_tokens, timeout_s, structured, reasoning_effort
        As for :func:`rag_eval.adapters.openai.create_openai_judge`.
    extra_headers, allow_http
        As there.
    **extra
        Further parameters of a message, such as ``thinking`` or ``system``.

    Raises
    ------
    InputError, MissingExtraError
        As there.
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
