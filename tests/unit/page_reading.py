"""A page as a reader of HTML sees it: elements, their attributes, their text."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from html.parser import HTMLParser
from typing import Any

import pytest

from rag_eval.reports.page import page, row_list
from rag_eval.views.run_view import RunView

VOID = {"meta", "br", "wbr", "input", "link", "img", "hr"}
RAW = {"script", "style"}
_PACKED = re.compile(r'<script type="text/plain" id="row-[^"]*">[^<]*</script>\n?')


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    parts: list[Element | str] = field(default_factory=list)

    @property
    def classes(self) -> set[str]:
        return set(self.attributes.get("class", "").split())

    @property
    def text(self) -> str:
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)

    def walk(self) -> Iterator[Element]:
        yield self
        for part in self.parts:
            if isinstance(part, Element):
                yield from part.walk()

    def all(self, tag: str = "", **wanted: str) -> list[Element]:
        """Elements of a tag; ``cls`` is one of their classes, other names are attributes."""
        name = wanted.pop("cls", None)
        return [
            element
            for element in self.walk()
            if (not tag or element.tag == tag)
            and (name is None or name in element.classes)
            and all(element.attributes.get(k.replace("_", "-")) == v for k, v in wanted.items())
        ]

    def one(self, tag: str = "", **wanted: str) -> Element:
        found = self.all(tag, **wanted)
        assert len(found) == 1, (tag, wanted, len(found))
        return found[0]

    def by_id(self, name: str) -> Element:
        return self.one("", id=name)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice: {names}"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].parts.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].parts.append(data)


def unpack(text: str) -> Any:
    """What the page packs into script elements."""
    return json.loads(zlib.decompress(base64.b64decode(text)))


@contextmanager
def every_row_is_html() -> Iterator[None]:
    """Pages have all rows as HTML, as only the first ones are for readers without scripts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "row_list", partial(row_list.row_list, budget=1_000_000_000))
        patch.setattr(row_list, "_FIRST_PAGE", 1_000_000)
        patch.setattr(row_list, "_FIRST_BYTES", 100_000_000)
        yield


def without_data(html: str) -> str:
    """A page without what its script makes rows of, which it has as HTML."""
    bare, n_packed = _PACKED.subn("", html)
    assert n_packed >= 3
    return bare


def unfolded(view: RunView) -> str:
    """The page of a run with all its rows as HTML."""
    with every_row_is_html():
        html = without_data(page.page_html(view))
    assert html.count("<noscript>") == len(view.rows)
    return html


def read_page(html: str) -> Element:
    """The tree of a page in which every element is closed where it has to be."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == [reader.root], f"<{reader.open[-1].tag}> is not closed"
    return reader.root
