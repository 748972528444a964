"""A browser in; pages that are opened in it and whatever goes wrong there, out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import pytest

from tests.browser.report_pages import Pages

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Violations of the policy that scripts could not see, and signs that a text was run.
_WATCH: Final = """
window.__violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.__violations.push(`${event.violatedDirective} ${event.blockedURI}`);
});
"""
# Rows are unpacked after the page is there.
_READY: Final = """() => document.documentElement.classList.contains("ready")
  || !document.getElementById("row-table")"""


@dataclass(slots=True)
class Window:
    """A page of the browser in which files are opened, and what a person should never see of them.

    It serves one test after the other: another one would cost a second of processor time.
    """

    page: Page
    scripted: bool
    url: str = ""
    n_opened: int = 0
    faults: list[str] = field(default_factory=list)

    def open(
        self, path: Path, size: tuple[int, int], colours: Literal["light", "dark"], fragment: str
    ) -> None:
        """Load a file, after what was opened before it is known to be in order."""
        self.check()
        self.n_opened += 1
        # Of an address of its own the browser restores nothing.
        self.url = f"{path.as_uri()}?{self.n_opened}"
        width, height = size
        self.page.set_viewport_size({"width": width, "height": height})
        # Clicks wait for what still scrolls.
        self.page.emulate_media(media="screen", color_scheme=colours, reduced_motion="reduce")
        self.page.goto(f"{self.url}#{fragment}" if fragment else self.url)
        if self.scripted:
            self.page.wait_for_function(_READY)

    def check(self) -> None:
        """Nothing went wrong, was asked for elsewhere, or ran."""
        found: list[Any] = [None, []]
        if self.scripted and self.url:
            found = self.page.evaluate("[window.__pwned, window.__violations]")
        faults = self.faults.copy()
        self.url = ""
        self.faults.clear()
        assert (*found, faults) == (None, [], [])

    def watch(self) -> None:
        """Note from now on what the page says, asks for, and opens."""
        add, page = self.faults.append, self.page

        def asked(url: str) -> None:
            if url.split("#")[0] != self.url:
                add(f"request {url}")

        def refuse(dialog: Any) -> None:
            add(f"dialog {dialog.message}")
            dialog.dismiss()

        page.on("console", lambda message: add(f"console {message.type}: {message.text}"))
        page.on("pageerror", lambda error: add(f"error: {error}"))
        page.on("request", lambda request: asked(request.url))
        page.on("popup", lambda popup: add(f"popup {popup.url}"))
        page.on("download", lambda download: add(f"download {download.url}"))
        page.on("dialog", refuse)


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


def new_window(browser: Browser, **options: Any) -> Window:
    context = browser.new_context(**options)
    context.set_default_timeout(20_000)
    context.add_init_script(_WATCH)
    window = Window(context.new_page(), options.get("java_script_enabled", True))
    window.watch()
    return window


@pytest.fixture(scope="session")
def shared_window(browser: Browser) -> Window:
    return new_window(browser)


@pytest.fixture
def open_page(browser: Browser, shared_window: Window) -> Iterator[Callable[..., Page]]:
    """Opens a file; the test fails when anything went wrong in it.

    With ``options`` of a browser's context, or unchecked, it is opened in a window of its own.
    """
    used: list[Window] = []
    own: list[Window] = []

    def open_in_window(
        path: Path,
        *,
        width: int = 1280,
        height: int = 900,
        color_scheme: Literal["light", "dark"] = "light",
        checked: bool = True,
        fragment: str = "",
        **options: Any,
    ) -> Page:
        window = shared_window
        if options or not checked:
            window = new_window(browser, **options)
            own.append(window)
        if checked:
            used.append(window)
        window.open(path, (width, height), color_scheme, fragment)
        return window.page

    yield open_in_window
    for window in used:
        window.check()
    for window in own:
        window.page.context.close()


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    return Pages(tmp_path_factory.mktemp("pages"))
