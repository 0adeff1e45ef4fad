"""Which Chromium do the tests of the page run in?

The one that `TURNLOG_TEST_CHROMIUM` names, else one that the system has, else playwright's own.
`.ci/browser` installs one where there is none.
"""

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FLAGS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-gpu",
    "--no-first-run",
)
MISSING = "there is no Chromium to test the page in; run: .ci/browser"


def executable(playwright: Playwright) -> str | None:
    """Return the path of a Chromium, or None."""
    if named := os.environ.get("TURNLOG_TEST_CHROMIUM"):
        return named
    for name in NAMES:
        if found := shutil.which(name):
            return found
    own = playwright.chromium.executable_path
    return own if Path(own).exists() else None


@contextmanager
def chromium() -> Generator[Browser]:
    """Give a Chromium; without one the test is skipped, but where everything has to be tested."""
    with sync_playwright() as playwright:
        path = executable(playwright)
        if path is None:
            if os.environ.get("CI"):
                pytest.fail(MISSING)
            pytest.skip(MISSING)
        # Its sandbox does not start for root.
        flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        try:
            yield browser
        finally:
            browser.close()
