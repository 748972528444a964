"""Options of a judge's calls.  In: a mapping, as users give it.  Out: the same, checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.plumbing.checked_values import flag, from_zero, whole_from_one
from rag_eval.plumbing.json_text import is_deeper

DEFAULT: Final = "default"
"""A temperature that is left to the server; TOML has no null."""

# Further parameters that a file may set. Anyone who can change it could otherwise name a server,
# a key or a tool here, which gateways take from the body of a call.
_OF_FILES: Final = frozenset(
    {
        *("cache_prompt", "chat_template_kwargs", "frequency_penalty", "logit_bias", "min_p"),
        *("presence_penalty", "repeat_penalty", "repetition_penalty", "service_tier", "thinking"),
        *("top_k", "top_p", "typical_p", "verbosity"),
    }
)
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}")
_HEADER_VALUE: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]{0,8000}[\x21-\x7e])?")
# They frame a call, name its server, or hold its key.
_OUR_HEADERS: Final = frozenset(
    {
        *("accept-encoding", "authorization", "connection", "content-length", "content-type"),
        *("cookie", "expect", "host", "proxy-authorization", "te", "trailer", "transfer-encoding"),
        *("upgrade", "x-api-key"),
    }
)
_EFFORT: Final = re.compile(r"[a-z]{1,20}")
_MOST_DEPTH: Final = 20


def checked_call_options(given: object, name: str = "judge_options") -> dict[str, Any]:
    """Options of calls, each with a value that it takes.

    Parameters
    ----------
    given : mapping
        ``max_output_tokens``, ``temperature``, ``seed``, ``reasoning_effort``, ``structured``,
        ``extra_body`` and ``extra_headers``.

    Raises
    ------
    InputError
        Naming the option; never with the value of a header.
    """
    if not isinstance(given, Mapping):
        raise InputError(f"{name} must be a mapping, got {type(given).__name__}")
    checked: dict[str, Any] = {}
    for option, value in given.items():
        if option not in _CHECKS:
            raise InputError(f"{name} has no option {_shown(option)}{_hint(option)}")
        if value is not None:
            checked[option] = _CHECKS[option](value, f"{name}: {option}")
    return checked


def check_file_options(given: Mapping[str, Any], name: str) -> None:
    """Raise an InputError for an option that a configuration file must not set."""
    if "extra_headers" in given:
        raise InputError(
            f"{name}: extra_headers is not allowed in a configuration file, because a header can "
            "hold a key or name another server; use --judge-option extra_headers.NAME=VALUE"
        )
    for parameter in given.get("extra_body", {}):
        if parameter not in _OF_FILES:
            raise InputError(
                f"{name}: extra_body.{parameter} is not allowed in a configuration file, which may "
                f"set {', '.join(sorted(_OF_FILES))}; use --judge-option extra_body.{parameter}=…"
            )


def merged_call_options(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a file and those of flags, which win; of tables, key by key."""
    merged = {**below, **above}
    for option in ("extra_body", "extra_headers"):
        if option in below and option in above:
            merged[option] = {**below[option], **above[option]}
    return merged


def _shown(option: object) -> str:
    """A name for a message; what is no name may be a header with a key."""
    is_name = isinstance(option, str) and option.isidentifier()
    return glance(option) if is_name else "of that name"


def _hint(option: object) -> str:
    if isinstance(option, str):
        near = {"max_tokens": "max_output_tokens", "response_format": "structured"}.get(option)
        if near is not None:
            return f"; use {near}"
    return (
        f"{suggestion(str(option), _CHECKS)}. Options are {', '.join(_CHECKS)}; other parameters "
        "of the server go into extra_body"
    )


def _temperature(value: object, name: str) -> float | str:
    return DEFAULT if value == DEFAULT else from_zero(value, name)


def _seed(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 2**63:
        raise InputError(f"{name} must be a whole number, got {glance(value)}")
    return value


def _effort(value: object, name: str) -> str:
    if not isinstance(value, str) or not _EFFORT.fullmatch(value):
        raise InputError(f"{name} must be a word such as low or high, got {glance(value)}")
    return value


def _body(value: object, name: str) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InputError(f"{name} must be a table of parameters, got {glance(value)}")
    if is_deeper(dict(value), _MOST_DEPTH):
        raise InputError(f"{name} is nested more than {_MOST_DEPTH} deep")
    return dict(value)


def checked_headers(value: object, name: str) -> dict[str, str]:
    """Further headers of each call; an InputError never repeats their values."""
    if not isinstance(value, Mapping):
        raise InputError(f"{name} must be a table of headers, got {type(value).__name__}")
    for header, text in value.items():
        if not isinstance(header, str) or not _HEADER_NAME.fullmatch(header):
            raise InputError(f"{name}: {glance(header)} is not the name of a header")
        if header.lower() in _OUR_HEADERS:
            raise InputError(f"{name}: {header} cannot be set: every call has its own")
        if not isinstance(text, str) or not _HEADER_VALUE.fullmatch(text):
            raise InputError(f"{name}: the value of {header} must be a line of ASCII text")
    return dict(value)


_CHECKS: Final[Mapping[str, Callable[[Any, str], Any]]] = {
    "max_output_tokens": whole_from_one,
    "temperature": _temperature,
    "seed": _seed,
    "reasoning_effort": _effort,
    "structured": flag,
    "extra_body": _body,
    "extra_headers": checked_headers,
}
