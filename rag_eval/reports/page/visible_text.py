"""Text of samples as HTML without hidden or reordering characters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rag_eval.reports.plain_text import escaped

if TYPE_CHECKING:
    from markupsafe import Markup

# Controls except tab and line feed, directional marks and overrides, invisible characters, lone
# surrogates, which UTF-8 cannot encode, and noncharacters. Joiners stay, because they shape the
# letters around them.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff"
    "\U0001d173-\U0001d17a\U000e0000-\U000e007f]+"
)


def visible(text: str) -> Markup | str:
    """``text`` with invisible characters shown as escapes: ``\\x1b``, ``\\u202e``.

    A carriage return before a line feed is dropped.
    """
    text = _as_text(text)
    if _HIDDEN.search(text) is None:
        return text  # the template escapes it
    from markupsafe import Markup, escape

    parts: list[str] = []
    end = 0
    for found in _HIDDEN.finditer(text):
        parts += [escape(text[end : found.start()]), _control(found[0])]
        end = found.end()
    parts.append(escape(text[end:]))
    return Markup("").join(parts)


def visible_plain(text: str) -> str:
    """The same without markup, for attributes."""
    text = _as_text(text)
    return _HIDDEN.sub(lambda found: "".join(map(escaped, found[0])), text)


def _as_text(value: object) -> str:
    # A subclass of str may claim to be markup, and a file may hold a number.
    text = str.__str__(value) if isinstance(value, str) else str(value)
    return text.replace("\r\n", "\n")


def _control(hidden: str) -> Markup:
    from markupsafe import Markup

    names = " ".join(f"U+{ord(character):04X}" for character in hidden[:8])
    if len(hidden) > 8:
        names += " …"
    shown = "".join(map(escaped, hidden))
    return Markup('<span class="control" title="{}">{}</span>').format(names, shown)


def cut(text: str, limit: int) -> tuple[str, int]:
    """The first ``limit`` characters of a text, and the number of those that follow."""
    text = _as_text(text)
    return text[:limit], max(0, len(text) - limit)


def short(text: str, limit: int) -> str:
    """A text on one line, cut with an ellipsis."""
    # Text far beyond the limit is cut anyway, so its white space need not be read.
    text = _as_text(text)
    line = " ".join(text[: 4 * limit].split())
    return line if len(line) <= limit and len(text) <= 4 * limit else f"{line[: limit - 1]}…"
