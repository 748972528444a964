"""Text of data in Markdown: it shows, and does nothing."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

from markdown_it import MarkdownIt

from rag_eval.reports.markdown_text import markdown_text, summary_text
from rag_eval.reports.plain_text import plain_text
from tests.run_views import HOSTILE_IDS, HOSTILE_TEXTS
from tests.tables import every_row

BREAK = "&#8203;"
# What GitHub and GitLab look for in a text when Markdown has been read.
REFERENCES = re.compile(
    r"""
      @\w | \#\d | (?i:gh|cve|ghsa)-\w | \b[0-9a-f]{7,40}\b
    | :// | (?i:www)\. | :[\w+-]+:
    | [!$]\d | ~[\w"] | %[\d"] | &\d | \[(?:vulnerability|feature_flag|\[)
    | \*iteration: | \^alert
    """,
    re.VERBOSE,
)


class Elements(HTMLParser):
    """Names of elements, and text outside of code."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.text = ""
        self._in_code = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self._in_code += tag == "code"

    def handle_endtag(self, tag: str) -> None:
        self._in_code -= tag == "code"

    def handle_data(self, data: str) -> None:
        self.text += "" if self._in_code else data

    def handle_comment(self, data: str) -> None:
        self.names.append("a comment")

    def handle_decl(self, decl: str) -> None:
        self.names.append("a declaration")


def rendered(markdown: str) -> Elements:
    return Elements(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown))


@every_row(
    ("text", "shown"),
    [
        ("a|b `c` *d* _e_ ~ f", r"a\|b \`c\` \*d\* \_e\_ \~ f"),
        ("~bug", rf"\~{BREAK}bug"),
        ("[l](http://x) <img src=x>", rf"\[{BREAK}l\](http:{BREAK}//x) \<img src=x\>"),
        ("[1] x$ \\ ! 5 %", r"\[1\] x\$ \\ \! 5 %"),
        ("!1 $1 %1 &1 &lt;", rf"\!{BREAK}1 \${BREAK}1 %{BREAK}1 \&{BREAK}1 \&{BREAK}lt;"),
        ("ask @team and a.b@c.example", f"ask @{BREAK}team and a.b@{BREAK}c.example"),
        ("o/r#12, GH-7 cve-1", f"o/r#{BREAK}12, GH{BREAK}-7 cve{BREAK}-1"),
        ("HTTPS://a.example _www.b", rf"HTTPS:{BREAK}//a.example \_www{BREAK}.b"),
        (":x: 12:30", f":{BREAK}x: 12:30"),
        ("abcdef1 abcdef 1234567", f"abcdef{BREAK}1 abcdef 123456{BREAK}7"),
        ("- a", r"\- a"),
        ("12) a", r"12\) a"),
        ("1.5", r"1\.5"),
        ("a\nb\x1b[2J \u202ec", r"a b\\x1b\[2J \\u202ec"),
        ("q-0042: 0.5 (3/4)", "q-0042: 0.5 (3/4)"),
    ],
)
def test_marks_references_and_addresses_are_only_text(text: str, shown: str) -> None:
    assert markdown_text(text) == shown


@every_row("text", HOSTILE_TEXTS, ids=HOSTILE_IDS)
@every_row("before", ["", "- ", "a "])
def test_hostile_texts_make_a_paragraph_of_text_and_nothing_else(text: str, before: str) -> None:
    found = rendered(f"{before}{markdown_text(text)}")
    assert found.names in (["p"], ["ul", "li"], []), found.names
    shown = found.text.replace("\u200b", "").strip()
    assert shown == f"{before.removeprefix('- ')}{plain_text(text)}".strip()
    assert not REFERENCES.search(found.text)


@every_row("text", HOSTILE_TEXTS, ids=HOSTILE_IDS)
def test_the_same_in_a_cell_of_a_table(text: str) -> None:
    found = rendered(f"| a | b |\n|---|---|\n| {markdown_text(text)} | {markdown_text(text)} |\n")
    assert found.names == ["table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td"]


@every_row("text", HOSTILE_TEXTS, ids=HOSTILE_IDS)
def test_the_same_between_tags(text: str) -> None:
    found = rendered(f"<details>\n<summary>{summary_text(text)}</summary>\n\nx\n\n</details>\n")
    assert found.names == ["details", "summary", "p"]
    assert plain_text(text) in found.text.replace("\u200b", "")
    assert not REFERENCES.search(found.text)
    assert "\\" not in summary_text("*a* [b] `c`")


def test_references_are_found_where_they_are() -> None:
    """The checks above could not fail otherwise."""
    for text in ("@a", "o/r#1", "gh-1", "deadbeef", "http://x", "www.x", ":x:", "!1", "~a", "%1"):
        assert REFERENCES.search(rendered(text).text), text
    assert html.unescape(BREAK) == "\u200b"


def test_a_long_text_is_cut_before_its_marks_are_counted() -> None:
    assert markdown_text("|" * 50, 5) == r"\|\|\|\|…"
    assert summary_text("<" * 50, 3) == "&lt;&lt;…"
