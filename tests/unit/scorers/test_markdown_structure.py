"""Kinds of blocks in Markdown, and what is broken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.scorers.regtrace.format_checks import (
    _may_be_structured,
    _parser,
    _structure,
    markdown_structure,
)
from tests.tables import every_row


@every_row(
    ("text", "kinds"),
    [
        ("", ()),
        ("Plain text.\n\nMore of it, with *emphasis* and `code`.", ()),
        ("# A\n\ntext", ("headings",)),
        ("A\n===\ntext", ("headings",)),
        ("A\n---", ("headings",)),
        ("text\r# A", ("headings",)),
        ("- a\n- b", ("lists",)),
        ("text\n\n3) a", ("lists",)),
        ("> * quoted", ("lists",)),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ("tables",)),
        ("a|b\n-|-\n1|2", ("tables",)),
        ("```python\nx = 1\n```", ("fences",)),
        ("~~~\nx\n~~~", ("fences",)),
        ("# A\n- b\n\n```\nx\n```\n\n|a|\n|-|\n", ("headings", "lists", "tables", "fences")),
        ("#tag and -dash and a|b", ()),
        ("*a* starts with emphasis", ()),
        ("2.5 percent", ()),
        ("-5 degrees\n-6 degrees", ()),
        ("    # code that is indented", ()),
    ],
)
def test_kinds_of_blocks(text: str, kinds: tuple[str, ...]) -> None:
    assert markdown_structure(text) == (kinds, ())


@every_row(
    ("text", "problem"),
    [
        ("# A\n\ntext\n\n### B", "line 5: a heading of level 3 after 1"),
        ("## A\n# B\n### C", "line 3: a heading of level 3 after 1"),
        ("text\n\n```\nx", "line 3: a code fence that is not closed"),
        ("```", "line 1: a code fence that is not closed"),
        ("```\n\n", "line 1: a code fence that is not closed"),
        ("````\nx\n```", "line 1: a code fence that is not closed"),
        ("> ```\n> x\n\ntext", "line 1: a code fence that is not closed"),
        ("| a | b | c |\n|---|---|\n| 1 | 2 |", "line 2: a table row outside a table"),
        ("|---|---|\n| 1 | 2 |", "line 1: a table row outside a table"),
        ("##Title", "line 1: a heading without a space after its marker"),
        ("text:\n-one\n-two", "line 2: list items without a space after their markers"),
        ("1.one\n2.two", "line 1: list items without a space after their markers"),
    ],
)
def test_what_is_broken(text: str, problem: str) -> None:
    assert markdown_structure(text).problems == (problem,)


@every_row(
    "text",
    [
        "### A\n\n# B\n\n## C\n\n### D\n\n# E",
        "```\n```",
        "```\n\n```\n",
        "~~~\n```\n~~~",
        "- ```\n  x\n  ```",
        "-one line that starts with a dash",
        "*one* and\n*two*",
    ],
)
def test_what_is_not_broken(text: str) -> None:
    assert markdown_structure(text).problems == ()


def test_ten_problems_are_told() -> None:
    assert len(markdown_structure("# A\n### B\n" * 30).problems) == 10


@given(st.text("#|`~-+*=1.): \t>\n\ra\u00a0", max_size=30))
def test_what_is_not_parsed_has_no_structure(text: str) -> None:
    if not _may_be_structured(text):
        assert _structure(_parser().parse(text)) == ((), ())


@every_row("text", ["a" * 500_001, "# a\n" * 20_001, "\r" * 20_001])
def test_what_is_too_large_is_not_parsed(text: str) -> None:
    with pytest.raises(ValueError, match="500,000 characters or 20,000 lines"):
        markdown_structure(text)
