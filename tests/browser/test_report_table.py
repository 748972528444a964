"""The table of a report: sorting, filtering, paging and opening, by mouse and by keyboard."""

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
_SHOWN: Final = "tbody.sample.shown"
# Rows as the script has ordered them, whether on this page of the table or another.
_NUMBERS: Final = "rows => rows.map(row => Number(row.dataset.number))"
_VALUES: Final = """(rows, metric) => rows.map(row => {
  const text = row.querySelector(`td[data-metric="${metric}"]`).dataset.value;
  return text === "" ? null : Number(text);
})"""


def numbers(page: Page, rows: str = "tbody.sample") -> list[int]:
    return page.eval_on_selector_all(rows, _NUMBERS)


def values(page: Page, metric: str) -> list[float | None]:
    return page.eval_on_selector_all("tbody.sample", _VALUES, metric)


def visible_numbers(page: Page) -> list[int]:
    script = (
        "rows => rows.filter(row => row.getClientRects().length).map(row => +row.dataset.number)"
    )
    return page.eval_on_selector_all("tbody.sample", script)


def sort_by(page: Page, metric: str) -> str | None:
    head = page.locator(f'th[data-sort="{metric}"]')
    head.locator("button").click()
    return head.get_attribute("aria-sort")


def test_sorting_orders_scores_keeps_ties_and_puts_nulls_last(
    open_page: Opener, pages: Pages
) -> None:
    page = open_page(pages.generated)
    before = numbers(page)
    assert sort_by(page, "context_recall") == "ascending"
    found = values(page, "context_recall")
    n_null = found.count(None)
    assert 0 < n_null < len(found)
    measured = [value for value in found if value is not None]
    assert found == [*sorted(measured), *[None] * n_null]
    by_number = dict(zip(numbers(page), found, strict=True))
    expected = sorted(
        before, key=lambda number: (by_number[number] is None, by_number[number] or 0)
    )
    assert numbers(page) == expected, "rows of one score are to keep their order"
    assert sort_by(page, "context_recall") == "descending"
    assert values(page, "context_recall") == [*sorted(measured, reverse=True), *[None] * n_null]
    assert page.locator('th[aria-sort]:not([aria-sort="none"])').count() == 1


def test_every_column_sorts_by_mouse_and_by_keyboard(open_page: Opener, pages: Pages) -> None:
    page = open_page(pages.of_rows(12))
    names = page.eval_on_selector_all("th[data-sort]", "heads => heads.map(h => h.dataset.sort)")
    assert {"number", "id", "question", "composite", "status", "faithfulness"} <= set(names)
    for name in names:
        button = page.locator(f'th[data-sort="{name}"] button')
        button.click()
        by_mouse = numbers(page)
        button.focus()
        head = page.locator(f'th[data-sort="{name}"]')
        for key, turn in (("Enter", "descending"), ("Space", "ascending")):
            page.keyboard.press(key)
            assert head.get_attribute("aria-sort") == turn, (name, key)
        assert sorted(numbers(page)) == sorted(by_mouse)
        assert page.evaluate("document.activeElement.closest('th').dataset.sort") == name
    sort_by(page, "number")
    assert numbers(page) in (sorted(numbers(page)), sorted(numbers(page), reverse=True))


def test_a_table_is_paged_by_hundreds(open_page: Opener, pages: Pages) -> None:
    page = open_page(pages.generated)
    rows = numbers(page)
    assert len(rows) > 300
    assert visible_numbers(page) == rows[:100]
    assert page.locator("#page-previous").is_disabled()
    assert page.locator("#row-count").inner_text().startswith("1 to 100 of ")
    page.locator("#page-next").click()
    assert visible_numbers(page) == rows[100:200]
    page.locator("#page-next").press("Enter")
    assert visible_numbers(page) == rows[200:300]
    page.locator("#page-previous").press("Space")
    assert visible_numbers(page) == rows[100:200]
    page.evaluate(
        "() => { const next = document.getElementById('page-next');"
        " while (!next.disabled) next.click(); }"
    )
    assert visible_numbers(page) == rows[(len(rows) - 1) // 100 * 100 :]
    sort_by(page, "composite")
    assert visible_numbers(page) == numbers(page)[:100]


def count_of(page: Page) -> str:
    return page.locator("#row-count").inner_text()


def test_filters_show_the_rows_that_match_and_say_how_many(open_page: Opener, pages: Pages) -> None:
    page = open_page(pages.grounded)
    rows: list[Any] = page.eval_on_selector_all(
        "tbody.sample", "rows => rows.map(r => [+r.dataset.number, r.dataset.status, r.innerText])"
    )
    assert page.locator("#row-count").get_attribute("aria-live") == "polite"
    assert count_of(page) == f"{len(rows)} rows"
    for status in ("failed", "passed", "unmeasured"):
        page.locator("#filter-status").select_option(status)
        expected = [number for number, found, _ in rows if found == status]
        assert visible_numbers(page) == expected
        assert f"{len(expected)} row" in count_of(page)
    page.locator("#filter-status").select_option("all")
    page.locator("#filter-text").fill("BICYCLE")
    expected = [number for number, _, text in rows if "bicycle" in text.lower()]
    assert 0 < len(expected) < len(rows)
    page.wait_for_function("document.querySelectorAll('tbody.shown').length < 20")
    assert set(expected) <= set(visible_numbers(page))
    assert f"({len(rows)} in total)" in count_of(page)
    page.locator("#filter-text").fill("hb-002")
    page.wait_for_function("document.querySelectorAll('tbody.shown').length === 1")
    assert page.locator(_SHOWN).get_attribute("data-id") == "hb-002"
    page.locator("#filter-text").fill("no row has this <script>")
    page.wait_for_function("document.querySelectorAll('tbody.shown').length === 0")
    assert count_of(page).startswith("0 rows")
    page.locator("#filter-text").press("Escape")
    assert count_of(page) == f"{len(rows)} rows"


def test_a_row_opens_by_mouse_enter_and_space_and_closes_by_escape(
    open_page: Opener, pages: Pages
) -> None:
    page = open_page(pages.grounded)
    details = page.locator(f"{_SHOWN} details.sample-detail")
    for place, open_row in enumerate(
        (
            lambda summary: summary.click(),
            lambda summary: summary.press("Enter"),
            lambda summary: summary.press("Space"),
        )
    ):
        detail = details.nth(place)
        assert not detail.locator(".opened").is_visible()
        open_row(detail.locator("> summary"))
        assert detail.locator(".opened").is_visible()
    page.keyboard.press("Escape")
    assert not details.nth(2).locator(".opened").is_visible()
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
    fourth = page.locator(_SHOWN).nth(3)
    fourth.locator("tr.scores td.question").click()
    assert fourth.locator(".opened").is_visible()


@pytest.mark.parametrize("key", ["mouse", "Enter"])
@pytest.mark.parametrize("name", ["handbook", "grounded"])
def test_a_sentence_leads_to_the_window_that_carries_it(
    open_page: Opener, pages: Pages, name: str, key: str
) -> None:
    page = open_page(getattr(pages, name), height=400)
    row = page.locator(f"{_SHOWN}:has(a.sentence[href])").first
    row.locator("details.sample-detail > summary").click()
    link = row.locator("a.sentence[href]").last
    if key == "mouse":
        link.click()
    else:
        link.press(key)
    target = page.evaluate("location.hash.slice(1)")
    assert target == link.get_attribute("href")[1:]
    found = page.locator(":target")
    assert found.get_attribute("id") == target
    # Overlap has no window within a chunk where the whole of it counts.
    assert found.evaluate("e => e.matches('.chunk mark.window, .chunk')")
    box = found.bounding_box()
    assert box is not None
    assert -1 <= box["y"] <= 400
    assert found.evaluate(
        "e => e.closest('tbody.sample') === document.querySelector("
        f"'[href=\"#{target}\"]').closest('tbody.sample')"
    )


def test_a_link_to_a_row_on_another_page_of_the_table_shows_it_open(
    open_page: Opener, pages: Pages
) -> None:
    page = open_page(pages.generated)
    rows = page.locator("tbody.sample")
    for place, n_details in ((120, 1), (320, 0)):
        anchor = rows.nth(place).get_attribute("id")
        page.locator("#filter-status").select_option("unmeasured")
        page.evaluate(f"location.hash = '#{anchor}'")
        row = page.locator(f"#{anchor}")
        row.locator("tr.scores").wait_for(state="visible")
        assert row.locator("details.sample-detail").count() == n_details
        assert row.locator("details.sample-detail[open]").count() == n_details
        assert page.locator("#filter-status").input_value() == "all"
