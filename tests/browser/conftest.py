"""A browser in; pages that are opened in it and whatever goes wrong there, out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Violations of the policy that scripts could not see, and signs that a text was run.
_WATCH: Final = """
window.__violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.__violations.push(`${event.violatedDirective} ${event.blockedURI}`);
});
"""


@dataclass(slots=True)
class Watched:
    """A page and what a person should never see of it."""

    page: Page
    url: str
    scripted: bool
    is_checked: bool = True
    faults: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Nothing went wrong, was asked for elsewhere, or ran."""
        if self.scripted:
            assert self.page.evaluate("window.__pwned") is None
            assert self.page.evaluate("window.__violations") == []
        assert self.faults == []


def browser_path() -> str | None:
    """The browser that is installed; the environment's CHROMIUM names another."""
    found = (shutil.which(name) for name in (os.environ.get("CHROMIUM", ""), *_NAMES))
    return next((path for path in found if path), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    path = browser_path()
    assert path is not None, "no Chromium; make browser says how to install it"
    with sync_playwright() as playwright:
        # Root has no sandbox; the pages are our own.
        launched = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a file in a window of its own; the test fails when anything went wrong in it."""
    opened: list[Watched] = []

    def open_in_window(
        path: Path, *, width: int = 1280, height: int = 900, checked: bool = True, **options: Any
    ) -> Page:
        size = {"width": width, "height": height}
        # Clicks wait for what still scrolls.
        context = browser.new_context(viewport=size, reduced_motion="reduce", **options)
        context.set_default_timeout(20_000)
        context.add_init_script(_WATCH)
        watched = _watched(context.new_page(), path, options.get("java_script_enabled", True))
        opened.append(watched)
        watched.is_checked = checked
        watched.page.goto(watched.url)
        return watched.page

    yield open_in_window
    for watched in opened:
        if watched.is_checked:
            watched.check()
        watched.page.context.close()


def _watched(page: Page, path: Path, scripted: bool) -> Watched:
    watched = Watched(page, path.as_uri(), scripted)
    add = watched.faults.append

    def asked(url: str) -> None:
        if url.split("#")[0] != watched.url:
            add(f"request {url}")

    page.on("console", lambda message: add(f"console {message.type}: {message.text}"))
    page.on("pageerror", lambda error: add(f"error: {error}"))
    page.on("request", lambda request: asked(request.url))
    page.on("popup", lambda popup: add(f"popup {popup.url}"))
    page.on("download", lambda download: add(f"download {download.url}"))

    def refuse(dialog: Any) -> None:
        add(f"dialog {dialog.message}")
        dialog.dismiss()

    page.on("dialog", refuse)
    return watched


@dataclass(frozen=True, slots=True)
class Pages:
    """Reports that several tests look at, each made once."""

    handbook: Path
    grounded: Path
    compared: Path
    generated: Path
    hostile: Path


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    from tests.browser import report_pages as made
    from tests.hostile_samples import hostile_samples

    folder = tmp_path_factory.mktemp("pages")
    old, grounded = folder / "old.json", ("--profile", "grounded")
    made.written(folder / "old.html", made.HANDBOOK, *grounded, "--output", str(old))
    sliced = ("--slice-by", "topic")
    changed = made.write_rows(folder / "new.jsonl", made.changed_rows(made.HANDBOOK))
    rows = made.write_rows(folder / "rows.jsonl", made.generated_rows(5_000))
    hostile = made.write_rows(folder / "hostile.jsonl", hostile_samples())
    against = ("--baseline", str(old))
    return Pages(
        handbook=made.written(folder / "handbook.html", made.HANDBOOK),
        grounded=made.written(folder / "grounded.html", made.HANDBOOK, *grounded, *sliced),
        compared=made.written(folder / "compared.html", changed, *grounded, *sliced, *against),
        generated=made.written(folder / "generated.html", rows, *grounded, *sliced),
        hostile=made.written(folder / "hostile.html", hostile, *grounded, "--slice-by", "kind"),
    )
