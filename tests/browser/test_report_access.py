"""A report for everyone: assistive technology, keyboards, narrow screens, paper, no scripts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.browser.report_pages import HANDBOOK, Pages

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
pytest.importorskip("playwright", reason="make browser installs playwright")

Opener = Callable[..., "Page"]
SCREENSHOTS: Final = Path(__file__).parents[2] / "build" / "screenshots"
NAMES: Final = ("handbook", "grounded", "compared", "comparison", "gate", "generated", "hostile")
_RULES: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# Of each kind of element in each place, with text and without, axe is shown one: it takes
# milliseconds for each element that it sees, and none of its rules looks at what a text says.
_KEEP_ONE_OF_EACH_KIND: Final = """() => {
  const repeated = "tbody.sample, tbody:not(.sample) > tr, li, dl > div, article, rect, "
    + ".control, .opened :is(.chunk, .reason, .sentence, mark, small, bdi)";
  const known = new Set();
  const keep = (element, above) => {
    const attributes = Array.from(element.attributes, (each) => each.name + !each.value.trim());
    const own = [element.localName, ...element.classList, ...attributes];
    const path = `${above} > ${[...own, !element.textContent.trim()].join(" ")}`;
    const kinds = known.size;
    known.add(path);
    for (const child of Array.from(element.children)) keep(child, path);
    if (known.size === kinds && element.matches(repeated)) element.remove();
  };
  keep(document.body, "");
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.slice(0, 200);
}"""


def violations(page: Page, *rules: str) -> list[str]:
    """What axe finds against WCAG A and AA, or these rules, with the first elements of each."""
    import axe_playwright_python

    source = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text("utf-8")
    page.evaluate(source)
    only = {"type": "rule", "values": rules} if rules else {"type": "tag", "values": _RULES}
    options = {"runOnly": only, "resultTypes": ["violations"]}
    found = page.evaluate("options => axe.run(document, options)", options)
    n_applied = len(found["passes"]) + len(found["violations"])
    assert n_applied >= (len(rules) or 10), "axe has looked at nothing"
    return [
        f"{rule['id']}: {[node['html'][:150] for node in rule['nodes'][:3]]}"
        for rule in found["violations"]
    ]


def open_rows(page: Page, count: int = 2) -> None:
    for place in range(count):
        row = page.locator("tbody.sample").nth(place)
        row.locator("details.sample-detail > summary").first.click()
        row.locator(".opened").wait_for()
    for closed in page.locator(".opened details:not([open]) > summary").all()[:5]:
        if closed.is_visible():
            closed.click()


def open_all(page: Page) -> None:
    """Open the rows of this page of the table, whose details are made only now."""
    page.eval_on_selector_all(
        "details.sample-detail", "all => all.forEach(e => { e.open = true; })"
    )
    page.wait_for_function(
        "() => Array.from(document.querySelectorAll('details.sample-detail'))"
        ".every(e => e.querySelector('.opened'))"
    )


# The page of generated rows is built as these are.
@pytest.mark.parametrize(
    "name",
    ["handbook", "grounded", "compared", "comparison", "gate", "history", "hostile"],
)
def test_axe_finds_nothing_against_wcag_aa(open_page: Opener, pages: Pages, name: str) -> None:
    page = open_page(getattr(pages, name))
    open_all(page)
    ids = page.eval_on_selector_all("[id]", "all => all.map(e => e.id)")
    assert sorted(ids) == sorted(set(ids))
    page.evaluate(_KEEP_ONE_OF_EACH_KIND)
    page.eval_on_selector_all("details", "all => { for (const each of all) each.open = true; }")
    if name != "history":
        assert page.locator("tbody.sample .opened").count() >= 5
        page.locator("#filter-text").evaluate("e => { e.value = 'the'; }")
    assert background_of(page) == "rgb(255, 255, 255)"
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    assert background_of(page) == "rgb(20, 23, 27)"
    assert violations(page, "color-contrast") == []
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 390, "height": 900})
    # Cards in the place of cells, and a list to sort by that only a narrow screen has.
    assert violations(page) == []


def background_of(page: Page) -> str:
    found: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return found


def test_axe_finds_what_is_wrong(open_page: Opener, pages: Pages) -> None:
    page = open_page(pages.of_rows(3))
    page.evaluate("document.documentElement.lang = ''")
    page.evaluate("document.querySelector('.hint').style.color = '#bbbbbb'")
    found = violations(page, "html-has-lang", "color-contrast")
    assert [fault.split(":")[0] for fault in sorted(found)] == ["color-contrast", "html-has-lang"]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_runs_over_the_edge_of_a_screen(open_page: Opener, pages: Pages, name: str) -> None:
    page = open_page(getattr(pages, name))
    assert overflow(page) == 0
    page.set_viewport_size({"width": 390, "height": 900})
    assert overflow(page) == 0
    open_rows(page)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert overflow(page) == 0
        size = {"x": 0, "y": 0, "width": width, "height": 3_600}
        picture = SCREENSHOTS / f"{name}-{width}.png"
        page.screenshot(path=picture, full_page=True, clip=size)
        assert picture.stat().st_size > 10_000


def overflow(page: Page) -> int:
    script = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    found: int = page.evaluate(script)
    return found


def test_text_at_twice_its_size_runs_over_no_edge(open_page: Opener, pages: Pages) -> None:
    """640 points wide is what a window of 1280 has at a zoom of 200 %; 320 at 400 %."""
    page = open_page(pages.compared, width=640, device_scale_factor=2)
    open_rows(page)
    assert overflow(page) == 0
    page.set_viewport_size({"width": 320, "height": 900})
    assert overflow(page) == 0


def test_the_tab_key_reaches_everything_and_is_seen_to(open_page: Opener, pages: Pages) -> None:
    page = open_page(pages.grounded)
    page.locator("#filter-text").fill("bicycle")
    page.wait_for_function("() => document.querySelectorAll('tbody.sample').length < 5")
    open_rows(page, 1)
    script = """() => Array.from(document.querySelectorAll(
        "a[href], button, input, select, summary, [tabindex='0']"
      )).filter(e => !e.disabled && e.checkVisibility({visibilityProperty: true})).length"""
    expected = page.evaluate(script)
    page.evaluate("document.activeElement.blur(); window.getSelection().removeAllRanges()")
    page.evaluate("() => { window.__reached = new Set(); window.__unseen = []; }")
    page.evaluate("document.body.tabIndex = -1; document.body.focus()")
    page.evaluate("document.body.removeAttribute('tabindex')")
    for _ in range(expected + 5):
        page.keyboard.press("Tab")
        if page.evaluate(_NOTE_FOCUS):
            break
    assert page.evaluate("window.__unseen") == []
    assert page.evaluate("window.__reached.size") == expected


# Says whether the end of the page is reached, from where the key goes to the browser's own parts.
_NOTE_FOCUS: Final = """() => {
  const found = document.activeElement;
  if (found === document.body || window.__reached.has(found)) return window.__reached.size > 1;
  window.__reached.add(found);
  const style = getComputedStyle(found);
  const box = found.getBoundingClientRect();
  const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
  const inside = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  if (!seen || !inside) window.__unseen.push(found.outerHTML.slice(0, 120));
  return false;
}"""


def test_the_skip_link_leads_to_the_rows(open_page: Opener, pages: Pages) -> None:
    page = open_page(pages.handbook)
    page.keyboard.press("Tab")
    skip = page.locator(":focus")
    assert skip.get_attribute("href") == "#rows"
    assert skip.is_visible()
    page.keyboard.press("Enter")
    assert page.locator("#rows").evaluate("e => e.matches(':target')")


def test_without_scripts_everything_is_there_and_rows_open(open_page: Opener, pages: Pages) -> None:
    page = open_page(pages.grounded, java_script_enabled=False)
    rows = page.locator("tbody.sample")
    assert rows.count() == len(HANDBOOK.read_text("utf-8").splitlines())
    visible = "all => all.map(e => e.checkVisibility({ visibilityProperty: true }))"
    assert rows.locator("tr.scores").evaluate_all(visible) == [True] * rows.count()
    assert not page.locator("#filter-text").is_visible()
    assert not page.locator("#page-next").is_visible()
    detail = rows.nth(40).locator("details.sample-detail")
    detail.locator("> summary").click()
    assert detail.locator(".opened").is_visible()
    for part in ("#verdict", "#metrics", "#slices", "#rows", "#reproduce"):
        assert page.locator(part).is_visible(), part
    assert page.locator("#reproduce").inner_text().count("\n") > 5


@pytest.mark.parametrize("scripts", [True, False])
def test_on_paper_there_are_no_controls_and_texts_are_dark(
    open_page: Opener, pages: Pages, scripts: bool
) -> None:
    page = open_page(pages.grounded, color_scheme="dark", java_script_enabled=scripts)
    page.locator("tbody.sample details.sample-detail > summary").first.click()
    page.emulate_media(media="print")
    page.locator(".opened").first.wait_for()
    for part in ("#filter-text", "#filter-status", "#page-next", "nav", ".skip"):
        assert not page.locator(part).is_visible(), part
    assert page.locator("#verdict h1").is_visible()
    assert page.locator(".opened").first.is_visible()
    if scripts:
        colours = "e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]"
        assert page.locator("body").evaluate(colours) == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    assert len(page.pdf(format="A4")) > 20_000


def test_a_comparison_says_what_changed_and_leads_to_its_rows(
    open_page: Opener, pages: Pages
) -> None:
    page = open_page(pages.compared)
    section = page.locator("#comparison")
    assert section.locator("table").first.inner_text().count("REGRESSED") >= 1
    assert section.locator("svg").count() > 2
    section.locator(".movement details > summary").first.click()
    link = section.locator(".moved a").first
    anchor = link.get_attribute("href")
    link.click()
    page.locator(f"{anchor} .opened").wait_for()
    assert page.locator("#slices tbody tr").count() > 2


def test_a_metric_has_its_distribution_and_says_it_in_words(
    open_page: Opener, pages: Pages
) -> None:
    page = open_page(pages.grounded)
    cards: list[Any] = page.locator("#metrics .metric").all()
    assert len(cards) >= 7
    for card in cards:
        chart = card.locator("svg.histogram")
        assert chart.locator("rect").count() > 0
        assert chart.locator("> title").text_content().strip()
