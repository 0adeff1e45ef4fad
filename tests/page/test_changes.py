"""What an event changed, and what differs between two versions."""

import httpx
import pytest
from playwright.sync_api import Locator, expect

from tests.page.reader import Reader
from tests.page.talk import talk


@pytest.fixture
def chat(client: httpx.Client) -> str:
    """Two turns, of which the second was rewound: 12 events."""
    talk(client, "chat", 2)
    assert client.post("/sessions/chat/rewind", json={"turns": 1}).status_code == 200
    return "chat"


def lines(pane: Locator) -> list[str]:
    return [line.strip() for line in pane.locator(".line").all_inner_texts()]


def test_each_event_tells_what_it_changed(reader: Reader, chat: str) -> None:
    reader.open(chat, "?at=7")
    changes = reader.pane("changes")

    expect(changes.locator("h2")).to_have_text("Version 7: turn-started")
    expect(changes.locator(".line.added").last).to_contain_text("Question 2?")
    reader.press("ArrowRight", "ArrowRight", "ArrowRight")
    expect(changes.locator("h2")).to_have_text("Version 10: message-recorded")
    expect(changes.locator(".line.added")).to_contain_text("Answer 2.")
    reader.press("End")
    expect(changes.locator("h2")).to_have_text("Version 12: history-rewound")
    expect(changes.locator(".line.removed")).to_have_count(5)
    reader.press("Home")
    expect(changes).to_contain_text("The session began with this event.")


def test_a_step_asks_for_one_difference_and_nothing_else(reader: Reader, chat: str) -> None:
    reader.open(chat, "?at=7&pane=changes")
    reader.until_live()
    expect(reader["#pane-changes .line"].first).to_be_visible()

    reader.requests.clear()
    reader.press("ArrowLeft")
    expect(reader["#pane-changes h2"]).to_have_text("Version 6: turn-completed")
    expect(reader["#pane-changes .line"].first).to_be_visible()

    [only] = reader.requests
    assert "/diff?from=5&to=6" in only


def test_any_two_versions_are_compared(reader: Reader, client: httpx.Client, chat: str) -> None:
    reader.open(chat, "?at=6")
    compare = reader.pane("compare")
    expect(compare).to_contain_text("Choose two versions")

    compare.get_by_role("button", name="This one").first.click()
    reader.press("End")
    reader.at(12, 12)
    reader.press("k")
    reader.at(11, 12)
    compare.get_by_role("button", name="This one").last.click()
    compare.get_by_role("button", name="Compare").click()

    expect(compare.locator(".line.added").last).to_contain_text("Answer 2.")
    text = client.get(
        "/sessions/chat/diff", params={"from": 6, "to": 11}, headers={"Accept": "text/plain"}
    ).text
    assert lines(compare) == text.splitlines()
    assert "from=6&to=11" in reader.page.url

    compare.get_by_label("From version").fill("6")
    compare.get_by_label("to version").fill("6")
    compare.get_by_label("to version").press("Enter")
    expect(compare).to_contain_text("Nothing in sight differs between 6 and 6.")
    reader.page.go_back()
    expect(compare.locator(".line.added").last).to_contain_text("Answer 2.")
    expect(compare.get_by_label("From version")).to_have_value("6")


def test_a_comparison_with_a_version_that_is_not_there_is_refused(
    reader: Reader, chat: str
) -> None:
    reader.open(chat, "?pane=compare&from=1&to=99")

    expect(reader["#pane-compare .problem"]).to_contain_text("not at this version yet")
