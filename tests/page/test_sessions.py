"""The list of sessions: newest first, found by title, status and words, by the page."""

import re

import httpx
from playwright.sync_api import Route, expect

from tests.api.batches import append, batch, turn
from tests.page.reader import Reader
from tests.page.talk import talk


def titles(reader: Reader) -> list[str]:
    return reader["#sessions .title"].all_inner_texts()


def open_all(client: httpx.Client, *names: str) -> None:
    for name in names:
        body = {"session_id": name, "title": f"Title {name}"}
        assert client.post("/sessions", json=body).status_code == 201


def test_the_newest_activity_comes_first(reader: Reader, client: httpx.Client) -> None:
    open_all(client, "a", "b", "c")
    append(client, "a", batch(1, *turn("t1")))

    reader.open()

    expect(reader["#sessions .title"]).to_have_text(["Title a", "Title c", "Title b"])
    expect(reader["#sessions li"].first).to_contain_text("1 turn")
    expect(reader["#sessions li"].first).to_contain_text("2 messages")


def test_a_project_without_sessions_says_what_to_do(reader: Reader) -> None:
    reader.open()

    expect(reader["#sessions"]).to_contain_text("There is no session yet")


def test_sessions_are_found_by_their_title(reader: Reader, client: httpx.Client) -> None:
    open_all(client, "one", "two", "three")
    reader.open()

    reader["#find input"].fill("TWO")
    expect(reader["#sessions .title"]).to_have_text(["Title two"])
    reader["#find input"].fill("nobody")
    expect(reader["#sessions"]).to_have_text("Nothing is found.")

    expect(reader.page).to_have_url(re.compile("q=nobody$"))
    reader.page.reload()
    expect(reader["#find input"]).to_have_value("nobody")
    expect(reader["#sessions"]).to_have_text("Nothing is found.")


def test_sessions_are_found_by_what_was_said(reader: Reader, client: httpx.Client) -> None:
    talk(client, "chat", 3)
    client.get("/search", params={"q": "Answer"}, headers={"Prefer": "wait=5"})
    reader.open()

    reader["#find select[name=in]"].select_option("messages")
    reader["#find input"].fill("file-2")

    expect(reader["#sessions li"]).to_have_count(1)
    expect(reader["#sessions mark"].first).to_contain_text("file")
    reader["#sessions a"].click()
    reader.at(9, 16)


def test_archived_and_deleted_sessions_are_shown_when_asked_for(
    reader: Reader, client: httpx.Client
) -> None:
    open_all(client, "open", "archived", "deleted")
    client.patch("/sessions/archived", json={"archived": True})
    client.delete("/sessions/deleted")
    reader.open()
    expect(reader["#sessions .title"]).to_have_text(["Title open"])

    for status in ("archived", "deleted"):
        reader["#find select[name=status]"].select_option(status)
        expect(reader["#sessions .title"]).to_have_text([f"Title {status}"])
        expect(reader["#sessions .chip"]).to_have_text(status)
    reader["#find select[name=status]"].select_option("all")
    expect(reader["#sessions .title"]).to_have_count(3)


def test_the_list_comes_by_the_page(reader: Reader, client: httpx.Client) -> None:
    open_all(client, *(f"s{number}" for number in range(60)))
    reader.open()
    expect(reader["#sessions li"]).to_have_count(50)

    reader["#sessions-more"].click()

    expect(reader["#sessions li"]).to_have_count(60)
    expect(reader["#sessions-more"]).to_be_hidden()
    assert titles(reader) == [f"Title s{number}" for number in reversed(range(60))]


def test_a_new_session_appears_by_itself_and_the_newest_activity_comes_first(
    reader: Reader, client: httpx.Client
) -> None:
    open_all(client, "a", "b")
    reader.open()
    expect(reader["#sessions .title"]).to_have_text(["Title b", "Title a"])

    open_all(client, "c")
    expect(reader["#sessions .title"]).to_have_text(["Title c", "Title b", "Title a"])
    append(client, "a", batch(1, *turn("t1")))
    expect(reader["#sessions .title"]).to_have_text(["Title a", "Title c", "Title b"])


def test_another_project_has_other_sessions(
    reader: Reader, client: httpx.Client, project: str
) -> None:
    open_all(client, "here")
    reader.project = "page-elsewhere"
    reader.open()
    expect(reader["#sessions"]).to_contain_text("no session yet")

    reader["#project"].fill(project)
    reader["#project"].press("Enter")

    expect(reader["#sessions .title"]).to_have_text(["Title here"])
    assert reader.page.url.endswith(f"#/{project}")


def test_a_session_opens_by_a_click_and_back_leads_to_what_was_found(
    reader: Reader, client: httpx.Client
) -> None:
    open_all(client, "one", "two")
    reader.open()
    reader["#find input"].fill("one")
    expect(reader["#sessions li"]).to_have_count(1)
    expect(reader.page).to_have_url(re.compile("q=one$"))

    reader["#sessions a"].click()
    expect(reader["#session-title"]).to_have_text("Title one")
    assert reader.page.title() == "Title one - turnlog"

    reader.page.go_back()
    expect(reader["#find input"]).to_have_value("one")
    expect(reader["#sessions .title"]).to_have_text(["Title one"])
    reader["#home"].click()
    expect(reader["#sessions li"]).to_have_count(2)


def test_what_was_typed_while_the_page_loaded_is_looked_for(
    reader: Reader, client: httpx.Client
) -> None:
    open_all(client, "one", "two")
    page, held = reader.page, list[Route]()

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/page/sessions.js", hold)
    with page.expect_request("**/page/sessions.js"):
        page.goto(f"{reader.url}/#/{reader.project}", wait_until="commit")
    reader["#find input"].fill("one")
    for route in held:
        route.continue_()

    expect(reader["#sessions .title"]).to_have_text(["Title one"])
    expect(page).to_have_url(re.compile("q=one$"))
