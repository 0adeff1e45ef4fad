"""Rewind and redo from the page: the consequence first, then the deed."""

import json

import httpx
import pytest
from playwright.sync_api import Route, expect

from tests.api.batches import started
from tests.page.reader import Reader
from tests.page.talk import add, talk, worked


@pytest.fixture
def chat(client: httpx.Client) -> str:
    """Three turns: 16 events, 12 messages."""
    talk(client, "chat", 3, title="Three turns")
    return "chat"


def version_of(client: httpx.Client, session: str = "chat") -> int:
    version: int = client.get(f"/sessions/{session}").json()["head"]["version"]
    return version


def test_a_rewind_tells_what_it_takes_out_and_does_nothing_until_it_is_confirmed(
    reader: Reader, client: httpx.Client, chat: str
) -> None:
    reader.open(chat)
    reader.until_live()

    reader["#rewind"].click()
    expect(reader.dialog).to_contain_text("It takes out 1 turn with 4 messages.")
    expect(reader.dialog.locator("textarea")).to_have_value("Question 3?")
    reader.dialog.get_by_label("Turns to take out").fill("2")
    expect(reader.dialog).to_contain_text("It takes out 2 turns with 8 messages.")
    expect(reader.dialog.locator("textarea")).to_have_value("Question 2?")
    reader.dialog.get_by_role("button", name="Cancel").click()
    assert version_of(client) == 16

    reader.press("r")
    reader.confirm("Rewind")
    expect(reader.dialog).to_contain_text("It took out 1 turn with 4 messages.")
    expect(reader.dialog.locator("textarea")).to_have_value("Question 3?")
    reader.close()
    reader.at(17, 17)
    expect(reader[".event"].last).to_contain_text("history-rewound")
    expect(reader[".message"]).to_have_count(8)


def test_a_redo_brings_back_what_was_rewound(reader: Reader, chat: str) -> None:
    reader.open(chat)
    reader.until_live()
    reader["#rewind"].click()
    reader.confirm("Rewind")
    reader.close()
    expect(reader[".message"]).to_have_count(8)

    reader["#redo"].click()
    expect(reader.dialog).to_contain_text("It brings back 1 turn with 4 messages.")
    reader.confirm("Redo")
    expect(reader.dialog).to_contain_text("It brought back 1 turn with 4 messages.")
    reader.close()

    reader.at(18, 18)
    expect(reader[".message"]).to_have_count(12)
    reader.press("u")
    expect(reader.dialog.locator(".problem")).to_be_visible()
    expect(reader.dialog.get_by_role("button", name="Redo")).to_be_disabled()


def test_a_rewind_goes_to_before_a_message_and_to_a_version(reader: Reader, chat: str) -> None:
    reader.open(chat)
    reader.until_live()
    question = reader[".message.user"].nth(1)
    question.hover()
    question.get_by_role("button", name="Rewind to before…").click()
    expect(reader.dialog).to_contain_text("It takes out 2 turns with 8 messages.")
    reader.dialog.get_by_role("button", name="Cancel").click()

    reader['.event [data-version="6"]'].click()
    reader["#rewind"].click()
    expect(reader.dialog).to_contain_text("Rewind to version 6")
    reader.confirm("Rewind")
    expect(reader.dialog).to_contain_text("It took out 2 turns with 8 messages.")
    reader.close()

    reader.at(17, 17)
    expect(reader[".message"]).to_have_count(4)


def test_a_version_inside_a_turn_is_refused_with_the_reason(reader: Reader, chat: str) -> None:
    reader.open(chat, "?at=4")

    reader["#rewind"].click()

    expect(reader.dialog.locator(".problem")).to_be_visible()
    expect(reader.dialog.get_by_role("button", name="Rewind", exact=True)).to_be_disabled()


def test_a_running_turn_is_interrupted_only_if_asked(
    reader: Reader, client: httpx.Client, chat: str
) -> None:
    add(client, chat, 2, started("t4", "Still running?"))
    reader.open(chat)
    reader.until_live()
    reader["#rewind"].click()
    expect(reader.dialog.locator(".problem")).to_contain_text("A turn has not ended")

    reader.dialog.get_by_label("Interrupt the turn").check()
    expect(reader.dialog).to_contain_text("It takes out 1 turn with 1 message.")
    reader.confirm("Rewind")

    expect(reader.dialog).to_contain_text("It took out 1 turn")
    reader.close()
    expect(reader[".message"]).to_have_count(12)


def test_nothing_is_rewound_that_went_on_since_it_was_looked_at(
    reader: Reader, client: httpx.Client, chat: str
) -> None:
    reader.open(chat)
    reader.until_live()
    reader["#rewind"].click()
    expect(reader.dialog).to_contain_text("1 turn with 4 messages")

    add(client, chat, 2, *worked(4))
    reader.confirm("Rewind")
    expect(reader.dialog.locator(".problem")).to_contain_text("The session moved on")
    assert version_of(client) == 21

    reader.dialog.get_by_role("button", name="Look again").click()
    expect(reader.dialog.locator("textarea")).to_have_value("Question 4?")
    reader.confirm("Rewind")
    expect(reader.dialog).to_contain_text("It took out")
    assert version_of(client) == 22


def test_what_a_server_cannot_do_yet_is_said_politely(reader: Reader, chat: str) -> None:
    body = {"type": "/problems/not-found", "title": "x", "status": 404, "code": "not-found"}

    def absent(route: Route) -> None:
        route.fulfill(status=404, content_type="application/problem+json", body=json.dumps(body))

    for path in ("redo", "diff", "lineage"):
        reader.page.route(f"**/{path}*", absent)
    reader.open(chat)

    reader["#redo"].click()
    expect(reader.dialog).to_contain_text("This server does not have this yet")
    reader.dialog.get_by_role("button", name="Cancel").click()
    expect(reader.pane("changes")).to_contain_text("This server does not have this yet")
    expect(reader.pane("status")).to_contain_text("This server does not have this yet")
    expect(reader["#pane-status"]).to_contain_text("Ready")
