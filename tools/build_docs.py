"""Builds the site of the documentation.  In: docs/ and what it links to.  Out: build/site.

    python tools/build_docs.py

Pages link to files beside docs/, which work in the repository; the site has copies of them. The
site is then walked: every link inside it leads somewhere, and nothing is loaded from elsewhere.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = ROOT / "build" / "docs"
SITE = ROOT / "build" / "site"
# Beside these a page links to no file that people read on the site.
_COPIED = (".md",)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#)([^)\s]+)\)")
_FENCED = re.compile(r"(^ *(?:```|~~~).*?^ *(?:```|~~~) *$)", re.DOTALL | re.MULTILINE)
# What the theme's script would fetch for diagrams, lightboxes and editors, had a page any.
_FETCHED = re.compile(r"https://(?:unpkg\.com|cdn\.jsdelivr\.net)/[^\"'`\s)]*")
_LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src"}
_CSS_URL = re.compile(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^\"')]+")


def stage() -> None:
    """Copy docs/ and the pages that it links to, with links that hold where the copies lie."""
    shutil.rmtree(PAGES, ignore_errors=True)
    waiting = sorted(path for path in DOCS.rglob("*") if path.is_file())
    seen: set[Path] = set()
    while waiting:
        source = waiting.pop()
        if source in seen:
            continue
        seen.add(source)
        target = PAGES / _place(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix != ".md":
            shutil.copyfile(source, target)
            continue
        text, linked = _relinked(source)
        target.write_text(text, "utf-8")
        waiting += linked


def _place(source: Path) -> Path:
    """Where a file of the repository lies on the site."""
    if source.is_relative_to(DOCS):
        return source.relative_to(DOCS)
    inside = source.relative_to(ROOT)
    return Path("readme.md") if inside == Path("README.md") else inside


def _relinked(source: Path) -> tuple[str, list[Path]]:
    """A page with links to the copies, and the pages beside docs/ that it links to."""
    linked: list[Path] = []

    def link(match: re.Match[str]) -> str:
        mark, words, target = match.groups()
        name, hash_mark, heading = target.partition("#")
        found = (source.parent / unquote(name)).resolve()
        if found.is_relative_to(DOCS):
            kept = True
        else:
            kept = found.suffix in _COPIED and found.is_file() and found.is_relative_to(ROOT)
            if kept:
                linked.append(found)
            elif not found.exists():
                kept = True  # the build says what is broken
        if not kept:
            return words
        if not found.is_relative_to(ROOT):
            return match[0]
        path = posixpath.relpath(_place(found).as_posix(), _place(source).parent.as_posix())
        return f"{mark}[{words}]({path}{hash_mark}{heading})"

    parts = _FENCED.split(source.read_text("utf-8"))
    parts[::2] = [_LINK.sub(link, part) for part in parts[::2]]
    return "".join(parts), linked


def build() -> None:
    """Build the site from the copies; a warning is an error."""
    shutil.rmtree(SITE, ignore_errors=True)
    zensical = Path(sys.executable).with_name("zensical")
    done = subprocess.run(
        [zensical, "build", "--strict", "--clean"],
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or not (SITE / "index.html").exists():
        sys.exit(f"{done.stdout}{_without_traceback(done.stderr)}")
    for script in SITE.rglob("*.js"):
        script.write_text(_FETCHED.sub("", script.read_text("utf-8")), "utf-8")


def _without_traceback(text: str) -> str:
    return text.partition("Traceback (most recent call last)")[0] or text


class _Page(HTMLParser):
    """The anchors of a page, where it links to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and values.get("rel") not in ("canonical", "next", "prev"):
            self.loads.append(values.get("href", ""))
        if tag in _LOADING:
            self.loads.append(values.get(_LOADING[tag], ""))
        self.loads += _CSS_URL.findall(values.get("style", ""))


def faults(site: Path) -> list[str]:
    """Links of a site that lead nowhere inside it, and what it would load from elsewhere."""
    pages = {
        path.resolve(): _Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))
    }
    found = [
        f"{path.relative_to(site)}: {fault}"
        for path, page in pages.items()
        if path.name != "404.html"  # its links are from the root of the site
        for fault in _faults_of(path, page, pages)
    ]
    for sheet in sorted([*site.rglob("*.css"), *site.rglob("*.svg")]):
        found += [f"{sheet.name} loads {url}" for url in _CSS_URL.findall(sheet.read_text("utf-8"))]
    for script in sorted(site.rglob("*.js")):
        found += [
            f"{script.name} names {url}" for url in _FETCHED.findall(script.read_text("utf-8"))
        ]
    return found


def _faults_of(path: Path, page: _Page, pages: dict[Path, _Page]) -> list[str]:
    found = [f"loads {url}" for url in page.loads if urlsplit(url).netloc]
    for link in [*page.links, *(url for url in page.loads if url)]:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        target = target / "index.html" if target.is_dir() else target
        heading = unquote(parts.fragment)
        if not target.exists():
            found.append(f"no file for {link}")
        elif target in pages and heading and heading not in pages[target].anchors:
            found.append(f"no anchor for {link}")
    return found


def main() -> int:
    """Build and walk; 1 where something is broken."""
    stage()
    build()
    found = faults(SITE)
    print("\n".join(found) or f"{len(list(SITE.rglob('*.html')))} pages in {SITE}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
