"""What calls are made with.  In: what a caller gave.  Out: the same, checked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag_eval.errors import InputError
from rag_eval.judge.server_urls import VENDOR_URLS, checked_server_url, key_for


@dataclass(frozen=True, slots=True)
class CallSettings:
    """What every call of a judge is made with.

    Attributes
    ----------
    model : str
    temperature : float or None
        None leaves it to the server.
    max_output_tokens : int
    structured : bool
        Replies are held to their JSON schema where the server can do so.
    timeout_s : float
        For one call, from sending to the last byte.
    extra : mapping
        Further parameters, sent as they are.
    """

    model: str
    temperature: float | None
    max_output_tokens: int
    structured: bool
    timeout_s: float
    extra: Mapping[str, Any]

    def parameters(self) -> tuple[tuple[str, Any], ...]:
        """Those that can change a verdict, as asked for, whatever the server then takes."""
        own = {
            "temperature": self.temperature,
            "max_output_tokens": self.max_output_tokens,
            "structured": self.structured,
        }
        return tuple(sorted({**self.extra, **own}.items()))


def checked_settings(
    model: object,
    *,
    temperature: float | None,
    max_output_tokens: int,
    structured: bool,
    timeout_s: float,
    extra: Mapping[str, Any],
    reserved: frozenset[str],
) -> CallSettings:
    """Settings that a caller gave, checked.

    Raises
    ------
    InputError
        Naming the one that cannot be.
    """
    if not isinstance(model, str) or not model.strip():
        raise InputError(f"model must be the name of a model, got {model!r}")
    if temperature is not None and not _is_number(temperature, 0.0):
        raise InputError(f"temperature must be a number from 0 on or None, got {temperature!r}")
    if type(max_output_tokens) is not int or max_output_tokens < 1:
        raise InputError(
            f"max_output_tokens must be a whole number from 1 on, got {max_output_tokens!r}"
        )
    if not _is_number(timeout_s, 0.0) or timeout_s == 0:
        raise InputError(f"timeout_s must be a number above 0, got {timeout_s!r}")
    for name in extra:
        if name in reserved or name.startswith("extra_"):
            raise InputError(f"{name} cannot be set: every call has its own")
    return CallSettings(model, temperature, max_output_tokens, bool(structured), timeout_s, extra)


def server_and_key(provider: str, base_url: str | None, api_key: str | None) -> tuple[str, str]:
    """The server to call and the key that it is sent, from the environment when none is given.

    Raises
    ------
    InputError
        Never with the key in it.
    """
    url = VENDOR_URLS[provider] if base_url is None else checked_server_url(base_url)
    key = key_for(url, os.environ) if api_key is None else api_key
    key = key.strip() if isinstance(key, str) else ""
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise InputError("the judge's key is empty, or holds a character that no key has")
    return url, key


def _is_number(value: object, least: float) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= least
