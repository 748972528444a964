"""A report of samples that want to be more than text: nothing runs, all can be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import pytest

from tests.browser.report_pages import Pages
from tests.browser.test_report_access import open_all
from tests.hostile_samples import MARKUP, hostile_samples

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
pytest.importorskip("playwright", reason="make browser installs playwright")

# Those of the script that are due come before one that is set later.
_TIMERS: Final = "() => new Promise(done => setTimeout(done))"
Opener = Callable[..., "Page"]


def test_every_row_opens_and_nothing_of_it_runs(open_page: Opener, pages: Pages) -> None:
    page = open_page(pages.hostile)
    n_rows, shown = 0, ""
    while True:
        open_all(page)
        n_rows += page.locator("tbody.sample").count()
        shown += page.locator("#report").evaluate("e => e.textContent")
        # Nothing of it is loaded anew from here on; each sorting would lay out a megabyte of text.
        page.eval_on_selector_all(
            "details", "all => { for (const each of all) each.open = false; }"
        )
        if page.locator("#page-next").is_disabled():
            break
        page.locator("#page-next").click()
    assert n_rows == len(hostile_samples())
    for name in ("id", "question", "status", "composite"):
        page.locator(f'th[data-sort="{name}"] button').click()
    for text in ("<script>", "__proto__", "\u202e", "javascript:"):
        page.locator("#filter-text").fill(text)
        page.evaluate(_TIMERS)
    page.locator("#filter-text").fill("")
    assert [text for text in MARKUP.values() if "\u2028" not in text and text not in shown] == []
    assert page.locator("img, iframe, form, base, object, embed, textarea").count() == 0
    assert page.locator("script:not([type='text/plain'])").count() == 2
    assert page.evaluate("Object.prototype.kind") is None


def test_no_address_leads_out_of_the_page(open_page: Opener, pages: Pages) -> None:
    page = open_page(pages.hostile)
    open_all(page)
    links = page.eval_on_selector_all("[href]", "all => all.map(e => e.getAttribute('href'))")
    assert len(links) > 50
    assert [link for link in links if not link.startswith("#")] == []
    anchors = set(page.eval_on_selector_all("[id]", "all => all.map(e => e.id)"))
    assert {link[1:] for link in links if not link.startswith("#?")} <= anchors


def test_a_word_of_a_megabyte_stays_on_the_screen(open_page: Opener, pages: Pages) -> None:
    page = open_page(pages.hostile, width=390)
    row = page.locator('tbody.sample[data-id="long word"]')
    page.locator("#filter-text").fill("long word")
    row.locator("details.sample-detail > summary").click()
    row.locator(".opened").wait_for()
    assert page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    assert "more characters" in row.inner_text()


def test_the_policy_of_the_page_stops_what_got_into_it(
    open_page: Opener, pages: Pages, tmp_path: Path
) -> None:
    """Should escaping ever fail: the same page with a script, a handler and a picture in it."""
    page_text = pages.hostile.read_text("utf-8")
    planted = "<script>window.__planted=1</script><img src=x onerror='window.__planted=1'>"
    broken = tmp_path / "planted.html"
    broken.write_text(page_text.replace("<footer>", f"{planted}<footer>"), "utf-8")
    page = open_page(broken, checked=False)
    assert page.evaluate("window.__planted") is None
    stopped = " ".join(page.evaluate("window.__violations"))
    assert "script-src-elem inline" in stopped
    assert "img-src" in stopped


def test_no_control_or_turn_of_direction_is_shown_as_such(open_page: Opener, pages: Pages) -> None:
    page = open_page(pages.hostile)
    open_all(page)
    text = page.locator("body").evaluate("e => e.textContent")
    assert not set(text) & {"\x1b", "\x9b", "\u202e", "\u2066", "\x00", "\x07", "\ud800"}
    first = page.locator(".control").first
    assert first.text_content()
