"""What a page looks like on a desk and on a phone: nothing is wider than its place, or torn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.browser.report_pages import Pages
from tests.browser.test_report_access import background_of, open_rows, overflow

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
pytest.importorskip("playwright", reason="make browser installs playwright")

Opener = Callable[..., "Page"]
SCREENSHOTS: Final = Path(__file__).parents[2] / "build" / "screenshots"
# Elements that stick out of their parents; what scrolls inside a region says so by a shadow.
_WIDER: Final = """() => {
  const found = [];
  for (const each of document.querySelectorAll("body *")) {
    const parent = each.parentElement;
    if (!each.checkVisibility() || each.closest("svg, .skip, .hidden, .what")) continue;
    if (getComputedStyle(each).position === "absolute") continue;
    if (parent.matches(".scroll") || getComputedStyle(parent).display === "contents") continue;
    const [inner, outer] = [each.getBoundingClientRect(), parent.getBoundingClientRect()];
    // A blank at the end of a line hangs over it.
    const blank = getComputedStyle(each).display === "inline" ? 6 : 1.5;
    if (inner.width > outer.width + blank || inner.right > outer.right + blank) {
      found.push(`${parent.outerHTML.slice(0, 80)} > ${each.outerHTML.slice(0, 120)}`);
    }
  }
  return found.slice(0, 5);
}"""
# Numbers on two lines (a hyphen behind a letter is no sign), and in cards, heads and rows any
# word. Words of passages may break, and paths and compounds behind a slash or a hyphen.
_TORN: Final = r"""() => {
  const found = [];
  const range = document.createRange();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const parent = node.parentElement;
    if (parent.closest("svg, script, noscript, .hidden, .control, .skip")) continue;
    if (!parent.checkVisibility()) continue;
    const whole = parent.closest("article, thead, .scores, .facts, .reason-head, h1, h2, h3");
    const words = /((?<![^\s\u200b])-)?[^\s\u200b\/-]+/g;
    const parts = whole ? words : /(?<![A-Za-z])[\d.,:%−+-]*\d[\d.,:%]*/g;
    for (const part of node.data.matchAll(parts)) {
      range.setStart(node, part.index);
      range.setEnd(node, part.index + part[0].length);
      const lines = new Set(Array.from(range.getClientRects(), (box) => Math.round(box.bottom)));
      if (lines.size > 1) found.push(`${part[0].slice(0, 60)} in ${parent.outerHTML.slice(0, 99)}`);
    }
  }
  return found.slice(0, 5);
}"""


def faults(page: Page) -> dict[str, Any]:
    return {
        "wider": page.evaluate(_WIDER),
        "torn": page.evaluate(_TORN),
        "overflow": overflow(page),
    }


_SET_OPEN: Final = "(all, isOpen) => { for (const each of all) each.open = isOpen; }"
NONE: Final = {"wider": [], "torn": [], "overflow": 0}


@pytest.mark.parametrize("n_rows", [3, 66, 2_000, 20_000])
def test_nothing_is_torn_or_wider_than_its_place(
    open_page: Opener, pages: Pages, n_rows: int
) -> None:
    page = open_page(pages.of_rows(n_rows))
    looked_at(page, f"{n_rows}-rows")


@pytest.mark.parametrize("name", ["compared", "comparison", "leaderboard", "gate", "history"])
def test_nor_on_pages_of_comparisons_and_of_a_history(
    open_page: Opener, pages: Pages, name: str
) -> None:
    looked_at(open_page(getattr(pages, name)), name)


def looked_at(page: Page, name: str) -> None:
    """On a desk and a phone, by day and by night, and on paper."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    has_rows = page.locator("#row-table").count() > 0
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert faults(page) == NONE
        if has_rows and width == 1280:
            open_rows(page, 1)
        assert faults(page) == NONE
        # Slices, the rows that moved, and more about a metric.
        page.eval_on_selector_all("main details:not(.sample-detail)", _SET_OPEN, True)
        assert faults(page) == NONE
        page.eval_on_selector_all("main details:not(.sample-detail)", _SET_OPEN, False)
        size = {"x": 0, "y": 0, "width": width, "height": 2_400}
        page.screenshot(path=SCREENSHOTS / f"{name}-{width}.png", full_page=True, clip=size)
    page.emulate_media(color_scheme="dark")
    assert background_of(page) == "rgb(20, 23, 27)"
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(media="print")
    assert background_of(page) == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()


def test_a_phone_shows_metrics_as_a_short_list_and_rows_as_cards(
    open_page: Opener, pages: Pages
) -> None:
    page = open_page(pages.grounded, width=390)
    box = page.locator("#metrics .cards").bounding_box()
    assert box is not None
    assert box["height"] < 8 * 90
    assert not page.locator("#row-table thead").is_visible()
    chip = page.locator('tbody.sample td[data-metric="faithfulness"]').first
    label = chip.evaluate("e => getComputedStyle(e, '::before').content")
    assert "faithfulness" in label
    assert chip.evaluate("e => getComputedStyle(e).display") != "table-cell"
    page.locator("#sort").select_option("faithfulness")
    assert page.url.endswith("#?sort=faithfulness")


def test_colours_and_lines_have_a_visible_legend(open_page: Opener, pages: Pages) -> None:
    page = open_page(pages.grounded)
    legend = page.locator("#rows .legend")
    assert legend.is_visible()
    for word in ("supported", "weak", "unsupported", "in no context", "not in the nearest passage"):
        assert word in legend.inner_text()
    assert page.locator(".sentence[title], .level[title]").count() == 0


def test_a_question_has_two_lines_and_an_id_one(open_page: Opener, pages: Pages) -> None:
    page = open_page(pages.of_rows(66))
    heights = page.eval_on_selector_all(
        ".question div",
        "all => all.map(e => e.clientHeight / parseFloat(getComputedStyle(e).lineHeight))",
    )
    assert max(heights) < 2.1
    ids = page.eval_on_selector_all(
        "tbody.sample th", "all => all.map(e => e.getClientRects().length)"
    )
    assert set(ids) == {1}
