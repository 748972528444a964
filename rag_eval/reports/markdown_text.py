"""A text of data in; Markdown that shows it on one line and does nothing else, out."""

from __future__ import annotations

import re
from typing import Final

from rag_eval.reports.plain_text import plain_text

# A space of no width. Sites look for mentions, issues and addresses in what Markdown made of a
# text, when backslashes are gone.
_BREAK: Final = "&#8203;"
_MARKS: Final = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|!~&$"}) | str.maketrans(
    {"@": f"@{_BREAK}", "#": f"#{_BREAK}"}
)
_ADDRESS: Final = re.compile(r"(?i)(\w:)(?=//)|\b(www)(?=\.)|\b(gh)(?=-\d)")


def markdown_text(text: str, limit: int | None = None) -> str:
    """``text`` on one line, so that no mark, mention or address in it has a meaning.

    What is over ``limit`` characters is cut off, as :func:`~.plain_text.plain_text` does.
    """
    shown = plain_text(text, limit).translate(_MARKS)
    return _ADDRESS.sub(rf"\g<0>{_BREAK}", shown)
