"""Where a judge's server is.  In: a URL as it was written.  Out: the same, safe to send to."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import SplitResult, urlsplit

from rag_eval.errors import InputError
from rag_eval.judge.replies import JudgeIdentity

VENDOR_URLS: Final[Mapping[str, str]] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
}
# Sent where a server on this machine asks for some key; no secret.
NO_KEY: Final = "none"

_VENDOR_KEYS: Final = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
_OTHER_KEY: Final = "RAG_EVAL_JUDGE_API_KEY"
# Parsers of URLs disagree about everything else: a backslash, a tab, a letter of another script.
_PLAIN_URL: Final = re.compile(r"[A-Za-z0-9._~:/\[\]%+,=-]+")


def checked_server_url(text: str) -> str:
    """A server's URL, without a slash at its end.

    Raises
    ------
    InputError
        When it could give a key away: plain http to another machine, credentials or a query in it.
    """
    url = text.strip()
    if "@" in url.partition("#")[0]:
        # The message does not repeat it: a password may be in it.
        raise InputError("the URL of a judge's server must not hold a user name or a password")
    if "?" in url:
        raise InputError(f"the URL of a judge's server must not hold a query, got {url!r}")
    if "#" in url:
        raise InputError(f"a base URL must not name a model, got {url!r}")
    parts = _parts(url)
    if parts.scheme == "http" and not _is_loopback_host(parts.hostname or ""):
        raise InputError(
            f"a judge's server on another machine must be reached by https, got {url!r}"
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
    """The vendor whose own server that is, or None."""
    parts = urlsplit(url)
    if parts.scheme != "https" or parts.port not in (None, 443):
        return None
    hosts = {urlsplit(own).hostname: vendor for vendor, own in VENDOR_URLS.items()}
    return hosts.get(parts.hostname)


def key_for(url: str, environment: Mapping[str, str]) -> str:
    """The key that may be sent to a server: a vendor's to the vendor alone.

    Raises
    ------
    InputError
        Naming the variable that is not set.
    """
    variable = _VENDOR_KEYS.get(vendor_at(url) or "", _OTHER_KEY)
    key = environment.get(variable, "").strip()
    if key:
        return key
    if is_loopback(url):
        return NO_KEY
    raise InputError(f"the judge at {url} needs a key; set {variable}")


def vendor_of(identity: JudgeIdentity) -> str | None:
    """``openai`` or ``anthropic`` when its own server answers, else None."""
    if identity.provider not in VENDOR_URLS:
        return None
    return identity.provider if identity.base_url is None else vendor_at(identity.base_url)


def independence_warnings(judges: Sequence[JudgeIdentity]) -> tuple[str, ...]:
    """What to know of several judges that are all of one known vendor; empty for others."""
    vendors = {vendor_of(judge) for judge in judges}
    if len(judges) < 2 or len(vendors) > 1 or None in vendors:
        return ()
    return (
        f"all {len(judges)} judges are of one vendor ({vendors.pop()}): "
        "they may share their habits, and agree because of them",
    )
