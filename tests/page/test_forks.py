"""Forks from the page, and whom a session is related to."""

import httpx
import pytest
from playwright.sync_api import expect

from tests.page.reader import Reader
from tests.page.talk import add, talk, worked


@pytest.fixture
def chat(client: httpx.Client) -> str:
    """Three turns: 16 events, 12 messages."""
    talk(client, "chat", 3, title="Three turns")
    return "chat"


def test_a_fork_tells_what_it_begins_with_and_opens_when_it_is_made(
    reader: Reader, client: httpx.Client, chat: str
) -> None:
    reader.open(chat)
    reader.until_live()
    reader["#fork"].click()
    expect(reader.dialog).to_contain_text("everything up to version 16")
    reader.dialog.get_by_role("button", name="Cancel").click()
    assert len(client.get("/sessions").json()["items"]) == 1

    reader.press("f")
    reader.dialog.get_by_label("Title of the new session").fill("Another way")
    reader.confirm("Fork")

    expect(reader["#session-title"]).to_have_text("Another way")
    reader.at(17, 17)
    expect(reader[".message"]).to_have_count(12)
    expect(reader[".event"].last).to_contain_text("session-forked")
    expect(reader[".event"].last).to_contain_text("of chat at version 16")
    expect(reader.dialog).to_be_hidden()


def test_a_fork_begins_after_a_turn_or_at_a_version(reader: Reader, chat: str) -> None:
    reader.open(chat)
    question = reader[".message.user"].first
    question.hover()
    question.get_by_role("button", name="Fork after its turn…").click()
    expect(reader.dialog).to_contain_text("everything up to turn t1")
    reader.confirm("Fork")
    expect(reader["#session-title"]).to_have_text("Three turns (2)")
    expect(reader[".message"]).to_have_count(4)

    reader.open(chat, "?at=11")
    reader["#fork"].click()
    reader.confirm("Fork")
    expect(reader["#session-title"]).to_have_text("Three turns (3)")
    expect(reader[".message"]).to_have_count(8)


def test_a_fork_is_stepped_through_from_its_parents_beginning(reader: Reader, chat: str) -> None:
    reader.open(chat)
    reader["#fork"].click()
    reader.confirm("Fork")
    reader.at(17, 17)

    reader.press("Home")
    reader.at(1, 17)
    reader.press("ArrowRight")
    reader.at(2, 17)
    expect(reader[".message .text"]).to_have_text(["Question 1?"])
    expect(reader['.event [aria-current="true"] .version']).to_have_text("2")
    assert reader[".event .version"].all_inner_texts() == [str(n) for n in range(1, 18)]
    reader["#types"].select_option("turns")
    expect(reader[".event .version"]).to_have_text(["2", "6", "7", "11", "12", "16"])
    expect(reader.pane("event").locator("h2")).to_have_text("Version 2: turn-started")
    expect(reader.pane("changes").locator(".line.added").last).to_contain_text("Question 1?")


def test_a_fork_of_a_fork_is_read_by_pages_through_all_of_them(
    reader: Reader, client: httpx.Client
) -> None:
    talk(client, "first", 50)
    for parent, child, sequence in (("first", "second", 1), ("second", "third", 1)):
        fork = client.post(f"/sessions/{parent}/fork", json={"session_id": child})
        assert fork.status_code == 201, fork.text
        add(client, child, sequence, *worked(50 + len(child)))
    reader.open("third")
    last = client.get("/sessions/third").json()["head"]["version"]
    reader.at(last, last)
    expect(reader[".event"]).to_have_count(100)

    for shown_then in (200, last):
        reader["#events"].get_by_role("button", name="Earlier events").click()
        expect(reader[".event"]).to_have_count(shown_then)
    shown = reader[".event .version"].all_inner_texts()
    assert shown == [str(version) for version in range(1, last + 1)]

    reader.open("third", "?at=30")
    reader.page.reload()
    expect(reader[".event .version"].last).to_have_text("80")
    for version in (180, last):
        reader["#events"].get_by_role("button", name="Later events").click()
        expect(reader[".event .version"].last).to_have_text(str(version))
    assert reader[".event .version"].all_inner_texts() == [str(n) for n in range(1, last + 1)]


def test_what_a_deleted_parent_had_is_still_read(
    reader: Reader, client: httpx.Client, chat: str
) -> None:
    assert client.post(f"/sessions/{chat}/fork", json={"session_id": "fork"}).status_code == 201
    assert client.delete(f"/sessions/{chat}").status_code == 204

    reader.open("fork")

    reader.at(17, 17)
    expect(reader[".message"]).to_have_count(12)
    expect(reader[".event .version"]).to_have_text(["17"])
    reader.press("Home")
    expect(reader["#messages"]).to_contain_text("Nothing had been said yet.")


def test_a_session_and_its_forks_lead_to_each_other(
    reader: Reader, client: httpx.Client, chat: str
) -> None:
    reader.open(chat)
    reader["#fork"].click()
    reader.confirm("Fork")
    expect(reader["#session-title"]).to_have_text("Three turns (2)")

    reader.pane("status").get_by_role("link", name="Three turns", exact=True).click()
    expect(reader["#session-title"]).to_have_text("Three turns")
    reader.until_live()
    add(client, chat, 2, *worked(4))
    reader.at(21, 21)
    reader.pane("status").get_by_role("link", name="Three turns (2)").click()
    expect(reader["#session-title"]).to_have_text("Three turns (2)")
    reader.at(17, 17)
