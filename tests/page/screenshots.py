"""The pictures of docs/page.md: `python -m tests.page.screenshots` makes them anew."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import httpx
from playwright.sync_api import Browser, ViewportSize, expect

from tests.api.batches import Json, answered, called, completed, event, said, started
from tests.api.serving import Served, served
from tests.databases import SqliteDatabases
from tests.page.chromium import chromium
from tests.page.reader import NARROW, Reader, reading
from tests.page.talk import add, recorded

PICTURES: Final = Path(__file__).parents[2] / "docs" / "screenshots"
SCREEN: Final[ViewportSize] = {"width": 1200, "height": 840}
SESSION: Final = "release-2.4"
TITLES: Final = (
    ("notes-api", "Write the release notes of the API"),
    ("flaky-test", "Why does test_retry fail on Tuesdays?"),
    ("invoice-2291", "Invoice 2291 was paid twice"),
    ("search-index", "Index the handbook for search"),
)

CHATS: Final[Sequence[tuple[Json, str]]] = (
    (
        {
            "platform": "slack",
            "chat_type": "channel",
            "chat_id": "C024BE91L",
            "chat_name": "standup",
            "scope_id": "T024BE7LD",
            "user_id": "U7",
            "user_name": "Bob",
        },
        "What is left for the release",
    ),
    (
        {"platform": "whatsapp", "chat_id": "4915", "user_id": "4915", "user_name": "Carol"},
        "Invoice 2291 was paid twice",
    ),
    (
        {
            "platform": "telegram",
            "chat_type": "group",
            "chat_id": "-1002285219667",
            "chat_name": "Garden club",
            "thread_id": "17585",
            "user_id": "42",
            "user_name": "Alice",
        },
        "Which soil do roses like",
    ),
)
AUTHOR: Final[Json] = {"subject_id": "42", "display": "Alice"}


def main() -> None:
    """Record some sessions, and take the pictures."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        url = SqliteDatabases(Path(directory)).ready()
        with served("sqlite", url) as server, chromium() as browser:
            with server.client("default") as client:
                record(client)
            with server.client("chats") as client:
                record_lanes(client)
            take(browser, server)


def record(client: httpx.Client) -> None:
    """Record a session that went back once, and some others."""
    for session_id, title in TITLES:
        recorded(client.post("/sessions", json={"session_id": session_id, "title": title}))
        add(client, session_id, 1, started("t1", title), said("t1", "I am on it."), completed("t1"))
    opening = {"session_id": SESSION, "title": "Release 2.4 of the parcel service"}
    recorded(client.post("/sessions", json=opening))
    for sequence, turn in enumerate((_checked(), _rounded(), _changed_all()), start=1):
        add(client, SESSION, sequence, *turn)
    client.post(f"/sessions/{SESSION}/rewind", json={"turns": 1})
    add(client, SESSION, 4, *_changed_one())


def record_lanes(client: httpx.Client) -> None:
    """Record conversations of some chats; one is suspended, one runs, one was begun anew."""
    answers = [
        client.post("/lanes/resolve", json={"source": source, "open": {"title": title}}).json()
        for source, title in CHATS
    ]
    for answer, (source, title) in zip(answers, CHATS, strict=True):
        author = {"subject_id": source["user_id"], "display": source["user_name"]}
        asked = started("t1", f"{title}?", author=author)
        asked["data"] |= {"lane_id": answer["lane_id"], "reply_to": "1001"}
        events = (asked, said("t1", "I am on it."), completed("t1"))
        add(client, answer["session_id"], 1, *events)
    standup, bill, garden = (f"/lanes/{answer['lane_id']}" for answer in answers)
    client.patch(standup, json={"pinned": True})
    client.post(f"{bill}/suspend", json={"reason": "stuck"})
    anew = client.post(f"{garden}/reset", json={"open": {"title": "Who waters in August"}}).json()
    asked = started("t1", "Who waters in August?", author=AUTHOR)
    asked["data"] |= {"lane_id": answers[2]["lane_id"], "reply_to": "1002"}
    add(client, anew["session_id"], 1, asked)


def _checked() -> Sequence[Json]:
    return (
        started("t1", "Is everything in that we promised for 2.4? Look at the open issues."),
        called("t1", "c1", {"command": "issues list --milestone 2.4 --open"}),
        answered("t1", "c1", "#418  Prices are not rounded to the cent\n#421  Typo in the manual"),
        said("t1", "Two are open: #418, prices that are not rounded, and a typo in the manual."),
        event("usage-recorded", turn_id="t1", model="m-1", input_tokens=2140, output_tokens=96),
        completed("t1", stop_reason="end_turn", record_count=5),
    )


def _rounded() -> Sequence[Json]:
    return (
        started("t2", "Where are prices computed?"),
        called("t2", "c2", {"command": "grep -rn 'def price' src"}),
        answered("t2", "c2", "src/prices.py:12:def price(parcel: Parcel) -> Decimal:"),
        said("t2", "In src/prices.py, in `price`. It multiplies, and never rounds."),
        completed("t2", stop_reason="end_turn", record_count=4),
    )


def _changed_all() -> Sequence[Json]:
    return (
        started("t3", "Round every amount in the code base."),
        called("t3", "c3", {"command": "sed -i 's/Decimal(/cent(/' src/*.py"}),
        answered("t3", "c3", "214 files changed"),
        said("t3", "I changed 214 files."),
        completed("t3", stop_reason="end_turn", record_count=4),
    )


def _changed_one() -> Sequence[Json]:
    return (
        started("t4", "Round in `price` only, half up, and add a test."),
        called(
            "t4", "c4", {"path": "src/prices.py", "old": "total", "new": "total.quantize(CENT)"}
        ),
        answered("t4", "c4", "1 file changed"),
        called("t4", "c5", {"command": "pytest tests/test_prices.py"}),
        answered("t4", "c5", "4 passed in 0.12s"),
        said("t4", "`price` rounds half up now; the new test covers 0.005 and 1.015."),
        completed("t4", stop_reason="end_turn", record_count=6),
    )


def take(browser: Browser, server: Served) -> None:
    """Take the pictures."""
    with reading(browser, server.url, "default", SCREEN) as reader:
        reader.open()
        expect(reader["#sessions li"]).to_have_count(len(TITLES) + 1)
        shoot(reader, "sessions")
        _opened(reader, "?show=rewound")
        reader[".message.live .alternatives summary"].click()
        reader[".message.rewound"].first.scroll_into_view_if_needed()
        shoot(reader, "session")
        reader.press("r")
        expect(reader.dialog).to_contain_text("It takes out")
        shoot(reader, "rewind")
    with reading(browser, server.url, "default", SCREEN, dark=True) as reader:
        _opened(reader, "?at=18&pane=changes")
        expect(reader["#pane-changes .diff"]).not_to_be_empty()
        shoot(reader, "changes")
    with reading(browser, server.url, "chats", SCREEN) as reader:
        reader.open()
        expect(reader["#sessions li"]).to_have_count(len(CHATS))
        reader["#to-lanes"].click()
        expect(reader["#lanes li"]).to_have_count(len(CHATS))
        shoot(reader, "lanes")
    with reading(browser, server.url, "default", NARROW) as reader:
        _opened(reader, "?at=11")
        shoot(reader, "narrow")


def _opened(reader: Reader, query: str) -> None:
    reader.open(SESSION, query)
    reader.until_live()


def shoot(reader: Reader, name: str) -> None:
    """Take one picture."""
    reader.page.mouse.move(0, 0)
    reader.page.screenshot(path=PICTURES / f"{name}.png")


if __name__ == "__main__":
    main()
