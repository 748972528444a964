"""Text of data as inert Markdown on one line, and Markdown tables.

GitHub and GitLab look for mentions, issues, commits, labels, emoji and addresses after Markdown is
rendered, when backslashes are gone. So marks are escaped for Markdown, and the beginning of a
reference is broken by a zero-width space.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Final

from rag_eval.reports.plain_text import plain_text

_BREAK: Final = "&#8203;"
_REFERENCE: Final = re.compile(
    r"""
      (?P<commit>[0-9A-Fa-f]{7,})             # the first characters of a commit's hash name it
    | (?P<begin>
          [@\#]                               # people, teams, issues, also after owner/repository
        | [~$](?=\S)                          # labels, snippets
        | [!%&](?=[\w"])                      # merge requests, milestones, epics
        | \[(?=[A-Za-z\[])                    # vulnerabilities and others
        | \^(?=[Aa]) | \*(?=[Ii])             # alerts, iterations
        | :(?=//)                             # addresses
        | [Ww]{3}(?=\.)
        | (?i:gh|ghsa|cve)(?=-)               # issues and advisories
        | :(?=[\w+-]+:)                       # emoji
      )
    | (?P<mark>[\\`*_\[\]<>|!~&$"'])
    """,
    re.VERBOSE,
)
# Makes a line that begins with it a heading, a list or a rule.
_LINE_MARK: Final = re.compile(r"^([-+=]|\d{1,9}(?=[.)]))([.)]?)")
_MARKDOWN_MARKS: Final = frozenset("\\`*_[]<>|!~&$^")
_COMMIT_PIECE: Final = re.compile(r".{6}(?=.)")


def markdown_text(text: str, limit: int | None = None) -> str:
    """``text`` on one line, so that no mark, reference or address in it has a meaning.

    It is cut at ``limit`` characters, as by :func:`~.plain_text.plain_text`.
    """
    return _LINE_MARK.sub(_escaped_line_mark, _broken(text, limit, _escaped_mark))


def summary_text(text: str, limit: int | None = None) -> str:
    """The same for text between HTML tags in Markdown, where backslashes would show."""
    return _broken(text, limit, html.escape)


def _broken(text: str, limit: int | None, escape: Callable[[str], str]) -> str:
    def replaced(found: re.Match[str]) -> str:
        if found.lastgroup == "commit":
            return _COMMIT_PIECE.sub(rf"\g<0>{_BREAK}", found[0])
        shown = escape(found[0])
        return shown + _BREAK if found.lastgroup == "begin" else shown

    return _REFERENCE.sub(replaced, plain_text(text, limit))


def _escaped_mark(text: str) -> str:
    return f"\\{text}" if text in _MARKDOWN_MARKS else text


def _escaped_line_mark(found: re.Match[str]) -> str:
    number, dot = found.groups()
    return f"{number}\\{dot}" if dot else f"\\{number}"


def markdown_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], texts: Set[int] = frozenset({0})
) -> list[str]:
    """The lines of a table; columns in ``texts`` are left-aligned, others hold numbers.

    Its cells are Markdown.
    """
    marks = ("---" if place in texts else "---:" for place in range(len(heads)))
    return [_row(heads), f"|{'|'.join(marks)}|", *map(_row, rows)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
