"""A reader of the page: opens it, looks, presses, and notes whatever the browser complains of."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Dialog,
    Locator,
    Page,
    Request,
    ViewportSize,
    expect,
)

WIDE: ViewportSize = {"width": 1280, "height": 800}
NARROW: ViewportSize = {"width": 360, "height": 640}
PATIENCE_MS = 60_000
REFUSED = "Failed to load resource"
"""What Chromium itself writes of an answer that is a problem, which some tests want."""


@dataclass(slots=True)
class Reader:
    """Somebody with a browser.

    Attributes:
        complaints: What the console and the page's own errors said, and dialogs that opened.
        requests: The path and the query of everything that was asked of the API, in order.
    """

    page: Page
    url: str
    project: str
    complaints: list[str] = field(default_factory=list[str])
    requests: list[str] = field(default_factory=list[str])

    def open(self, session: str | None = None, query: str = "") -> None:
        """Open the list, or a session, and wait until it is there."""
        path = "" if session is None else f"/{session}"
        self.page.goto(f"{self.url}/#/{self.project}{path}{query}")
        if session is not None:
            expect(self["#scrub-label"]).to_contain_text("version")

    def __getitem__(self, selector: str) -> Locator:
        """Return what a selector finds."""
        return self.page.locator(selector)

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            self.page.keyboard.press(key)

    def pane(self, name: str) -> Locator:
        """Open a pane by its tab, and return it."""
        self[f"#tab-{name}"].click()
        return self[f"#pane-{name}"]

    def until_live(self) -> None:
        """Wait until the session is followed."""
        expect(self["#live"]).to_have_attribute("data-state", "live")

    @property
    def dialog(self) -> Locator:
        """Return the dialog that asks before anything is done."""
        return self["dialog"]

    def confirm(self, name: str) -> None:
        """Do what the dialog has told the consequence of."""
        button = self.dialog.get_by_role("button", name=name, exact=True)
        expect(button).to_be_enabled()
        button.click()

    def close(self) -> None:
        """Close the dialog after it has told what was done."""
        self.dialog.get_by_role("button", name="Close").click()
        expect(self.dialog).to_be_hidden()

    def at(self, version: int, last: int) -> None:
        """Expect to be at a version."""
        expect(self["#scrub-label"]).to_have_text(
            re.compile(rf"^version {version:,} of {last:,}(: now)?$")
        )

    def asked(self, path: str) -> list[dict[str, str]]:
        """Return the queries of what was asked under a path of the session."""
        split = [urlsplit(request) for request in self.requests]
        return [
            {name: values[0] for name, values in parse_qs(url.query).items()}
            for url in split
            if url.path.endswith(path)
        ]


@contextmanager
def reading(
    browser: Browser,
    url: str,
    project: str,
    viewport: ViewportSize = WIDE,
    *,
    dark: bool = False,
) -> Generator[Reader]:
    """Give a reader with a browser of its own; it must have had nothing to complain of."""
    context = browser.new_context(
        viewport=viewport,
        color_scheme="dark" if dark else "light",
        locale="en-US",
        timezone_id="UTC",
    )
    context.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    page = context.new_page()
    reader = Reader(page, url, project)

    def console(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not message.text.startswith(REFUSED):
            reader.complaints.append(message.text)

    def dialog(dialog: Dialog) -> None:
        reader.complaints.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def request(request: Request) -> None:
        if "/v1/" in request.url:
            reader.requests.append(request.url)

    page.on("console", console)
    page.on("pageerror", lambda error: reader.complaints.append(str(error)))
    page.on("dialog", dialog)
    page.on("request", request)
    try:
        yield reader
    finally:
        context.close()
    assert reader.complaints == []
