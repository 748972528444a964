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
_ROWS: Final = "tbody.sample"
_NUMBERS: Final = "rows => rows.map(row => Number(row.dataset.number))"
_CELLS: Final = """(rows, metric) => rows.map(row =>
  row.querySelector(`td[data-metric="${metric}"]`).textContent.replace("✗ ", ""))"""


def numbers(page: Page) -> list[int]:
    """The rows on this page of the table."""
    found: list[int] = page.eval_on_selector_all(_ROWS, _NUMBERS)
    return found


def all_rows(page: Page, script: str = _NUMBERS, argument: Any = None) -> list[Any]:
    """What a script says of all rows, page by page; the first page is shown again."""
    found = page.eval_on_selector_all(_ROWS, script, argument)
    n_pages = 1
    while page.locator("#page-next").is_enabled():
        page.locator("#page-next").click()
        found += page.eval_on_selector_all(_ROWS, script, argument)
        n_pages += 1
    for _ in range(n_pages - 1):
        page.locator("#page-previous").click()
    return list(found)


def sort_by(page: Page, metric: str) -> str | None:
    head = page.locator(f'th[data-sort="{metric}"]')
    head.locator("button").click()
    return head.get_attribute("aria-sort")


def address(page: Page) -> str:
    return str(page.evaluate("location.hash")).removeprefix("#")


def count_of(page: Page) -> str:
    return page.locator("#row-count").inner_text()


def test_sorting_orders_scores_keeps_ties_and_puts_nulls_last(
    open_page: Opener, pages: Pages
) -> None:
    page = open_page(pages.generated)
    before = all_rows(page)
    by_turn = []
    for turn in ("ascending", "descending"):
        assert sort_by(page, "context_recall") == turn
        cells = all_rows(page, _CELLS, "context_recall")
        scores = [float(cell) for cell in cells if cell[0].isdigit()]
        assert 0 < len(scores) < len(cells)
        assert not any(cell[0].isdigit() for cell in cells[len(scores) :]), "nulls come last"
        assert scores == sorted(scores, reverse=turn == "descending")
        by_turn.append(all_rows(page))
    places = {number: place for place, number in enumerate(before)}
    nulls = [rows[len(scores) :] for rows in by_turn]
    assert nulls[0] == nulls[1] == sorted(nulls[0], key=places.__getitem__), "ties keep their order"
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
    page.set_viewport_size({"width": 390, "height": 900})
    page.locator("#sort").select_option("number")
    assert numbers(page) == sorted(numbers(page))
    page.locator("#sort").select_option("")
    assert address(page) == ""


def test_a_table_is_paged_by_hundreds(open_page: Opener, pages: Pages) -> None:
    page = open_page(pages.generated)
    rows = all_rows(page)
    assert len(rows) == len(set(rows)) == 400
    assert numbers(page) == rows[:100]
    assert page.locator("#page-previous").is_disabled()
    assert count_of(page) == "1 to 100 of 400 rows"
    page.locator("#page-next").click()
    assert numbers(page) == rows[100:200]
    page.locator("#page-next").press("Enter")
    assert numbers(page) == rows[200:300]
    page.locator("#page-previous").press("Space")
    assert numbers(page) == rows[100:200]
    page.evaluate(
        "() => { const next = document.getElementById('page-next');"
        " while (!next.disabled) next.click(); }"
    )
    assert numbers(page) == rows[300:]
    sort_by(page, "composite")
    assert count_of(page).startswith("1 to 100 of")


def test_filters_show_the_rows_that_match_and_say_how_many(open_page: Opener, pages: Pages) -> None:
    page = open_page(pages.grounded)
    rows: list[Any] = page.eval_on_selector_all(
        _ROWS, "rows => rows.map(r => [+r.dataset.number, r.dataset.status, r.textContent])"
    )
    assert page.locator("#row-count").get_attribute("aria-live") == "polite"
    assert count_of(page) == f"{len(rows)} rows"
    for status in ("failed", "passed", "unmeasured"):
        page.locator("#filter-status").select_option(status)
        expected = [number for number, found, _ in rows if found == status]
        assert numbers(page) == expected
        assert f"{len(expected)} row" in count_of(page)
    page.locator("#filter-status").select_option("all")
    page.locator("#filter-text").fill("BICYCLE")
    expected = [number for number, _, text in rows if "bicycle" in text.lower()]
    assert 0 < len(expected) < len(rows)
    page.wait_for_function("() => document.querySelectorAll('tbody.sample').length < 20")
    assert set(numbers(page)) <= set(expected)
    assert f"({len(rows)} in total)" in count_of(page)
    page.locator("#filter-text").fill("hb-002")
    page.wait_for_function("() => document.querySelectorAll('tbody.sample').length === 1")
    assert page.locator(_ROWS).get_attribute("data-id") == "hb-002"
    page.locator("#filter-text").fill("no row has this <script>")
    page.wait_for_function("() => document.querySelectorAll('tbody.sample').length === 0")
    assert count_of(page).startswith("0 rows")
    page.locator("#filter-text").press("Escape")
    assert count_of(page) == f"{len(rows)} rows"
    page.locator("#filter-metric").select_option("context_recall")
    failed = page.eval_on_selector_all(
        'td[data-metric="context_recall"]', "all => all.map(e => e.classList.contains('failed'))"
    )
    assert set(failed) == {True}


def test_a_row_opens_by_mouse_enter_and_space_and_closes_by_escape(
    open_page: Opener, pages: Pages
) -> None:
    page = open_page(pages.grounded)
    details = page.locator(f"{_ROWS} details.sample-detail")
    assert page.locator(".opened").count() == 0, "details are made when a row is opened"
    for place, open_row in enumerate(
        (
            lambda summary: summary.click(),
            lambda summary: summary.press("Enter"),
            lambda summary: summary.press("Space"),
        )
    ):
        detail = details.nth(place)
        open_row(detail.locator("> summary"))
        detail.locator(".opened").wait_for(state="visible")
        assert page.locator(".opened").count() == place + 1
    page.keyboard.press("Escape")
    assert not details.nth(2).locator(".opened").is_visible()
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
    fourth = page.locator(_ROWS).nth(3)
    fourth.locator("tr.scores td.question").click()
    fourth.locator(".opened").wait_for(state="visible")


@pytest.mark.parametrize("key", ["mouse", "Enter"])
@pytest.mark.parametrize("name", ["handbook", "grounded"])
def test_a_sentence_leads_to_the_passage_that_supports_it(
    open_page: Opener, pages: Pages, name: str, key: str
) -> None:
    page = open_page(getattr(pages, name), height=400)
    row = page.locator(_ROWS).first
    row.locator("details.sample-detail > summary").click()
    link = row.locator(".texts a.sentence[href]").last
    page.wait_for_function("() => location.hash.includes('row=')")
    before = address(page)
    if key == "mouse":
        link.click()
    else:
        link.press(key)
    target = str(link.get_attribute("href")).removeprefix("#")
    found = page.locator(f"[id='{target}']")
    # Overlap has no window within a chunk where the whole of it counts.
    assert found.evaluate("e => e.matches('.chunk mark.window, .chunk')")
    assert found.evaluate("e => e === document.activeElement && e.classList.contains('lit')")
    box = found.bounding_box()
    assert box is not None
    assert -1 <= box["y"] <= 400
    assert row.locator(f"[id='{target}']").count() == 1
    assert address(page) == before, "the address is that of the row"


def test_a_link_to_a_row_shows_it_open_wherever_it_is(open_page: Opener, pages: Pages) -> None:
    page = open_page(pages.generated)
    rows = all_rows(page)
    for place, n_details in ((20, 1), (120, 1), (390, 0)):
        page.locator("#filter-status").select_option("unmeasured")
        page.evaluate(f"location.hash = '#row-{rows[place]}'")
        row = page.locator(f"#row-{rows[place]}")
        row.locator("tr.scores").wait_for(state="visible")
        page.wait_for_function(f"() => location.hash.includes('row={rows[place]}')")
        assert row.locator("details.sample-detail").count() == n_details
        assert row.locator("details.sample-detail[open] .opened").count() == n_details
        assert page.locator("#filter-status").input_value() == "all"
        assert "rag-eval show RESULT" in row.inner_text() or n_details


def test_the_address_holds_what_is_shown(open_page: Opener, pages: Pages) -> None:
    page = open_page(pages.generated)
    sort_by(page, "faithfulness")
    sort_by(page, "faithfulness")
    page.locator("#filter-status").select_option("failed")
    page.locator("#page-next").click()
    page.locator(f"{_ROWS} details.sample-detail > summary").nth(3).click()
    page.locator(".opened").wait_for(state="visible")
    page.wait_for_function("() => location.hash.includes('row=')")
    shown, opened = numbers(page), numbers(page)[3]
    assert address(page) == f"?sort=-faithfulness&show=failed&page=2&row={opened}"
    other = open_page(pages.generated, fragment=address(page))
    other.locator(".opened").wait_for(state="visible")
    assert numbers(other) == shown
    assert other.locator("#filter-status").input_value() == "failed"
    assert other.locator('th[data-sort="faithfulness"]').get_attribute("aria-sort") == "descending"
    assert other.locator(f"#row-{opened} .opened").count() == 1
    other.keyboard.press("Escape")
    other.locator(f"#row-{opened} details > summary").first.click()
    other.wait_for_function("() => !location.hash.includes('row=')")
    assert address(other) == "?sort=-faithfulness&show=failed&page=2"
    other.locator("#filter-text").fill("what")
    other.wait_for_function("() => location.hash.includes('find=what')")


@pytest.mark.parametrize(
    "fragment", ["?sort=__proto__&page=-3&row=x", "?page=99999&show=nonsense", "?%E0%A4%A", "row-"]
)
def test_an_address_that_means_nothing_shows_rows(
    open_page: Opener, pages: Pages, fragment: str
) -> None:
    page = open_page(pages.of_rows(3), fragment=fragment)
    assert page.locator(_ROWS).count() == 3


def test_keys_and_buttons_go_from_one_failing_row_to_the_next(
    open_page: Opener, pages: Pages
) -> None:
    page = open_page(pages.generated)
    page.locator("#filter-text").focus()
    sort_by(page, "number")
    statuses = all_rows(page, "rows => rows.map(r => [+r.dataset.number, r.dataset.status])")
    failing = [number for number, status in statuses if status == "failed"]
    assert len(failing) > 5
    opened = []
    for press in ("Alt+ArrowDown", "Alt+ArrowDown", "j", "j", "k", "Alt+ArrowUp"):
        before = address(page)
        page.keyboard.press(press)
        page.wait_for_function("before => location.hash.slice(1) !== before", arg=before)
        page.locator("details.sample-detail[open] .opened").wait_for(state="visible")
        assert page.locator("details.sample-detail[open]").count() == 1
        focused = "Number(document.activeElement.closest('tbody').dataset.number)"
        opened.append(page.evaluate(focused))
    assert opened == [failing[place] for place in (0, 1, 2, 3, 2, 1)]
    # Letters are letters outside of the table.
    page.locator("#filter-text").press("j")
    assert page.locator("#filter-text").input_value() == "j"
    page.locator("#filter-text").press("Escape")
    page.locator("#failing-next").click()
    page.wait_for_function(f"() => location.hash.includes('row={failing[2]}')")
