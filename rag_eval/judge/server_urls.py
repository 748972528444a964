"""Checks the URL of a judge's server and chooses its API key."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Container, Mapping, Sequence
from typing import Final
from urllib.parse import SplitResult, urlsplit

from rag_eval.errors import InputError
from rag_eval.judge.replies import JudgeIdentity

VENDOR_URLS: Final[Mapping[str, str]] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
}
# Sent to servers on this machine that require some key; not a secret.
NO_KEY: Final = "none"

_VENDOR_KEYS: Final = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
_OTHER_KEY: Final = "RAG_EVAL_JUDGE_API_KEY"
# URL parsers disagree about everything else: backslashes, tabs, letters of other scripts.
_PLACE: Final = re.compile(r"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):[0-9]{1,5}")
_PLAIN_URL: Final = re.compile(r"[A-Za-z0-9._~:/\[\]%+,=-]+")


def checked_server_url(text: str, allow_http: Container[str] | None = ()) -> str:
    """A server's URL without a trailing slash.

    Parameters
    ----------
    allow_http : container of str or None
        ``HOST:PORT`` of servers on other machines that may be called by plain http; None for all.

    Raises
    ------
    InputError
        If it could leak a key: plain http to another machine, or credentials or a query in it.
    """
    url = text.strip()
    if "@" in url.partition("#")[0]:
        # Not repeated in the message, because it may contain a password.
        raise InputError("the URL of a judge's server must not contain a user name or password")
    if "?" in url:
        raise InputError(f"the URL of a judge's server must not contain a query, got {url!r}")
    if "#" in url:
        raise InputError(f"a base URL must not name a model, got {url!r}")
    parts = _parts(url)
    if parts.scheme == "http" and not _is_loopback_host(parts.hostname or ""):
        host = parts.hostname or ""
        place = f"[{host}]:{parts.port or 80}" if ":" in host else f"{host}:{parts.port or 80}"
        if allow_http is not None and place not in allow_http:
            raise InputError(
                f"a judge's server on another machine must use https, got {url!r}. To send texts "
                f"and key to it unencrypted all the same, add --judge-allow-http {place} "
                f"(in Python: judge_allow_http=[{place!r}])"
            )
    return parts.geturl().rstrip("/")


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound or not _PLAIN_URL.fullmatch(url):
        raise InputError(
            f"a judge's server must be a URL like http://127.0.0.1:11434/v1, got {url!r}"
        )
    return parts


def is_loopback(url: str) -> bool:
    """Whether a server is on this machine."""
    return _is_loopback_host(urlsplit(url).hostname or "")


def _is_loopback_host(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def vendor_at(url: str) -> str | None:
    """The vendor that owns the server, or None."""
    parts = urlsplit(url)
    if parts.scheme != "https" or parts.port not in (None, 443):
        return None
    hosts = {urlsplit(own).hostname: vendor for vendor, own in VENDOR_URLS.items()}
    return hosts.get(parts.hostname)


def key_for(url: str, environment: Mapping[str, str]) -> str:
    """The API key for a server; a vendor's key is sent only to that vendor.

    Raises
    ------
    InputError
        If the environment variable is not set.
    """
    variable = _VENDOR_KEYS.get(vendor_at(url) or "", _OTHER_KEY)
    key = environment.get(variable, "").strip()
    if key:
        return key
    # Servers that may be called by plain http are local as well.
    if is_loopback(url) or url.startswith("http:"):
        return NO_KEY
    raise InputError(f"the judge at {url} needs a key; set {variable}")


def checked_http_places(given: object, name: str) -> tuple[str, ...]:
    """Servers that may be called by plain http, as ``HOST:PORT``."""
    places = tuple(given) if isinstance(given, (list, tuple)) else ("",)
    for place in places:
        if not isinstance(place, str) or not _PLACE.fullmatch(place):
            raise InputError(f"{name} must be HOST:PORT, such as ollama:11434, got {place!r:.80}")
    return tuple(place.lower() for place in places)


def unencrypted_notes(judges: Sequence[JudgeIdentity]) -> tuple[str, ...]:
    """A note for each server on another machine that is called by plain http."""
    urls = dict.fromkeys(judge.base_url for judge in judges if judge.base_url)
    return tuple(
        f"texts and key go unencrypted to {urlsplit(url).netloc}: anyone in its network can read "
        "and change them"
        for url in urls
        if url.startswith("http:") and not is_loopback(url)
    )


def vendor_of(identity: JudgeIdentity) -> str | None:
    """``openai`` or ``anthropic`` if its own server answers, otherwise None."""
    if identity.provider not in VENDOR_URLS:
        return None
    return identity.provider if identity.base_url is None else vendor_at(identity.base_url)


def independence_warnings(judges: Sequence[JudgeIdentity]) -> tuple[str, ...]:
    """A note if all of several judges are from one known vendor; otherwise empty."""
    vendors = {vendor_of(judge) for judge in judges}
    if len(judges) < 2 or len(vendors) > 1 or None in vendors:
        return ()
    return (
        f"all {len(judges)} judges are from one vendor ({vendors.pop()}): "
        "they may agree because they share biases",
    )
