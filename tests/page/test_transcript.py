"""The transcript: pages, parts, archived messages, and what is too long to be shown at once."""

import base64
import hashlib
import json

import httpx
import pytest
from playwright.sync_api import expect

from tests.api.batches import completed, event, said, started
from tests.page.reader import Reader
from tests.page.talk import add, recorded, talk


def test_earlier_messages_come_by_the_page(reader: Reader, client: httpx.Client) -> None:
    talk(client, "long", 60)
    reader.open("long")
    expect(reader[".message"]).to_have_count(50)
    assert reader.asked("/transcript") == [{"order": "desc", "limit": "50"}]

    for shown in (100, 150, 200, 240):
        reader["#messages"].get_by_role("button", name="Earlier messages").click()
        expect(reader[".message"]).to_have_count(shown)

    expect(reader[".message"].first).to_contain_text("Question 1?")
    expect(reader[".message"].last).to_contain_text("Answer 60.")
    expect(reader["#messages"].get_by_role("button", name="Earlier messages")).to_have_count(0)


def test_no_more_than_some_pages_are_kept_and_the_later_ones_come_back(
    reader: Reader, client: httpx.Client
) -> None:
    talk(client, "long", 115)
    reader.open("long")
    earlier = reader["#messages"].get_by_role("button", name="Earlier messages")
    for shown in (100, 150, 200, 250, 300, 350, 400):
        earlier.click()
        expect(reader[".message"]).to_have_count(shown)
    earlier.click()
    expect(reader[".message"].first).to_contain_text("file-3")

    expect(reader[".message"]).to_have_count(400)
    reader["#messages"].get_by_role("button", name="Later messages").click()
    expect(reader[".message"].last).to_contain_text("Answer 115.")
    expect(reader[".message"]).to_have_count(400)


def test_a_call_shows_its_arguments_and_its_result_when_it_is_opened(
    reader: Reader, client: httpx.Client
) -> None:
    talk(client, "chat", 1)
    reader.open("chat")
    call, result = reader[".message"].nth(1), reader[".message"].nth(2)
    expect(call.locator("summary")).to_contain_text("bash")
    expect(call.locator(".chip")).to_have_text("completed")

    call.locator("summary").click()
    result.locator("summary").click()

    expect(call.locator(".code")).to_have_text('{\n  "command": "ls 1"\n}')
    expect(result.locator(".code")).to_have_text("file-1")


def test_numbers_are_shown_as_they_were_recorded(reader: Reader, client: httpx.Client) -> None:
    talk(client, "chat", 1)
    numbers = '{"whole": 12345678901234567890123, "one": 1.0, "small": 1e-7}'
    body = {
        "producer": {"id": "runner", "epoch": 1, "sequence": 2},
        "events": [
            started("t2"),
            {
                "type": "tool-call-requested",
                "data": {"turn_id": "t2", "tool_call_id": "n", "name": "sum", "arguments": "@"},
            },
        ],
    }
    text = json.dumps(body).replace('"@"', numbers)
    headers = {"Content-Type": "application/json"}
    recorded(client.post("/sessions/chat/events", content=text, headers=headers))
    reader.open("chat")

    reader[".message"].last.locator("summary").click()

    expect(reader[".message .code"]).to_have_text(
        '{\n  "whole": 12345678901234567890123,\n  "one": 1.0,\n  "small": 1e-7\n}'
    )
    expect(reader.pane("event").locator("pre")).to_contain_text("12345678901234567890123")


@pytest.fixture
def compacted(client: httpx.Client) -> str:
    """Two turns, of which the first was summarised away."""
    talk(client, "chat", 2)
    compaction = event(
        "history-compacted", summary="They counted files.", through_message_id="t1:2"
    )
    messages = client.get("/sessions/chat/transcript").json()["items"]
    compaction["data"]["through_message_id"] = messages[3]["message_id"]
    add(client, "chat", 2, compaction)
    return "chat"


def test_archived_messages_are_shown_when_asked_for(reader: Reader, compacted: str) -> None:
    reader.open(compacted)
    expect(reader[".message"]).to_have_count(5)
    expect(reader[".message"].first).to_contain_text("They counted files.")
    expect(reader[".message"].first.locator(".role")).to_have_text("summary")

    reader["#show-archived"].check()
    expect(reader[".message"]).to_have_count(9)
    expect(reader[".message.archived"]).to_have_count(4)
    expect(reader[".message.archived"].first.locator(".chip")).to_have_text("archived")
    assert "show=archived" in reader.page.url
    reader.press("a")
    expect(reader[".message"]).to_have_count(5)
    expect(reader["#show-archived"]).not_to_be_checked()
    reader.page.go_back()
    expect(reader[".message"]).to_have_count(9)


def test_before_a_compaction_everything_is_live(reader: Reader, compacted: str) -> None:
    reader.open(compacted)

    reader.press("ArrowLeft")

    expect(reader[".message"]).to_have_count(8)
    expect(reader[".message.live"]).to_have_count(8)


def test_a_long_text_is_cut_until_all_of_it_is_asked_for(
    reader: Reader, client: httpx.Client
) -> None:
    talk(client, "chat", 1)
    text = "word " * 4_000
    add(client, "chat", 2, started("t2"), said("t2", text), completed("t2"))
    reader.open("chat")
    message = reader[".message"].last
    assert len(message.inner_text()) < 7_000

    message.get_by_role("button", name="Show all 20,000 characters").click()

    expect(message.locator(".text")).to_have_text(text.strip())


def test_what_is_kept_beside_the_log_can_be_saved(reader: Reader, client: httpx.Client) -> None:
    talk(client, "chat", 1)
    output = "line\n" * 40_000
    picture = base64.b64encode(b"not really a picture").decode()
    attachment = {
        "type": "attachment",
        "attachment_id": "a1",
        "media_type": "image/png",
        "filename": "<img src=x>.png",
        "data": picture,
    }
    question = {"turn_id": "t2", "messages": [{"role": "user", "content": [attachment]}]}
    add(client, "chat", 2, event("turn-started", **question), said("t2", output), completed("t2"))
    reader.open("chat")

    file = reader[".message"].nth(4).locator("a")
    expect(file).to_have_text("<img src=x>.png (image/png, 20 bytes)")
    with reader.page.expect_download() as download:
        file.click()
    assert download.value.path().read_bytes() == b"not really a picture"

    rest = reader[".message"].last.locator("a")
    expect(rest).to_have_text("The whole of it: 200,000 bytes")
    with reader.page.expect_download() as download:
        rest.click()
    found = download.value.path().read_bytes()
    assert hashlib.sha256(found).digest() == hashlib.sha256(output.encode()).digest()


def test_the_event_is_shown_raw_and_the_status_with_its_reasons(
    reader: Reader, client: httpx.Client
) -> None:
    talk(client, "chat", 1)
    reader.open("chat", "?at=5")

    raw = reader.pane("event")
    expect(raw.locator("h2")).to_have_text("Version 5: message-recorded")
    shown = json.loads(raw.locator("pre").inner_text())
    assert shown == client.get("/sessions/chat/events/5").json()
    reader.press("ArrowLeft")
    expect(raw.locator("h2")).to_have_text("Version 4: tool-call-completed")

    status = reader.pane("status")
    expect(status).to_contain_text("Not ready")
    expect(status).to_contain_text("turn-running: turn t1 has not ended")
    expect(status).to_contain_text("t1, running")
    expect(status).to_contain_text("3 in sight, 0 archived, 3 ever")
    fingerprint = client.get("/sessions/chat/fingerprint", params={"at": 4}).json()
    expect(status).to_contain_text(fingerprint["history"])
    reader.press("End")
    expect(status).to_contain_text("Ready: a client may send its newest message alone.")
