"""Lanes beside sessions: where conversations happen, which session each has, what comes of it."""

import re

import httpx
from playwright.sync_api import Browser, Locator, expect

from domain.lanes.source import PLATFORMS
from tests.api.batches import Json, started
from tests.api.serving import Served
from tests.page.reader import NARROW, Reader, reading
from tests.page.talk import add, worked
from tests.page.test_files import PAGE
from tests.page.test_inert import BIDI, MARKUP

GROUP: Json = {
    "platform": "telegram",
    "chat_type": "group",
    "chat_id": "-100",
    "chat_name": "Garden club",
    "thread_id": "7",
    "user_id": "42",
}
DIRECT: Json = {"platform": "signal", "chat_id": "42", "user_id": "42", "user_name": "Alice"}


def resolved(client: httpx.Client, source: Json, **more: object) -> Json:
    """Return which session a place has."""
    answer = client.post("/lanes/resolve", json={"source": source, **more})
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def go(reader: Reader, lane_id: str | None = None) -> None:
    """Open the list of lanes, or a lane."""
    path = "~lanes" if lane_id is None else f"~lanes/{lane_id}"
    reader.page.goto(f"{reader.url}/#/{reader.project}/{path}")


def lane(reader: Reader, name: str) -> Locator:
    """Return a lane of the list."""
    return reader["#lanes a"].filter(has_text=name)


def test_lanes_stand_beside_the_sessions_and_tell_what_becomes_of_them(
    reader: Reader, client: httpx.Client
) -> None:
    go(reader, "nonsense")
    expect(reader["#trouble"]).to_contain_text("Its id has 32 digits")
    go(reader, "0" * 32)
    expect(reader["#trouble"]).to_contain_text("no such lane")
    reader["#to-lanes"].focus()
    reader.press("Enter")
    expect(reader["#lanes"]).to_contain_text("a gateway begins with POST /lanes/resolve")
    expect(reader["#trouble"]).to_be_hidden()
    expect(reader.page).to_have_url(re.compile(r"~lanes$"))
    expect(reader["#to-lanes"]).to_have_attribute("aria-current", "true")
    assert reader.page.title() == "Lanes - turnlog"

    garden = resolved(client, GROUP, open={"title": "Roses"})
    direct = resolved(client, DIRECT)
    expect(reader["#lanes .title"]).to_have_text(["DM with Alice", "group: Garden club, thread: 7"])
    expect(lane(reader, "Garden")).to_contain_text("telegram")
    expect(lane(reader, "Garden")).to_contain_text("shared")
    expect(lane(reader, "Garden")).to_contain_text("→ Roses")
    expect(lane(reader, "Alice")).to_contain_text("private")

    add(client, garden["session_id"], 1, started("t1", "Which soil?"))
    expect(lane(reader, "Garden")).to_contain_text("turn under way")
    place = f"/lanes/{direct['lane_id']}"
    assert client.patch(place, json={"pinned": True}).status_code == 200
    assert client.post(f"{place}/suspend", json={"reason": "stuck"}).status_code == 200
    expect(lane(reader, "Alice")).to_contain_text("suspended: stuck")
    expect(lane(reader, "Alice")).to_contain_text("pinned")
    client.patch(f"/sessions/{garden['session_id']}", json={"title": "Tulips"})
    expect(lane(reader, "Garden")).to_contain_text("→ Tulips")

    reader.press("l")
    expect(reader["#sessions .title"]).to_have_count(2)
    reader.page.go_back()
    expect(reader["#lanes .title"]).to_have_count(2)


def test_lanes_are_found_by_state_platform_key_and_what_is_shown_of_them(
    reader: Reader, client: httpx.Client
) -> None:
    key = resolved(client, GROUP, open={"title": "Roses"})["lane_key"]
    alice = resolved(client, DIRECT)
    client.post(f"/lanes/{alice['lane_id']}/suspend", json={"reason": "stuck"})
    for number in range(49):
        resolved(client, {"platform": "x-shop", "chat_id": f"plot-{number}"})
    go(reader)

    titles = reader["#lanes .title"]
    expect(titles).to_have_count(50)
    reader["#lanes-more"].click()
    expect(titles).to_have_count(51)
    expect(reader["#lanes-more"]).to_be_hidden()

    reader["#find-lane select[name=status]"].select_option("suspended")
    expect(titles).to_have_text(["DM with Alice"])
    reader["#find-lane select[name=status]"].select_option("all")
    reader["#find-lane select[name=platform]"].select_option("telegram")
    expect(titles).to_have_text(["group: Garden club, thread: 7"])
    expect(reader.page).to_have_url(re.compile(r"~lanes\?platform=telegram&status=all$"))
    reader["#find-lane select[name=platform]"].select_option("x-shop")
    expect(titles).to_have_count(49)
    reader["#find-lane select[name=platform]"].select_option("")

    reader.press("/")
    for words, names in (
        ("GARDEN", ["group: Garden club, thread: 7"]),
        ("rose", ["group: Garden club, thread: 7"]),
        (key, ["group: Garden club, thread: 7"]),
        ("PLOT-4", [f"DM with plot-{number}" for number in (*range(48, 39, -1), 4)]),
        ("nowhere", []),
    ):
        reader["#find-lane input"].fill(words)
        expect(titles).to_have_text(names)
    expect(reader["#lanes"]).to_have_text("Nothing is found.")

    expect(reader.page).to_have_url(re.compile(r"~lanes\?q=nowhere&status=all$"))
    reader.page.reload()
    expect(reader["#find-lane input"]).to_have_value("nowhere")


def test_a_lane_tells_where_it_is_and_is_reset_only_after_its_consequence_was_told(
    reader: Reader, client: httpx.Client
) -> None:
    first = resolved(client, GROUP, open={"title": "Roses"})
    add(client, first["session_id"], 1, *worked(1))
    reader.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    go(reader, first["lane_id"])

    expect(reader["#lane-title"]).to_have_text("group: Garden club, thread: 7")
    body = reader["#lane-body"]
    expect(body).to_contain_text("chat_name")
    expect(body).to_contain_text("-100")
    expect(body.locator("ol li")).to_have_count(2)
    expect(body.locator("ol li").last).to_contain_text("The place was seen")
    body.get_by_role("button", name="Copy the key").click()
    expect(reader["#news"]).to_have_text("The key was copied.")
    assert reader.page.evaluate("navigator.clipboard.readText()") == first["lane_key"]

    add(client, first["session_id"], 2, started("t2", "And tulips?"))
    expect(reader["#lane-chips"]).to_contain_text("turn under way")
    reader["#lane-reset"].click()
    expect(reader.dialog).to_contain_text("The current one, Roses, is put away")
    expect(reader.dialog).to_contain_text("Its turn t2 is interrupted")
    reader.dialog.get_by_role("button", name="Cancel").click()
    assert client.get(f"/lanes/{first['lane_id']}").json()["session_id"] == first["session_id"]

    reader["#lane-reset"].click()
    reader.confirm("Reset")
    expect(reader.dialog).to_contain_text("Turn t2 was interrupted.")
    reader.close()
    now = client.get(f"/lanes/{first['lane_id']}").json()
    assert now["session_id"] != first["session_id"]
    expect(body.locator("section").first).to_contain_text(now["session_id"])
    expect(body.locator("ul li")).to_contain_text(["Roses ended, as a new one took its place"])
    expect(body.locator("ol li").first).to_contain_text("a new conversation was asked for")

    reader["#lane-pin"].click()
    expect(reader["#lane-chips"]).to_contain_text("pinned")
    reader["#lane-suspend"].click()
    reader.confirm("Suspend")
    expect(reader["#lane-chips"]).to_contain_text("suspended: by hand")
    expect(reader["#lane-suspend"]).to_be_hidden()

    body.locator("ul a").click()
    expect(reader["#session-title"]).to_have_text("Roses")
    expect(reader["#session-chips"]).to_contain_text("lane-reset")
    reader["#session-chips a"].click()
    expect(reader["#lane-title"]).to_have_text("group: Garden club, thread: 7")


def test_a_lane_that_is_purged_while_it_is_looked_at_shows_no_more_who_it_was(
    reader: Reader, client: httpx.Client
) -> None:
    found = resolved(client, GROUP, open={"title": "Roses"})
    go(reader, found["lane_id"])
    body = reader["#lane-body"]
    expect(body).to_contain_text("The place was seen")
    assert client.delete(f"/sessions/{found['session_id']}").status_code == 204
    assert client.post(f"/lanes/{found['lane_id']}/purge", json={}).status_code == 200

    expect(body.locator("ol li").first).to_contain_text("was destroyed")
    expect(body.locator("ol li")).to_contain_text(
        ["", "its content is gone", "its content is gone"]
    )
    expect(reader["#lane-title"]).to_have_text("A lane of which nothing is known")
    expect(reader["#lane-chips"]).to_have_text("purged")
    expect(reader["#lane-reset"]).to_be_hidden()
    for known in ("-100", "Garden club", found["session_id"], "1970"):
        expect(body).not_to_contain_text(known)

    reader["#to-lanes"].click()
    expect(reader["#lanes"]).to_contain_text("There is no lane yet")
    reader["#find-lane select[name=status]"].select_option("purged")
    expect(reader["#lanes a"]).to_contain_text(["A lane of which nothing is known"])
    expect(reader["#lanes a"]).to_contain_text([found["lane_id"]])
    reader["#lanes a"].click()
    resolved(client, GROUP)
    expect(body).to_contain_text(found["lane_key"])
    expect(reader["#lane-title"]).to_have_text("group: Garden club, thread: 7")


def test_names_that_others_chose_are_text_and_nothing_is_wider_than_a_narrow_screen(
    browser: Browser, page_server: Served, project: str, client: httpx.Client
) -> None:
    source = {**GROUP, "chat_name": f"{BIDI}{MARKUP}"[:400], "chat_topic": "w" * 3_000}
    found = resolved(client, source, open={"title": "w" * 200})
    lane_id, session_id = found["lane_id"], found["session_id"]
    author = {"subject_id": "42", "display": "Alice"}
    said = started("t1", "Which soil?", author=author)
    said["data"] |= {"lane_id": lane_id, "reply_to": "1001"}
    add(client, session_id, 1, said)

    with reading(browser, page_server.url, project, NARROW) as reader:
        for lane_shown, title in ((None, "#lanes .title"), (lane_id, "#lane-title")):
            go(reader, lane_shown)
            expect(reader[title]).to_contain_text("<img src=x")
            for box in ("html", ".list-view:not([hidden])"):
                wide, own = reader[box].evaluate("node => [node.scrollWidth, node.clientWidth]")
                assert wide <= own, (title, box)

        expect(reader["#lane-body dl"].first).to_contain_text("safe\u27e8U+202E\u27e9txt")
        reader["#lane-body section a"].first.click()
        expect(reader["#session-chips"]).to_contain_text("lane: telegram")
        expect(reader[".message .by"]).to_have_text("Alice")
        expect(reader.pane("timeline").locator(".event .by")).to_have_text("Alice")


def test_all_platforms_can_be_chosen() -> None:
    names = re.search(r"const PLATFORMS = \[(.*?)\]", (PAGE / "lanes.js").read_text(), re.DOTALL)

    assert names is not None
    assert set(re.findall(r'"(\w+)"', names[1])) == PLATFORMS
