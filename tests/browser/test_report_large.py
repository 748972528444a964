"""A report of very many rows is of a bounded size and opens at once."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import pytest

from tests.browser.report_pages import Pages

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
pytest.importorskip("playwright", reason="make browser installs playwright")

MOST_BYTES = 20_000_000
MOST_SECONDS = 3.0
# Until the script has run and the first hundred rows are painted.
_SECONDS = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {
  done(performance.now() / 1000);
})))"""


@pytest.fixture(scope="module")
def report(pages: Pages) -> Path:
    """A page of as many rows, and as many that can be opened, as pages hold: of more it is none."""
    return pages.of_rows(20_000)


def test_a_page_of_twenty_thousand_rows_is_below_20_megabytes(report: Path) -> None:
    assert 10_000_000 < report.stat().st_size < MOST_BYTES
    assert "20,000" in report.read_text("utf-8")


def test_a_page_of_twenty_thousand_rows_opens_within_3_seconds(
    report: Path, browser: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    times: list[tuple[float, float]] = []
    # Whatever else the machine does while it waits is no fault of the page.
    while len(times) < 3 and min(map(min, times), default=inf) >= MOST_SECONDS:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(report.as_uri())
        elapsed, worked = page.evaluate(_SECONDS), processor_seconds(page)
        times.append((elapsed, worked))
        assert page.locator("tbody.sample").count() == 5_000
        assert page.locator("tbody.sample.shown").count() == 100
        page.close()
    with capsys.disabled():
        shown = ", ".join(f"{elapsed:.2f} s ({worked:.2f} at work)" for elapsed, worked in times)
        print(f"\n{report.stat().st_size / 1e6:.1f} MB, opened in {shown}")
    assert min(map(min, times)) < MOST_SECONDS


def processor_seconds(page: Page) -> float:
    """What the process that holds the page has worked since it began, on all its threads."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    metrics = session.send("Performance.getMetrics")["metrics"]
    worked = {metric["name"]: metric["value"] for metric in metrics}["ProcessTime"]
    assert worked > 0.1
    return float(worked)
