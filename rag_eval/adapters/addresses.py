"""Addresses of judges.  In: ``openai:MODEL``, ``http://127.0.0.1:11434/v1#MODEL``.  Out: judges."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rag_eval.errors import InputError, suggestion
from rag_eval.judge.call_options import DEFAULT, checked_call_options
from rag_eval.judge.replies import CALL_TIMEOUT_S, SchemaJudge
from rag_eval.judge.server_urls import (
    VENDOR_URLS,
    checked_http_places,
    checked_server_url,
    key_for,
)

# They have options of their own, or belong to the address.
_NOT_OF_BODIES: Final = frozenset(
    {
        *("allow_http", "api_key", "base_url", "max_output_tokens", "model", "reasoning_effort"),
        *("structured", "temperature", "timeout_s"),
    }
)
_FORMS: Final = (
    "use openai:MODEL, anthropic:MODEL, or the URL of an OpenAI-compatible server followed by "
    "#MODEL, such as http://127.0.0.1:11434/v1#MODEL"
)


@dataclass(frozen=True, slots=True)
class JudgeAddress:
    """Where a judge is and what it is called.

    Attributes
    ----------
    provider : str
        The protocol, ``openai`` or ``anthropic``.
    model : str
    base_url : str
        The server; checked.
    """

    provider: str
    model: str
    base_url: str


def parsed_address(
    text: str, *, base_url: str | None = None, allow_http: Container[str] | None = ()
) -> JudgeAddress:
    """The address that a text spells; no key and no SDK is needed for it.

    Parameters
    ----------
    text : str
        ``openai:MODEL``, ``anthropic:MODEL``, or a URL with the model after ``#``.
    base_url : str, optional
        Another server than the vendor's that speaks its protocol; not with a URL.
    allow_http : container of str or None
        As for :func:`~rag_eval.judge.server_urls.checked_server_url`.

    Raises
    ------
    InputError
        Saying how it is written.
    """
    text = text.strip()
    if "://" in text:
        if base_url is not None:
            raise InputError(
                "a base URL can be given with openai:MODEL or anthropic:MODEL, "
                "not with a judge's URL"
            )
        url, _, model = text.partition("#")
        checked = checked_server_url(url, allow_http)
        if not model.strip():
            raise InputError(f"the judge {checked} names no model; write {checked}#MODEL")
        return JudgeAddress("openai", model.strip(), checked)
    name, colon, model = text.partition(":")
    provider = name.strip().lower()
    if provider not in VENDOR_URLS or not colon:
        hint = suggestion(name, VENDOR_URLS) if colon else ""
        raise InputError(f"unknown judge {text!r}{hint}; {_FORMS}")
    if not model.strip():
        raise InputError(f"the judge {text!r} names no model; {_FORMS}")
    server = VENDOR_URLS[provider]
    if base_url is not None:
        server = checked_server_url(base_url, allow_http)
    return JudgeAddress(provider, model.strip(), server)


def judge_from_address(
    text: str,
    *,
    base_url: str | None = None,
    timeout_s: float = CALL_TIMEOUT_S,
    options: Mapping[str, Any] | None = None,
    allow_http: Sequence[str] = (),
    environment: Mapping[str, str] = os.environ,
) -> SchemaJudge:
    """The judge at an address.

    ``OPENAI_API_KEY`` and ``ANTHROPIC_API_KEY`` are sent only to their vendor's own server. Any
    other server gets ``RAG_EVAL_JUDGE_API_KEY``; one on this machine needs none.

    Parameters
    ----------
    text : str
        As for :func:`parsed_address`.
    base_url : str, optional
    timeout_s : float, default 60
        For one call.
    options : mapping, optional
        What each call is made with; see :func:`~rag_eval.judge.call_options.checked_call_options`.
    allow_http : sequence of str
        ``HOST:PORT`` of servers on other machines that may be called by plain http.
    environment : mapping
        Variables in which keys are looked up.

    Raises
    ------
    InputError
        A malformed address, an option that the protocol does not have, or a key that is not set.
    MissingExtraError
        If its SDK is not installed.
    """
    places = checked_http_places(allow_http, "allow_http")
    address = parsed_address(text, base_url=base_url, allow_http=places)
    key = key_for(address.base_url, environment)
    given = checked_call_options(options or {})
    if "seed" in given and address.provider == "anthropic":
        raise InputError("judge_options: Anthropic's protocol has no seed")
    extra = given.pop("extra_body", {})
    for name in extra:
        if name in _NOT_OF_BODIES:
            raise InputError(f"judge_options: extra_body.{name} cannot be set there")
    if given.get("temperature") == DEFAULT:
        given["temperature"] = None
    if address.provider == "openai":
        from rag_eval.adapters.openai import create_openai_judge as create
    else:
        from rag_eval.adapters.anthropic import create_anthropic_judge as create
    return create(
        address.model,
        api_key=key,
        base_url=address.base_url,
        timeout_s=timeout_s,
        allow_http=places,
        **given,
        **extra,
    )


def checked_addresses(text: str) -> list[str]:
    """The addresses in a text with commas between them, each once.

    Raises
    ------
    InputError
        Also for an empty address and for one that occurs twice.
    """
    texts = [part.strip() for part in text.split(",")]
    addresses = []
    for part in texts:
        if not part:
            raise InputError(f"the judge's address is empty in {text!r}; {_FORMS}")
        address = parsed_address(part, allow_http=None)
        if address in addresses:
            raise InputError(f"the judge {part!r} is given twice")
        addresses.append(address)
    return texts
