"""The HTML report of data that tries to be more than text."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import rag_eval
from rag_eval.gating.limits import GateOutcome
from rag_eval.inputs.blocks import RowFault
from rag_eval.reports.page.page import page_html, script_json
from rag_eval.reports.page.visible_text import visible, visible_plain
from rag_eval.views.making import view_of_batch
from rag_eval.views.run_view import RunView
from tests.tables import every_row
from tests.unit.page_reading import Element, read_page, unfolded

MARKUP = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</textarea></title></style><img src=x onerror=alert(1)>",
    "<!-- <script>",
    "]]><svg onload=alert(1)>",
    "\" onmouseover=\"alert(1)\" style='color:red' x='",
    "{{ 7 * 7 }}{% raw %}&lt;b&gt;&amp;",
)
UNSEEN = "a\u202ez\u2066y\x1b[31mred\x00\x9bm\u2028\u2029\ufeff\u200b\ud800end"


def hostile_view(text: str) -> RunView:
    """A run in which every text that comes from data is ``text``."""
    row: dict[str, Any] = {
        "id": f"javascript:alert(1)//{text}",
        "question": text,
        "answer": f"{text} Lions roar. {text}",
        "contexts": [f"{text} Lions roar at night. {text}", text],
        "ground_truth": [f"{text} Lions roar.", text],
        "metadata": {text: text, "topic": text},
        text or "x": [text],
    }
    batch = rag_eval.evaluate_batch([row], profile="grounded")
    worse = rag_eval.evaluate_batch([{**row, "answer": "Bees hum."}], profile="grounded")
    view = view_of_batch(batch, source=text, slice_by=["topic"], baseline=worse)
    assert view.comparison is not None
    assert view.slices
    return replace(
        view,
        summary=replace(view.summary, notes=[text], evaluated_at=text),
        command=text,
        faults=(RowFault(1, text, text),),
        n_skipped=1,
        notes=(text,),
        gates=(GateOutcome(gate=text, held=False, found=None, wanted=1.0, message=text),),
        comparison=replace(view.comparison, old=text, new=f"{text}2", notes=(text,)),
    )


def tags(root: Element) -> list[str]:
    return [each.tag for each in root.walk()]


@every_row("text", MARKUP)
def test_markup_in_data_is_text(text: str) -> None:
    root = read_page(unfolded(hostile_view(text)))
    plain = read_page(unfolded(hostile_view("plain")))
    assert len(root.all("script")) == len(plain.all("script")) == 2
    assert set(tags(root)) == set(tags(plain))
    for each in root.walk():
        assert not [name for name in each.attributes if name.startswith("on")]
        assert "style" not in each.attributes
        assert each.attributes.get("href", "#").startswith("#")
    section = root.by_id("row-0")
    assert section.one(cls="question").text.strip() == " ".join(text.split())
    assert section.one("div", cls="texts").all("div", cls="text")[0].text == text
    assert text in root.by_id("verdict").text
    assert root.by_id("reproduce").one("code").text == text
    assert json.loads(root.by_id("rag-eval-result").text)["source"] == text


def test_ids_of_rows_are_in_no_link_and_no_anchor() -> None:
    root = read_page(page_html(hostile_view("x")))
    for each in root.walk():
        for name in ("href", "id", "aria-labelledby"):
            assert "javascript" not in each.attributes.get(name, "")
    assert root.by_id("row-0").attributes["data-id"] == "javascript:alert(1)//x"


def test_what_cannot_be_seen_is_shown_and_the_page_is_utf_8() -> None:
    html = page_html(hostile_view(UNSEEN))
    assert html.encode().decode() == html
    for hidden in "\u202e\u2066\x1b\x00\x9b\u2028\u2029\ufeff\u200b\ud800":
        assert hidden not in html
    question = read_page(html).by_id("row-0").one("div", cls="texts").all("div", cls="text")[0]
    assert question.text == (
        "a\\u202ez\\u2066y\\x1b[31mred\\x00\\x9bm\\u2028\\u2029\\ufeff\\u200b\\ud800end"
    )
    controls = question.all("span", cls="control")
    assert [each.attributes["title"] for each in controls][:3] == ["U+202E", "U+2066", "U+001B"]


def test_strings_that_call_themselves_markup_are_text_all_the_same() -> None:
    from markupsafe import Markup

    batch = rag_eval.evaluate_batch(
        [
            {
                "id": Markup("<u>"),
                "question": Markup("<u>"),
                "answer": Markup("<u>. It is."),
                "contexts": [Markup("<u>. It is.")],
                "metadata": {"topic": Markup("<u>")},
            }
        ],
        profile="grounded",
    )
    view = view_of_batch(batch, source=Markup("<u>"), slice_by=["topic"])
    root = read_page(page_html(view, title=Markup("<u>")))
    assert root.all("u") == []
    assert root.text.count("<u>") > 8


def test_letters_of_any_script_and_their_joiners_stay_as_they_are() -> None:
    for text in ("می‌خواهم", "👩‍👩‍👧", "Ünï\tcode\nlines", "नमस्ते", "e\u0301"):
        assert visible(text) == text
        assert visible_plain(text) == text


def test_a_carriage_return_is_shown_unless_a_line_feed_follows() -> None:
    assert visible_plain("a\r\nb\rc") == "a\nb\\x0dc"
    assert "U+000D" in visible("a\rb")


def test_data_in_a_script_element_cannot_end_it() -> None:
    value = {"</script>": "<!--<script>&\u2028\u2029\ud800]]>"}
    text = script_json(value)
    assert not set("<>&\u2028\u2029\ud800") & set(text)
    assert json.loads(text) == value
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_json(float("nan"))


def test_a_very_long_word_is_cut_everywhere() -> None:
    html = page_html(hostile_view("x" * 300_000))
    assert len(html) < 400_000
    root = read_page(html)
    assert (
        "280,000 more characters"
        in root.by_id("row-0").one("div", cls="texts").all("div", cls="text")[0].text
    )
    assert len(root.by_id("row-0").attributes["data-id"]) == 200
