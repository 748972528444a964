"""Keys of cached replies.  In: all that makes a reply what it is.  Out: a digest of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from rag_eval.judge.replies import JudgeIdentity
from rag_eval.judge.steps import Fields

_DIGEST_BYTES: Final = 32  # a text under test must not be able to forge another's key
_PURPOSE: Final = b"rag_eval.reply.1"


def cache_key(template_digest: str, fields: Fields, identity: JudgeIdentity, repeat: int) -> bytes:
    """What a reply is kept under.

    Parameters
    ----------
    template_digest : str
        Of the wording, see ``PromptStyle.digest``.
    fields : mapping
        The texts before they are fenced: the marks of a fence are new in every prompt.
    identity : JudgeIdentity
    repeat : int
        Which of several askings of the same.

    Returns
    -------
    bytes
        32 of them; BLAKE2b over an encoding that no two different inputs share.
    """
    parts: list[bytes] = []
    _encode(template_digest, parts)
    _encode(fields, parts)
    judge = (identity.provider, identity.model, identity.base_url, dict(identity.parameters))
    _encode(judge, parts)
    _encode(repeat, parts)
    whole = b"".join(parts)
    return hashlib.blake2b(whole, digest_size=_DIGEST_BYTES, person=_PURPOSE).digest()


def _encode(value: Any, parts: list[bytes]) -> None:
    """Append a value as its kind, its length and its bytes, so that nothing runs together."""
    if isinstance(value, str):
        _append(b"s", value.encode("utf-8", "surrogatepass"), parts)
    elif value is None or isinstance(value, bool):
        _append(b"c", repr(value).encode(), parts)
    elif isinstance(value, int):
        _append(b"i", repr(value).encode(), parts)
    elif isinstance(value, float):
        _append(b"f", repr(value).encode(), parts)
    elif isinstance(value, Mapping):
        parts.append(b"d%d:" % len(value))
        for name in sorted(value):
            _encode(name, parts)
            _encode(value[name], parts)
    elif isinstance(value, (list, tuple)):
        parts.append(b"l%d:" % len(value))
        for item in value:
            _encode(item, parts)
    else:
        raise TypeError(f"a {type(value).__name__} cannot be part of a cache key")


def _append(kind: bytes, encoded: bytes, parts: list[bytes]) -> None:
    parts.append(b"%b%d:" % (kind, len(encoded)))
    parts.append(encoded)
