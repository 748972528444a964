"""A row of a report is the same with scripts, which make it of data, and without, as HTML."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.browser.report_pages import Pages

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
pytest.importorskip("playwright", reason="make browser installs playwright")

Opener = Callable[..., "Page"]
# Each row of the page made of data, beside what the page has of it for readers without scripts, in
# which templates put line ends between elements.
_DIFFERENCES: Final = r"""async (html) => {
  const unpacked = async (name) => {
    const bytes = Uint8Array.from(
      atob(document.getElementById(name).textContent), (each) => each.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  };
  const bare = (node) => {
    for (const each of Array.from(node.querySelectorAll("noscript"))) each.remove();
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    const blanks = [];
    while (walker.nextNode()) {
      const node = walker.currentNode;
      const isBlank = /^\s*\n\s*$/.test(node.data);
      if (isBlank && !node.parentElement.closest(".text")) blanks.push(node);
    }
    for (const each of blanks) each.remove();
    node.normalize();
    return node;
  };
  const differences = [];
  const compare = (what, one, other) => {
    if (one.isEqualNode(other)) return;
    const [left, right] = [one.outerHTML, other.outerHTML];
    let place = 0;
    while (left[place] === right[place]) place++;
    const near = (text) => text.slice(Math.max(0, place - 60), place + 60);
    differences.push(`${what}: ${near(left)} <> ${near(right)}`);
  };
  const [keys, index] = await Promise.all(["row-keys", "row-index"].map(unpacked));
  const maker = rowMaker(keys);
  // Read as without scripts.
  const page = new DOMParser().parseFromString(html, "text/html");
  const bodies = Array.from(page.querySelectorAll("tbody.sample"));
  let n_rows = 0;
  for (const [number, begin] of index.blocks.entries()) {
    for (const [offset, data] of (await unpacked(`row-block-${number}`)).entries()) {
      const body = bodies[begin + offset];
      if (!body) continue;
      n_rows++;
      const opened = body.querySelector("noscript > .opened");
      compare(body.id, bare(opened.cloneNode(true)), bare(maker.opened(begin + offset, data)));
      compare(body.id, bare(body), bare(maker.body(begin + offset)));
    }
  }
  return [n_rows, differences];
}"""


def differences(open_page: Opener, report: Path) -> tuple[int, list[str]]:
    """How many rows are on the page in both ways, and where these differ."""
    n_rows, found = open_page(report).evaluate(_DIFFERENCES, report.read_text("utf-8"))
    return n_rows, found


@pytest.mark.parametrize(
    ("name", "n_rows"),
    [
        *((name, 66) for name in ("handbook", "grounded", "compared", "gate")),
        *((name, 150) for name in ("whole", "whole_overlap")),
    ],
)
def test_a_row_is_the_same_with_scripts_and_without(
    open_page: Opener, pages: Pages, name: str, n_rows: int
) -> None:
    """``whole`` has hostile texts, long ones, checks of scorers, and rows cut to find room."""
    n_found, differing = differences(open_page, getattr(pages, name))
    assert n_found >= n_rows
    assert differing == []


def test_a_difference_is_found(open_page: Opener, pages: Pages, tmp_path: Path) -> None:
    text = pages.of_rows(3).read_text("utf-8")
    changed = tmp_path / "changed.html"
    changed.write_text(text.replace("<h3>Question</h3>", "<h3>question</h3>", 1), "utf-8")
    n_found, differing = differences(open_page, changed)
    assert (n_found, len(differing)) == (3, 1)
    one, other = differing[0].split(" <> ")
    assert "<h3>question" in one
    assert "<h3>Question" in other
