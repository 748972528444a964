"""Structure of Markdown.  In: a text.  Out: what kinds of blocks it has, and which are broken."""

from __future__ import annotations

import functools
import re
from typing import Any, Final, NamedTuple

from rag_eval.errors import MissingExtraError

MOST_CHARACTERS: Final = 500_000
MOST_LINES: Final = 20_000
KINDS: Final = ("headings", "lists", "tables", "fences")

_MOST_PROBLEMS: Final = 10
_KIND_OF_TOKEN: Final = {
    "heading_open": "headings",
    "bullet_list_open": "lists",
    "ordered_list_open": "lists",
    "table_open": "tables",
    "fence": "fences",
}
_MARKS: Final = ("#", "|", "```", "~~~")
_MARKED_LINE: Final = re.compile(r"[\n\r][ \t>]*+(?:[-+*=]|[0-9]{1,9}[.)])")
_DELIMITER_ROW: Final = re.compile(r" {0,3}\|?(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*(?::?-+:?)?[ \t]*")
_HEADING_WITHOUT_SPACE: Final = re.compile(r"#{2,6}[^\s#]")
# A minus before a number is no bullet, and a pair of asterisks is emphasis.
_ITEM_WITHOUT_SPACE: Final = re.compile(r"(?:[-+][^\W\d_]|\*[^\s*][^*]*\Z|[0-9]{1,9}[.)][^\W\d_])")
_FEWEST_ITEMS: Final = 2


class MarkdownStructure(NamedTuple):
    """What blocks a text is made of.

    Attributes
    ----------
    kinds : tuple of str
        Those of headings, lists, tables and fences that are there.
    problems : tuple of str
        What is broken, the first ten: a heading more than one level below the one before it, a
        fence that does not end, the rows of a table that is none, and headings and items of a list
        without a space after their mark.
    """

    kinds: tuple[str, ...]
    problems: tuple[str, ...]


def markdown_structure(text: str) -> MarkdownStructure:
    """The structure of a Markdown text, by CommonMark and the tables of GitHub.

    Only blocks are read, in time linear in the text; twenty levels of quotes and lists at most.

    Raises
    ------
    ValueError
        The text has more than 500,000 characters or 20,000 lines, which would take long.
    MissingExtraError
        markdown-it-py is not installed, and the text is not plain.
    """
    if len(text) > MOST_CHARACTERS or text.count("\n") + text.count("\r") > MOST_LINES:
        raise ValueError(f"more than {MOST_CHARACTERS:,} characters or {MOST_LINES:,} lines")
    if not _may_be_structured(text):
        return MarkdownStructure((), ())
    return _structure(_parser().parse(text))


def _may_be_structured(text: str) -> bool:
    """False for no text that has a block of the four kinds, broken or not."""
    if any(mark in text for mark in _MARKS):
        return True
    return _MARKED_LINE.search(f"\n{text}") is not None


def _structure(tokens: list[Any]) -> MarkdownStructure:
    kinds: set[str] = set()
    problems: list[str] = []
    level = 0
    for token in tokens:
        kinds.add(_KIND_OF_TOKEN.get(token.type, ""))
        if token.type == "heading_open":
            found = int(token.tag[1:])
            if level and found > level + 1:
                problems.append(f"line {_line(token)}: a heading of level {found} after {level}")
            level = found
        elif token.type == "fence":
            if not _is_closed(token):
                problems.append(f"line {_line(token)}: a fence that does not end")
        elif token.type == "inline":
            problems += _broken_lines(token)
    return MarkdownStructure(
        tuple(kind for kind in KINDS if kind in kinds), tuple(problems[:_MOST_PROBLEMS])
    )


def _broken_lines(token: Any) -> list[str]:
    """What lines of a paragraph were probably meant to be."""
    first = _line(token)
    found: list[str] = []
    items: list[int] = []
    for number, line in enumerate(token.content.split("\n"), first):
        if _DELIMITER_ROW.fullmatch(line):
            found.append(f"line {number}: a row of a table that is none")
        elif _HEADING_WITHOUT_SPACE.match(line):
            found.append(f"line {number}: a heading without a space after its mark")
        elif _ITEM_WITHOUT_SPACE.match(line):
            items.append(number)
    if len(items) >= _FEWEST_ITEMS:
        found.append(f"line {items[0]}: items of a list without a space after their marks")
    return found


def _is_closed(fence: Any) -> bool:
    """Whether a fence has as many lines as its content, an opening and a closing one."""
    content = fence.content
    n_lines = content.count("\n") + bool(content and not content.endswith("\n"))
    begin, end = fence.map
    return bool(end - begin == n_lines + 2)


def _line(token: Any) -> int:
    return int(token.map[0]) + 1 if token.map else 0


@functools.cache
def _parser() -> Any:
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise MissingExtraError(
            "the structure of Markdown needs markdown-it-py: "
            "pip install 'rag-eval-native[markdown]'"
        ) from None
    parser = MarkdownIt("commonmark").enable("table")
    # Emphasis and links, which take most of the time, are not looked at.
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
