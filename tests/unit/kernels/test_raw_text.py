"""The checkers of outputs see what they are there for; else tests by them prove nothing."""

from __future__ import annotations

import json
import re

import pytest

from tests import raw_text
from tests.tables import every_row


@every_row(
    "text",
    [
        "a\x1b[2J",
        "a\x9b2J",
        "a\u202eb",
        "a\u200bb",
        "\ud800",
        "a\rb",
        "a\tb",
        "a\u2028b",
        "::error::x",
        "  ::set-output name=a::b",
        "a ##[error]b",
        "x\n::debug::a",
        "\U000e0041",
    ],
)
def test_raw_text_on_a_terminal_is_seen(text: str) -> None:
    assert raw_text.raw_on_terminal(text)


def test_plain_and_coloured_text_on_a_terminal_is_let_through() -> None:
    assert not raw_text.raw_on_terminal("faithfulness  0.83 (2/2)\nC::D \\x1b[2J: : a\u200db\n")
    assert not raw_text.raw_on_terminal("\x1b[1;31mFAIL\x1b[0m  x\r\n", styled=True)
    assert raw_text.raw_on_terminal("\x1b[1;31mFAIL\x1b[0m  x\n")
    assert raw_text.raw_on_terminal("\x1b[2K\x1b[1;31mFAIL\x1b[0m", styled=True)


@every_row(
    "text",
    [
        "<p onclick=a>b</p>",
        "<a href='javascript:a'>b</a>",
        "<a href='//evil'>b</a>",
        "<img src=a>",
        "<p style='a'>b</p>",
        "<p>a\x1b</p>",
        "<script>a</script>",
        "<p>a",
        "</b>",
        "<!-- a -->",
        "<p>\u202ea</p>",
        '<p title="a\x00"></p>',
        "<p>\ud800</p>",
        "<![CDATA[a]]>",
        "<?a?>",
    ],
)
def test_markup_in_a_page_is_seen(text: str) -> None:
    assert raw_text.raw_in_html(text)


def test_a_page_of_ours_is_let_through() -> None:
    page = '<p class="a" dir="auto"><a href="#row-1">&lt;b&gt; onclick=a</a><br>&#8238;</p>'
    assert raw_text.raw_in_html(page) == []
    assert raw_text.raw_in_html("<script>'<b>'</script>", scripts=1) == []
    assert raw_text.raw_in_html('<p style="color:red">a</p>', styled=True) == []
    assert raw_text.Markup("<p>a &lt;b&gt;</p>").text == "a <b>"


OWN = re.compile("</?(details|summary)>")


@every_row(
    "text",
    [
        "![a](b)",
        "[a](b)",
        "<http://a.b>",
        "a <b>b</b>",
        "<div>",
        "@a",
        "see #1",
        "GH-1",
        "www.a.b",
        "http://a",
        "a@b.cd",
        "da39a3e",
        "!1",
        ":skull:",
        "[a]\n\n[a]: b",
        "a\u202eb",
    ],
)
def test_more_than_text_in_markdown_is_seen(text: str) -> None:
    assert raw_text.raw_in_markdown(text, OWN)


def test_markdown_of_ours_is_let_through() -> None:
    text = "# a\n\n<details>\n<summary>\n\n`@a <b> http://a`\n\n| a | b |\n|--|--|\n| 1 | 2 |\n"
    assert raw_text.raw_in_markdown(text, OWN) == []


@pytest.mark.parametrize("cell", ["=1+1", "+1+1", "-a", "@a", '"\t=1"', '"\r=1"'])
def test_a_formula_in_a_cell_is_seen(cell: str) -> None:
    assert raw_text.raw_in_csv(f"id,score\n{cell},0.5\n")
    assert raw_text.raw_in_csv("id,score\n'=1+1,-0.5\na=1,1e-9\n") == []


@pytest.mark.parametrize(
    "line",
    [
        "::error::a\n::error::b",
        "::error title=a:b::c",
        "::error file=a,b::c",
        "::set-env::a",
        "a",
        "::error::a\x1b[2J",
        "::error::##[set-env]",
    ],
)
def test_a_bad_command_of_a_build_is_seen(line: str) -> None:
    assert raw_text.raw_in_annotations([line])
    assert raw_text.raw_in_annotations(["::error file=a.py,line=1,title=a%3Ab::c: d, e"]) == []


def test_json_and_xml_that_others_cannot_read_are_refused() -> None:
    assert raw_text.raw_in_json(b'{"a": "\\u0000\\ud800"}\n') == []
    for data in (b'{"a": NaN}', b'{"a": "\x00"}', b'{"a": "\xff"}'):
        with pytest.raises((json.JSONDecodeError, UnicodeDecodeError, raw_text.NotJSONError)):
            raw_text.raw_in_json(data)
    assert raw_text.raw_in_xml(b"<a>\xe2\x80\xae</a>")
    assert raw_text.raw_in_xml(b'<a b="&#10;c">d\n</a>') == []
