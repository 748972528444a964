"""A page's own script, style and data in; its policy and what may stand in a script out."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markupsafe import Markup


def policy(script: str, style: str) -> str:
    """A Content-Security-Policy under which this script and this style work, and nothing else."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def script_json(value: Any) -> Markup:
    """``value`` as JSON that can stand in a script element: nothing in it ends the element.

    Raises
    ------
    ValueError
        For NaN and infinities.
    """
    from markupsafe import Markup

    # Beyond ASCII all is escaped, U+2028, U+2029 and lone surrogates among it.
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
