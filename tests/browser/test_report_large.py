"""A report of a hundred thousand rows is of a bounded size and opens at once."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser import report_pages

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
pytest.importorskip("playwright", reason="make browser installs playwright")

N_ROWS = 100_000
MOST_BYTES = 20_000_000
MOST_SECONDS = 3.0
# Until the script has run and the first hundred rows are painted.
_SECONDS = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {
  done(performance.now() / 1000);
})))"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    rows = report_pages.write_rows(folder / "rows.jsonl", report_pages.generated_rows(N_ROWS))
    return report_pages.written(folder / "large.html", rows, "--slice-by", "topic")


def test_a_page_of_a_hundred_thousand_rows_is_below_20_megabytes(report: Path) -> None:
    assert 1_000_000 < report.stat().st_size < MOST_BYTES
    assert "100,000" in report.read_text("utf-8")


def test_a_page_of_a_hundred_thousand_rows_opens_within_3_seconds(
    report: Path, browser: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    times = []
    for _ in range(3):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(report.as_uri())
        elapsed, worked = page.evaluate(_SECONDS), processor_seconds(page)
        times.append((elapsed, worked))
        assert page.locator("tbody.sample.shown").count() == 100
        page.close()
    with capsys.disabled():
        shown = ", ".join(f"{elapsed:.2f} s ({worked:.2f} at work)" for elapsed, worked in times)
        print(f"\n{report.stat().st_size / 1e6:.1f} MB, opened in {shown}")
    # Whatever else the machine does while it waits is no fault of the page.
    assert statistics.median(min(pair) for pair in times) < MOST_SECONDS


def processor_seconds(page: Page) -> float:
    """What the process that holds the page has worked since it began, on all its threads."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    metrics = session.send("Performance.getMetrics")["metrics"]
    worked = {metric["name"]: metric["value"] for metric in metrics}["ProcessTime"]
    assert worked > 0.1
    return float(worked)
