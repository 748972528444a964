"""An output in; what of the data came through as more than text, out: a checker for each format.

Each returns the places that are wrong, so that a test says `assert not ...` and shows them.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from typing import Any, Final
from xml.etree import ElementTree

from markdown_it import MarkdownIt

_CONTROLS: Final = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_DIRECTIONS: Final = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_LINES: Final = "\u2028\u2029"
_SURROGATES: Final = "\ud800-\udfff"
# Characters without a shape, of which only joiners change what letters look like.
_BLANKS: Final = "\u00ad\u180e\u200b\u2060\ufeff\U000e0000-\U000e007f"
RAW: Final = re.compile(f"[{_CONTROLS}{_DIRECTIONS}{_LINES}{_SURROGATES}]")
HIDDEN: Final = re.compile(f"[{_CONTROLS}\t{_DIRECTIONS}{_LINES}{_SURROGATES}{_BLANKS}]")
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
# What builds run: GitHub trims a line before it looks, and finds the older forms anywhere in it.
_COMMAND: Final = re.compile(r"^\s*::[\w-]+.*::|##\[|##vso\[|##teamcity\[")
_NUMBER: Final = re.compile(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?", re.IGNORECASE)
_VOID: Final = {"br", "wbr", "col", "hr", "img", "input", "link", "meta", "base"}


def _around(text: str, place: int) -> str:
    return ascii(text[max(0, place - 40) : place + 20])


def raw_characters(text: str, pattern: re.Pattern[str] = RAW) -> list[str]:
    """Characters that move a cursor, turn the direction of text or cannot be written."""
    return [_around(text, found.start()) for found in pattern.finditer(text)]


def raw_on_terminal(text: str, *, styled: bool = False) -> list[str]:
    """For what is printed; ``styled`` has colours, and the lines' ends of a terminal, of ours."""
    plain = _COLOUR.sub("", text).replace("\r\n", "\n") if styled else text
    commands = [_around(line, 0) for line in plain.split("\n") if _COMMAND.search(line)]
    return raw_characters(plain, HIDDEN) + commands


def raw_in_annotations(lines: Iterable[str]) -> list[str]:
    """For commands of GitHub that are meant as such: each of a line, a title and a message."""
    shape = re.compile(r"::(error|warning|notice)( (file|line|title)=[^:,]*(,\w+=[^:,]*)*)?::(.*)")
    return [
        _around(line, 0)
        for line in lines
        if shape.fullmatch(line) is None or raw_characters(line, HIDDEN) or "##[" in line
    ]


class NotJSONError(ValueError):
    """A number that JSON does not have."""


def raw_in_json(data: bytes) -> list[str]:
    """For strict JSON; its texts are data as they were."""

    def refuse(name: str) -> Any:
        raise NotJSONError(name)

    text = data.decode()  # a lone surrogate cannot stand in it but as an escape
    json.loads(text, parse_constant=refuse)
    return [_around(text, found.start()) for found in re.finditer("[\x00-\x09\x0b-\x1f]", text)]


def raw_in_csv(text: str) -> list[str]:
    """For cells that a spreadsheet would calculate."""
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    return [
        ascii(cell[:60])
        for cell in cells
        if cell[:1] in set("=+-@\t\r") and cell and not _NUMBER.fullmatch(cell)
    ]


def raw_in_xml(data: bytes) -> list[str]:
    """For a document that any parser reads."""
    root = ElementTree.fromstring(data)
    texts = [text for each in root.iter() for text in (each.text, each.tail, *each.attrib.values())]
    return [found for text in texts if text for found in raw_characters(text)]


class Markup(HTMLParser):
    """Elements, attributes and text of a page, and what is wrong with them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.source = text
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.faults: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        self.faults += [f"<{tag}> is never closed" for tag in self._open]

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing")

    def handle_data(self, data: str) -> None:
        if not self._open or self._open[-1] not in {"script", "style"}:
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.faults.append(f"comment {data[:40]!a}")

    def unknown_decl(self, data: str) -> None:
        self.faults.append(f"declaration {data[:40]!a}")

    def handle_pi(self, data: str) -> None:
        self.faults.append(f"instruction {data[:40]!a}")


_ACTIVE: Final = {
    "applet", "audio", "base", "embed", "form", "frame", "iframe", "image", "img", "link", "math",
    "object", "template", "textarea", "video",
}  # fmt: skip


def raw_in_html(page: str | Markup, *, scripts: int = 0, styled: bool = False) -> list[str]:
    """For a page with so many scripts of ours; ``styled`` may have style attributes."""
    page = Markup(page) if isinstance(page, str) else page
    faults = page.faults + raw_characters(page.source)
    faults += [f"<{tag}>" for tag in page.tags if tag in _ACTIVE]
    if page.tags.count("script") != scripts:
        faults.append(f"{page.tags.count('script')} scripts")
    for tag, name, value in page.attributes:
        is_address = name in {"href", "src", "xlink:href", "action", "formaction", "data", "srcset"}
        is_style = name == "style" and (not styled or "url" in value or "expression" in value)
        if name.startswith("on") or (is_address and value[:1] != "#") or is_style:
            faults.append(f"<{tag} {name}={value[:60]!a}>")
    return faults


# What GitHub and GitLab make links, pictures and calls to people of, in what is shown.
_LINKED: Final = re.compile(
    r"(?<![\w`])@\w|(?<![\w&])#\d|(?<!\w)GH-\d|\bhttps?://|\bwww\.\w|\b[0-9a-f]{7,40}\b"
    r"|\w@\w+\.\w|(?<!\w)[!$]\d|:\w+:",
    re.IGNORECASE,
)


def raw_in_markdown(text: str, own_markup: re.Pattern[str]) -> list[str]:
    """For Markdown in which all HTML that is ours matches ``own_markup``; code is not looked at."""
    faults = raw_characters(text)
    for token in _tokens(text):
        if token.type in {"image", "link_open"}:
            faults.append(f"{token.type} {token.attrs}")
        elif token.type in {"html_block", "html_inline"}:
            left = own_markup.sub("", token.content)
            faults += [_around(left, found.start()) for found in re.finditer("[<>]", left)]
            faults += _links(html.unescape(left))
        elif token.type == "text":
            faults += _links(token.content)
    return faults


def _links(shown: str) -> list[str]:
    return [_around(shown, found.start()) for found in _LINKED.finditer(shown)]


def _tokens(text: str) -> Iterator[Any]:
    for block in MarkdownIt("commonmark").enable("table").parse(text):
        yield block
        yield from block.children or ()
