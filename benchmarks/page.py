"""How long until a reader of the page sees where a session ended, and what does a step ask for?

A real server and a real Chromium on this machine, on SQLite; sessions of 10,000 and of 100 events.
The first screen is there when the last message, the last event and the version are. A step is one
version back; it may ask for one page of the transcript. `python benchmarks/page.py --help`.
"""

import argparse
import statistics
import sys
import tempfile
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Final

sys.path.insert(0, str(Path(__file__).parent.parent))

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from playwright.sync_api import Browser, Page, Response

    from tests.api.serving import Served, served
    from tests.databases import SqliteDatabases
    from tests.page.chromium import chromium
    from tests.page.talk import EVENTS_A_TURN, talk

FIRST_SCREEN_LIMIT_S: Final = 1.0
SIZES: Final = (100, 10_000)
STEPS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a step asked the API for."""

    requests: int
    transcript_pages: int
    content: int


@contextmanager
def new_page(browser: Browser) -> Generator[Page]:
    """Give an empty page of a reader who has not been here before."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto("about:blank")
    yield page
    context.close()


def first_screen(page: Page, url: str, last: int) -> float:
    """Return the seconds from asking for the address until the end of the session is visible."""
    began = perf_counter()
    page.goto(url, wait_until="commit")
    page.locator(".message").last.wait_for()
    page.locator(f'.event [aria-current="true"][data-version="{last}"]').wait_for()
    page.locator("#scrub-label", has_text=f"version {last:,} of").wait_for()
    return perf_counter() - began


def step(page: Page, version: int) -> Asked:
    """Go one version back, and return what it asked for."""
    answers: list[Response] = []

    def note(answer: Response) -> None:
        # A stream that begins has no end that could be waited for.
        if "/v1/" in answer.url and "/stream" not in answer.url:
            answers.append(answer)

    page.on("response", note)
    with page.expect_response(lambda answer: f"at={version}" in answer.url):
        page.keyboard.press("ArrowLeft")
    page.locator("#scrub-label", has_text=f"version {version:,} of").wait_for()
    page.wait_for_load_state("networkidle")
    page.remove_listener("response", note)
    return Asked(
        requests=len(answers),
        transcript_pages=sum("/transcript?" in answer.url for answer in answers),
        content=sum(len(answer.body()) for answer in answers),
    )


def measure(
    browser: Browser, server: Served, rounds: int
) -> tuple[dict[int, list[float]], dict[int, list[Asked]]]:
    """Return the seconds to the first screen and what steps asked for, by the session's size."""
    seconds: dict[int, list[float]] = {size: [] for size in SIZES}
    asked: dict[int, list[Asked]] = {size: [] for size in SIZES}
    lasts: dict[int, int] = {}
    with server.client("default") as client:
        for size in SIZES:
            lasts[size] = talk(client, f"events-{size}", size // EVENTS_A_TURN)
    for _ in range(rounds):
        for size in SIZES:
            url = f"{server.url}/#/default/events-{size}"
            with new_page(browser) as page:
                seconds[size].append(first_screen(page, url, lasts[size]))
                page.locator('#live[data-state="live"]').wait_for()
                asked[size] += [step(page, lasts[size] - n) for n in range(1, STEPS + 1)]
    return seconds, asked


def median(values: Sequence[float]) -> float:
    """Return the middle one."""
    return statistics.median(values)


def main() -> int:
    """Measure and print; return 1 if a limit does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        url = SqliteDatabases(Path(directory)).ready()
        with served("sqlite", url) as server, chromium() as browser:
            seconds, asked = measure(browser, server, options.rounds)
    print("| events | first screen, ms | worst, ms | requests a step | KiB a step |")
    print("|---|---|---|---|---|")
    for size in SIZES:
        steps = asked[size]
        print(
            f"| {size:,} | {median(seconds[size]) * 1_000:,.0f} "
            f"| {max(seconds[size]) * 1_000:,.0f} "
            f"| {max(each.requests for each in steps)} "
            f"| {median([each.content for each in steps]) / 1_024:.1f} |"
        )
    slow = median(seconds[SIZES[-1]]) > FIRST_SCREEN_LIMIT_S
    greedy = any(each.transcript_pages > 1 for steps in asked.values() for each in steps)
    return int(slow or greedy)


if __name__ == "__main__":
    sys.exit(main())
