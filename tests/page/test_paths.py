"""Why a turn was warm or cold: asked at its message, and seen among the events."""

import httpx
from playwright.sync_api import expect

from tests.api.harnesses import cold, let_go, told, warm
from tests.page.reader import Reader


def test_a_turns_message_tells_why_it_was_warm_or_cold(
    reader: Reader, client: httpx.Client
) -> None:
    told(client, "chat", 1, *cold("t1", reason="no-seat"), *warm("t2"), let_go())
    reader.open("chat")
    first, second = reader[".message.user"].nth(0), reader[".message.user"].nth(1)
    assert reader.asked("/turns/t1/explain") == []

    for message in (first, second):
        message.hover()
        message.get_by_role("button", name="Warm or cold?").click()

    expect(first.locator(".why .chip")).to_have_text(["cold", "no-seat"])
    expect(first.locator(".why")).to_contain_text("no harness was parked for the session")
    expect(second.locator(".why .chip.good")).to_have_text("warm")
    expect(reader[".message.assistant"].get_by_role("button", name="Warm or cold?")).to_have_count(
        0
    )


def test_events_of_harnesses_say_what_became_of_them(reader: Reader, client: httpx.Client) -> None:
    told(client, "chat", 1, *cold("t1", reason="no-seat"), *warm("t2"), let_go())
    reader.open("chat")
    events = reader["#events"]
    for words in ("cold: no-seat", "for the next turn", "expire"):
        expect(events).to_contain_text(words)
