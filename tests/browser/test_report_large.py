"""A report of very many rows: its size, what is in the document, and the work of a filter."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.browser.report_pages import Pages

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
pytest.importorskip("playwright", reason="make browser installs playwright")

Opener = Callable[..., "Page"]
# Nodes of every kind, and how many of them changed by one act.
_NODES: Final = """() => {
  const walker = document.createTreeWalker(document, NodeFilter.SHOW_ALL);
  let count = 1;
  while (walker.nextNode()) count++;
  return count;
}"""
_COUNT_CHANGES: Final = """() => {
  window.__changed = 0;
  new MutationObserver((records) => {
    for (const record of records) {
      for (const list of [record.addedNodes, record.removedNodes]) {
        for (const node of list) {
          window.__changed += node.nodeType === 1 ? node.querySelectorAll("*").length + 1 : 1;
        }
      }
    }
  }).observe(document.getElementById("row-table"), { childList: true, subtree: true });
}"""


def changed_by(page: Page, act: Callable[[], Any]) -> int:
    page.evaluate("() => { window.__changed = 0; }")
    act()
    found: int = page.evaluate(
        "() => new Promise(done => setTimeout(() => done(window.__changed)))"
    )
    return found


@pytest.mark.parametrize(("n_rows", "most_bytes"), [(2_000, 6_000_000), (20_000, 25_000_000)])
def test_a_large_page_is_small_and_each_act_touches_one_page_of_the_table(
    open_page: Opener, pages: Pages, n_rows: int, most_bytes: int
) -> None:
    report = pages.of_rows(n_rows)
    assert report.stat().st_size <= most_bytes
    page = open_page(report)
    assert page.evaluate(_NODES) <= 60_000
    assert page.locator("tbody.sample").count() == 100
    assert page.locator("#row-count").inner_text() == f"1 to 100 of {n_rows:,} rows"
    page.evaluate(_COUNT_CHANGES)
    most = 2 * 100 * 40
    for name in ("faithfulness", "question", "composite"):
        head = page.locator(f'th[data-sort="{name}"] button')
        assert 0 < changed_by(page, head.click) <= most
    assert changed_by(page, lambda: page.locator("#filter-status").select_option("failed")) > 0
    assert changed_by(page, page.locator("#page-next").click) <= most
    page.locator("#filter-status").select_option("all")
    page.locator("#filter-text").fill("row-001500")
    page.wait_for_function("() => document.querySelectorAll('tbody.sample').length === 1")
    assert page.evaluate(_NODES) <= 60_000


def test_every_row_of_twenty_thousand_opens(open_page: Opener, pages: Pages) -> None:
    page = open_page(pages.of_rows(20_000))
    page.locator('th[data-sort="number"] button').click()
    page.locator('th[data-sort="number"] button').click()
    while True:
        assert page.locator("tbody.sample details.sample-detail").count() == 100
        if page.url.endswith("page=3"):
            break
        page.locator("#page-next").click()
    for number in (19_999, 10_003, 157, 0):
        page.evaluate("number => { location.hash = `#row-${number}`; }", number)
        row = page.locator(f"#row-{number}")
        row.locator(".opened").wait_for()
        answer = row.locator(".preview").text_content()
        assert answer is None or answer.removeprefix("Answer: ")[:40] in row.inner_text()
