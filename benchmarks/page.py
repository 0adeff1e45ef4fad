"""How long until a reader of the page sees where a session ended, and what does a step ask for?

A real server in a process of its own and a real Chromium on this machine, on SQLite; sessions of
100 and of 10,000 events, each read by a browser that was not here before. The first screen is there
when the last message, the last event and the version have been painted, counted from when the
browser set out. A step is one version back; it may ask for one page of the transcript.
`python benchmarks/page.py --help`.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
from answering import wait_for_server

ROOT: Final = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from playwright.sync_api import Browser, Page, Response

    from tests.page.chromium import chromium
    from tests.page.talk import EVENTS_A_TURN, talk

FIRST_SCREEN_LIMIT_MS: Final = 1_000
SIZES: Final = (100, 10_000)
STEPS: Final = 20
PORT: Final = 18_766
URL: Final = f"http://127.0.0.1:{PORT}"
PAINTED: Final = """
const there = () =>
  document.querySelector(".message") !== null &&
  document.querySelector('.event [aria-current="true"]') !== null &&
  document.getElementById("scrub-label").textContent.includes(" of ");
const look = () => {
  if (!there()) return requestAnimationFrame(look);
  // What was there before this frame has been painted before the next one.
  requestAnimationFrame(() => { document.documentElement.dataset.painted = performance.now(); });
};
requestAnimationFrame(look);
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a step asked the API for."""

    requests: int
    transcript_pages: int
    content: int


@contextmanager
def server() -> Generator[None]:
    """Run a server on a new database."""
    with tempfile.TemporaryDirectory() as directory:
        command = (sys.executable, "-m", "api.cli", "serve", "--port", str(PORT))
        variables = {"TURNLOG_DATABASE_URL": f"sqlite:///{directory}/page.db"}
        with subprocess.Popen(  # noqa: S603 - our own server
            command,
            cwd=ROOT,
            env={**os.environ, **variables},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                wait_for_server(PORT)
                yield
            finally:
                process.terminate()


@contextmanager
def new_page(browser: Browser) -> Generator[Page]:
    """Give an empty page of a reader who has not been here before."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.add_init_script(PAINTED)
    yield page
    context.close()


def first_screen(page: Page, session: str, last: int) -> float:
    """Return the milliseconds from setting out until the end of the session was painted."""
    page.goto(f"{URL}/#/default/{session}", wait_until="commit")
    page.locator("html[data-painted]").wait_for()
    page.locator("#scrub-label", has_text=f"version {last:,} of {last:,}").wait_for()
    page.locator(f'.event [aria-current="true"][data-version="{last}"]').wait_for()
    page.locator('#live[data-state="live"]').wait_for()
    return float(page.locator("html").get_attribute("data-painted") or "nan")


def step(page: Page, version: int) -> Asked:
    """Go one version back, and return what it asked for."""
    answers: list[Response] = []

    def note(answer: Response) -> None:
        if "/v1/" in answer.url:
            answers.append(answer)

    page.on("response", note)
    with page.expect_response(lambda answer: f"at={version}" in answer.url):
        page.keyboard.press("ArrowLeft")
    page.locator("#scrub-label", has_text=f"version {version:,} of").wait_for()
    page.evaluate("() => new Promise((done) => setTimeout(done, 200))")  # for what comes late
    page.remove_listener("response", note)
    return Asked(
        requests=len(answers),
        transcript_pages=sum("/transcript?" in answer.url for answer in answers),
        content=sum(int(answer.headers.get("content-length", 0)) for answer in answers),
    )


def measure(browser: Browser, rounds: int) -> tuple[dict[int, list[float]], dict[int, list[Asked]]]:
    """Return the milliseconds to the first screen, and what steps asked for, by size."""
    shown: dict[int, list[float]] = {size: [] for size in SIZES}
    asked: dict[int, list[Asked]] = {size: [] for size in SIZES}
    with httpx.Client(base_url=f"{URL}/v1/projects/default", timeout=60) as client:
        lasts = {size: talk(client, f"events-{size}", size // EVENTS_A_TURN) for size in SIZES}
    for _ in range(rounds):
        for size, last in lasts.items():
            with new_page(browser) as page:
                shown[size].append(first_screen(page, f"events-{size}", last))
                asked[size] += [step(page, last - back) for back in range(1, STEPS + 1)]
    return shown, asked


def main() -> int:
    """Measure and print; return 1 if a limit does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with server(), chromium() as browser:
        shown, asked = measure(browser, options.rounds)
    print("| events | first screen, ms | slowest, ms | requests a step | KiB a step |")
    print("|---|---|---|---|---|")
    for size in SIZES:
        steps = asked[size]
        print(
            f"| {size:,} | {statistics.median(shown[size]):,.0f} | {max(shown[size]):,.0f} "
            f"| {max(each.requests for each in steps)} "
            f"| {statistics.median(each.content for each in steps) / 1_024:.1f} |"
        )
    slow = statistics.median(shown[SIZES[-1]]) > FIRST_SCREEN_LIMIT_MS
    greedy = any(each.transcript_pages > 1 for steps in asked.values() for each in steps)
    return int(slow or greedy)


if __name__ == "__main__":
    sys.exit(main())
