"""HTML elements for the output of a notebook cell.

Elements have inline styles and no classes, scripts or URLs: front ends remove style sheets or apply
them to the whole page. Colours are translucent tints, so that text keeps its contrast in light and
dark themes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias
from xml.etree.ElementTree import Element, SubElement, tostring

from rag_eval.metrics.registry import higher_is_better
from rag_eval.reports.figures import NONE, gap_text, mean_bounds, score_text
from rag_eval.reports.page.visible_text import short, visible_plain
from rag_eval.results.aggregates import CompositeAggregate, MetricAggregate

Content: TypeAlias = str | Element | None

GREEN: Final = "rgba(46,160,67,.22)"
AMBER: Final = "rgba(210,153,34,.30)"
RED: Final = "rgba(248,81,73,.26)"
GREY: Final = "rgba(128,128,128,.16)"
_LINE: Final = "1px solid rgba(128,128,128,.35)"
_SVG: Final = "http://www.w3.org/2000/svg"


def element(tag: str, style: str = "", *content: Content, **attributes: str) -> Element:
    """An element with texts and elements in it; None is skipped."""
    made = Element(tag, {**({"style": style} if style else {}), **attributes})
    for part in content:
        if isinstance(part, Element):
            made.append(part)
        elif part is not None:
            _append_text(made, part)
    return made


def _append_text(parent: Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def html_of(root: Element) -> str:
    """The element as HTML, with all texts escaped."""
    return tostring(root, encoding="unicode", method="html")


def line_text(text: object, limit: int) -> str:
    """A text of data on one line; other values by their ``str``, None as an empty text."""
    return "" if text is None else short(visible_plain(short(str(text), limit)), limit)


def block_text(text: str, limit: int) -> str:
    """A text of data with its line breaks, hidden characters shown, cut at ``limit``."""
    shown = visible_plain(text[:limit])
    return f"{shown[:limit]}…" if len(shown) > limit or len(text) > limit else shown


def prose(*content: Content, style: str = "") -> Element:
    """A block of data text that keeps line breaks and its own writing direction."""
    look = "white-space:pre-wrap;overflow-wrap:anywhere;max-width:60em;text-align:start;" + style
    return element("div", look, *content, dir="auto")


def badge(passed: bool | None, good: str = "passed", bad: str = "FAILED") -> Element:
    """A verdict in a tinted box, readable without the colour."""
    look = "display:inline-block;padding:1px 8px;border-radius:4px;font-weight:600;background:"
    if passed is None:
        return element("span", look + GREY, "no verdict")
    return element("span", look + (GREEN if passed else RED), good if passed else bad)


def shown(*content: Content) -> str:
    """The HTML of an output."""
    return html_of(element("div", "line-height:1.45", *content))


def tinted(text: str, tint: str | None) -> Element:
    """A word with a background tint, or without one."""
    return element("span", f"background:{tint};padding:0 4px" if tint else "", text)


def heading(text: str) -> Element:
    """A heading."""
    return element("div", "font-weight:600;margin:10px 0 2px", text)


def table(
    heads: Sequence[str], rows: Iterable[Sequence[Content]], texts: frozenset[int]
) -> Element:
    """A table; columns in ``texts`` are left-aligned and wrap, others hold numbers."""
    made = element("table", "border-collapse:collapse;margin:4px 0;font-size:inherit")
    _add_row(SubElement(made, "thead"), "th", heads, texts)
    body = SubElement(made, "tbody")
    for row in rows:
        _add_row(body, "td", row, texts)
    return made


def _add_row(parent: Element, tag: str, cells: Sequence[Content], texts: frozenset[int]) -> None:
    row = SubElement(parent, "tr", {"style": "background:transparent"})
    for place, cell in enumerate(cells):
        look = f"padding:3px 9px;border-bottom:{_LINE};vertical-align:top;"
        if place in texts:
            look += "text-align:left;white-space:normal;overflow-wrap:anywhere;max-width:30em"
        else:
            look += "text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums"
        row.append(element(tag, look, cell, **({"scope": "col"} if tag == "th" else {})))


def listed(items: Iterable[Sequence[Content]], look: str, item_look: str) -> Element:
    """A bulleted list."""
    return element("ul", look, *(element("li", item_look, *item) for item in items))


def with_rest(made: Element, n_all: int, n_shown: int, what: str) -> Element:
    """The element, followed by how many items are not shown."""
    if n_all <= n_shown:
        return made
    rest = element("div", "font-size:90%", f"… and {n_all - n_shown:,} more {what}")
    return element("div", "", made, rest)


def folded(summary: str, *content: Content) -> Element:
    """A collapsible part, closed at first."""
    head = element("summary", "cursor:pointer;font-weight:600", summary)
    return element("details", "margin:8px 0", head, *content)


def mean_text(aggregate: MetricAggregate | CompositeAggregate) -> str:
    """``0.71 [0.65, 0.76]``, and how much was not measured where that is more than 5 %."""
    if math.isnan(aggregate.mean):
        return NONE
    gap = gap_text(aggregate.n, aggregate.n_rows)
    parts = score_text(aggregate.mean), mean_bounds(aggregate), gap and f"({gap})"
    return " ".join(filter(None, parts))


def threshold_text(metric: str, threshold: float | None) -> str:
    """``≥ 0.70``, or ``≤ 0.30`` if lower is better."""
    if threshold is None:
        return NONE
    return f"{'≥' if higher_is_better(metric) else '≤'} {score_text(threshold)}"


def picture(width: int, height: int, label: str) -> Element:
    """An empty drawing; ``label`` describes it to screen readers."""
    return Element(
        "svg",
        {
            "xmlns": _SVG,
            "width": str(width),
            "height": str(height),
            "viewBox": f"0 0 {width} {height}",
            "role": "img",
            "aria-label": label,
            "style": "vertical-align:middle;overflow:visible",
        },
    )


def add_box(drawing: Element, left: float, top: float, width: float, height: float) -> None:
    """A filled rectangle in a lighter shade of the text colour."""
    places = {"x": left, "y": top, "width": width, "height": height}
    attributes = {name: f"{value:.4g}" for name, value in places.items()}
    SubElement(drawing, "rect", {**attributes, "fill": "currentColor", "fill-opacity": "0.45"})


def add_line(
    drawing: Element, start: tuple[float, float], end: tuple[float, float], *, dashed: bool = False
) -> None:
    """A line in the text colour."""
    ends = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]}
    attributes = {name: f"{value:.4g}" for name, value in ends.items()}
    attributes |= {"stroke": "currentColor", "stroke-width": "1.5"}
    if dashed:
        attributes["stroke-dasharray"] = "2 2"
    SubElement(drawing, "line", attributes)
