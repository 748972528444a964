"""Text of data in Markdown: it shows, and does nothing."""

from __future__ import annotations

import pytest

from rag_eval.reports.markdown_text import markdown_text

BREAK = "&#8203;"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b `c` *d* _e_ ~f~", r"a\|b \`c\` \*d\* \_e\_ \~f\~"),
        ("[l](http://x) <img src=x>", rf"\[l\](http:{BREAK}//x) \<img src=x\>"),
        ("$x$ \\ ! &lt;", r"\$x\$ \\ \! \&lt;"),
        ("ask @team and a.b@c.example", f"ask @{BREAK}team and a.b@{BREAK}c.example"),
        ("o/r#12, GH-7", f"o/r#{BREAK}12, GH{BREAK}-7"),
        ("HTTPS://a.example www.b.example", f"HTTPS:{BREAK}//a.example www{BREAK}.b.example"),
        ("a\nb\x1b[2J \u202ec", r"a b\\x1b\[2J \\u202ec"),
        ("q-0042: 0.5 (3/4)", "q-0042: 0.5 (3/4)"),
    ],
)
def test_marks_mentions_and_addresses_are_only_text(text: str, shown: str) -> None:
    assert markdown_text(text) == shown


def test_a_long_text_is_cut_before_its_marks_are_counted() -> None:
    assert markdown_text("|" * 50, 5) == r"\|\|\|\|…"
