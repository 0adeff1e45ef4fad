"""The scrubber: a session as it was at any version, by mouse, keys and address."""

import re

import httpx
import pytest
from playwright.sync_api import expect

from tests.page.reader import Reader
from tests.page.talk import talk

LAST = 16


@pytest.fixture
def chat(client: httpx.Client) -> str:
    """A session of three turns: 16 events, 12 messages."""
    talk(client, "chat", 3, title="Three turns")
    return "chat"


def test_a_session_opens_at_its_end(reader: Reader, chat: str) -> None:
    reader.open(chat)

    reader.at(LAST, LAST)
    expect(reader["#session-title"]).to_have_text("Three turns")
    expect(reader[".message"].last).to_be_in_viewport(ratio=1)
    expect(reader["#ready"]).to_have_text("ready")
    expect(reader[".message"]).to_have_count(12)
    expect(reader[".message"].last).to_contain_text("Answer 3.")
    expect(reader[".event"]).to_have_count(LAST)
    expect(reader[".event [aria-current=true] .version"]).to_have_text("16")


def test_the_buttons_step_along_the_versions(reader: Reader, chat: str) -> None:
    reader.open(chat)
    expect(reader["#scrub-forward"]).to_be_disabled()

    reader["#scrub-back"].click()
    reader.at(15, LAST)
    reader["#scrub-first"].click()
    reader.at(1, LAST)
    expect(reader["#messages"]).to_have_text("Nothing had been said yet.")
    expect(reader["#scrub-back"]).to_be_disabled()
    reader["#scrub-forward"].click()
    reader.at(2, LAST)
    expect(reader[".message .text"]).to_have_text(["Question 1?"])
    reader["#scrub-last"].click()
    reader.at(LAST, LAST)
    expect(reader[".message"]).to_have_count(12)


def test_the_keys_step_along_the_versions(reader: Reader, chat: str) -> None:
    reader.open(chat)
    expect(reader[".event"]).to_have_count(LAST)

    reader.press("ArrowLeft", "ArrowLeft")
    reader.at(14, LAST)
    reader.press("k")
    reader.at(13, LAST)
    reader.press("j")
    reader.at(14, LAST)
    reader.press("Home")
    reader.at(1, LAST)
    reader.press("ArrowRight")
    reader.at(2, LAST)
    reader.press("End")
    reader.at(LAST, LAST)
    expect(reader["#scrub-label"]).to_have_text("version 16 of 16: now")

    reader['.event [data-version="16"]'].focus()
    reader.press("ArrowUp", "ArrowUp")
    reader.at(14, LAST)
    expect(reader['.event [data-version="14"]']).to_be_focused()
    reader.press("ArrowDown")
    reader.at(15, LAST)


def test_the_slider_is_dragged_and_moved_by_its_own_keys(reader: Reader, chat: str) -> None:
    reader.open(chat)
    box = reader["#scrub"].bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    reader.page.mouse.move(box["x"] + box["width"] - 8, middle)
    reader.page.mouse.down()
    for share in (0.9, 0.6, 0.3, 0.0):
        reader.page.mouse.move(box["x"] + 4 + share * (box["width"] - 8), middle)
    reader.page.mouse.up()
    reader.at(1, LAST)
    expect(reader["#messages"]).to_have_text("Nothing had been said yet.")

    reader["#scrub"].press("ArrowRight")
    reader.at(2, LAST)
    expect(reader["#scrub"]).to_have_attribute("aria-valuetext", "version 2 of 16")
    expect(reader[".message .text"]).to_have_text(["Question 1?"])


def test_a_step_asks_for_one_page_of_the_transcript_and_nothing_else(
    reader: Reader, chat: str
) -> None:
    reader.open(chat)
    reader.until_live()
    expect(reader[".message"]).to_have_count(12)

    for version, messages in ((15, 12), (14, 11), (13, 10)):
        reader.requests.clear()
        reader.press("ArrowLeft")
        expect(reader[".message"]).to_have_count(messages)
        reader.at(version, LAST)
        reader.page.wait_for_load_state("networkidle")
        [only] = reader.requests
        assert "/transcript?" in only
        assert reader.asked("/transcript") == [{"order": "desc", "limit": "50", "at": str(version)}]


def test_many_steps_in_a_row_ask_for_few_pages_and_end_where_they_end(
    reader: Reader, client: httpx.Client
) -> None:
    last = talk(client, "long", 120)
    reader.open("long")
    expect(reader[".message"]).to_have_count(50)
    reader.requests.clear()

    reader["#scrub"].evaluate(
        "slider => { for (let step = 0; step < 500; step += 1) {"
        " slider.value -= 1; slider.dispatchEvent(new Event('input')); } }"
    )

    reader.at(last - 500, last)
    expect(reader[".message"].last).to_contain_text("Answer 20.")
    expect(reader.page).to_have_url(re.compile("at=101$"))
    asked = [query["at"] for query in reader.asked("/transcript")]
    assert (asked[0], asked[-1]) == ("600", "101")
    assert len(asked) < 50
    reader.page.go_back()
    reader.at(last, last)


def test_an_event_is_chosen_in_the_timeline(reader: Reader, chat: str) -> None:
    reader.open(chat)

    reader['.event [data-version="5"]'].click()

    reader.at(5, LAST)
    expect(reader[".message.fresh"]).to_contain_text("Answer 1.")
    expect(reader[".message"]).to_have_count(4)
    reader[".message"].first.get_by_role("button", name="Go to version 2").click()
    reader.at(2, LAST)


def test_the_address_leads_to_a_version_and_back_goes_back(reader: Reader, chat: str) -> None:
    reader.open(chat, "?at=5")
    reader.at(5, LAST)
    expect(reader[".message"].last).to_contain_text("Answer 1.")

    reader['.event [data-version="8"]'].click()
    reader.at(8, LAST)
    reader.press("ArrowRight", "ArrowRight", "ArrowRight")
    reader.at(11, LAST)
    expect(reader.page).to_have_url(re.compile("at=11$"))

    reader.page.go_back()
    reader.at(8, LAST)
    reader.page.go_back()
    reader.at(5, LAST)
    expect(reader[".message"].last).to_contain_text("Answer 1.")
    reader.page.go_forward()
    reader.at(8, LAST)
    reader.page.reload()
    reader.at(8, LAST)


def test_a_version_that_is_not_there_is_told(reader: Reader, chat: str) -> None:
    reader.page.goto(f"{reader.url}/#/{reader.project}/{chat}?at=99")

    expect(reader["#trouble"]).to_contain_text("not at this version yet")
    reader.press("End")
    reader.at(LAST, LAST)
    expect(reader["#trouble"]).to_be_hidden()


@pytest.mark.parametrize("id_", ["nobody", "..", "%00", "a b", "<b>x</b>"])
def test_a_session_that_never_was_is_told(reader: Reader, id_: str) -> None:
    reader.page.goto(f"{reader.url}/#/{reader.project}/{id_}")

    expect(reader["#trouble"]).to_be_visible()
    expect(reader["#session-title"]).not_to_be_empty()
    expect(reader["#live"]).to_have_text("not live")
    reader["#home"].click()
    expect(reader["#list-view"]).to_be_visible()
    expect(reader["#trouble"]).to_be_hidden()


def test_an_address_that_makes_no_sense_is_the_list_or_the_end(reader: Reader, chat: str) -> None:
    reader.open(chat, "?at=-3&pane=nonsense&from=x&types=zzz")
    reader.at(LAST, LAST)
    expect(reader["#tab-transcript"]).to_have_attribute("aria-current", "true")

    reader.page.goto(f"{reader.url}/#////?%%%")
    expect(reader["#list-view"]).to_be_visible()


def test_another_session_shows_nothing_of_the_one_before(
    reader: Reader, client: httpx.Client, chat: str
) -> None:
    talk(client, "other", 1)
    reader.open(chat)
    expect(reader[".message"]).to_have_count(12)

    reader.open("other")
    reader.at(6, 6)
    expect(reader[".message"]).to_have_count(4)
    expect(reader[".event"]).to_have_count(6)
    reader.page.go_back()
    reader.at(LAST, LAST)
    expect(reader[".message"]).to_have_count(12)
    expect(reader["#session-title"]).to_have_text("Three turns")
