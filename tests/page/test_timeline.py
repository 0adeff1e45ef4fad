"""The timeline: what happened, event by event, by the page and by kind."""

import re

import httpx
import pytest
from playwright.sync_api import Locator, expect

from tests.page.reader import Reader
from tests.page.talk import talk

TURNS = 120
LAST = 601


@pytest.fixture
def long_chat(client: httpx.Client) -> str:
    """A session of 601 events."""
    assert talk(client, "long", TURNS) == LAST
    return "long"


def versions(reader: Reader) -> list[int]:
    return [int(text) for text in reader[".event .version"].all_inner_texts()]


def earlier(reader: Reader) -> Locator:
    return reader["#events"].get_by_role("button", name="Earlier events")


def later(reader: Reader) -> Locator:
    return reader["#events"].get_by_role("button", name="Later events")


def test_an_event_tells_its_version_its_type_and_what_it_says(
    reader: Reader, long_chat: str
) -> None:
    reader.open(long_chat, "?at=5")

    for version, words in (
        (1, ["session-opened"]),
        (2, ["turn-started", "Question 1?"]),
        (3, ["tool-call-requested", 'bash {"command":"ls 1"}']),
        (4, ["tool-call-completed", "file-1"]),
        (5, ["message-recorded", "Answer 1."]),
        (6, ["turn-completed"]),
    ):
        row = reader[f'.event [data-version="{version}"]']
        for each in words:
            expect(row).to_contain_text(each)


def test_a_session_opens_with_its_last_page_of_events(reader: Reader, long_chat: str) -> None:
    reader.open(long_chat)

    expect(reader[".event"]).to_have_count(100)
    assert versions(reader) == list(range(LAST - 99, LAST + 1))
    assert reader.asked("/events") == [{"limit": "100", "order": "desc"}]
    expect(reader['.event [aria-current="true"]']).to_be_in_viewport()


def test_events_are_paged_to_the_beginning_and_back(reader: Reader, long_chat: str) -> None:
    reader.open(long_chat)
    for pages in (2, 3, 4):
        earlier(reader).click()
        expect(reader[".event"]).to_have_count(pages * 100)
    earlier(reader).click()
    expect(reader[".event .version"].first).to_have_text("102")
    # No more rows than four pages, however far one goes.
    assert versions(reader) == list(range(102, 502))
    earlier(reader).click()
    expect(reader[".event .version"].first).to_have_text("2")
    earlier(reader).click()
    expect(reader[".event .version"].first).to_have_text("1")
    expect(earlier(reader)).to_have_count(0)

    later(reader).click()
    expect(reader[".event .version"].last).to_have_text("500")
    later(reader).click()
    expect(reader[".event .version"].last).to_have_text("600")
    later(reader).click()
    expect(reader[".event .version"].last).to_have_text(str(LAST))
    expect(later(reader)).to_have_count(0)


def test_the_timeline_comes_along_wherever_the_reader_goes(reader: Reader, long_chat: str) -> None:
    reader.open(long_chat)
    expect(reader[".event"]).to_have_count(100)

    reader.press("Home")
    expect(reader['.event [aria-current="true"] .version']).to_have_text("1")
    reader.page.evaluate("location.hash += '&at=300'")
    reader.at(1, LAST)  # an address that says it twice means the first
    reader.open(long_chat, "?at=300")
    reader.at(300, LAST)
    expect(reader['.event [aria-current="true"] .version']).to_have_text("300")
    expect(reader['.event [aria-current="true"]']).to_be_in_viewport()
    assert versions(reader) == list(range(251, 351))


def test_the_next_event_is_read_when_the_page_ends(reader: Reader, long_chat: str) -> None:
    reader.open(long_chat, "?at=349")
    expect(reader[".event"]).to_have_count(100)

    for version in (350, 351, 352):
        reader.press("j")
        reader.at(version, LAST)
        expect(reader['.event [aria-current="true"] .version']).to_have_text(str(version))


@pytest.mark.parametrize(
    ("group", "types"),
    [
        ("tools", {"tool-call-requested", "tool-call-completed"}),
        ("messages", {"turn-started", "message-recorded"}),
        ("turns", {"turn-started", "turn-completed"}),
        ("session", {"session-opened"}),
    ],
)
def test_only_events_of_one_kind_are_shown_when_asked_for(
    reader: Reader, long_chat: str, group: str, types: set[str]
) -> None:
    reader.open(long_chat)

    reader["#types"].select_option(group)

    others = re.compile(f"^(?!({'|'.join(types)})$)")
    for each in types:  # the list is empty while it is asked for anew
        expect(reader[".event .type"].filter(has_text=each)).not_to_have_count(0)
    expect(reader[".event .type"].filter(has_text=others)).to_have_count(0)
    assert set(reader[".event .type"].all_inner_texts()) == types
    assert f"types={group}" in reader.page.url


def test_filtered_events_are_paged_and_stepped_through_too(reader: Reader, long_chat: str) -> None:
    reader.open(long_chat, "?types=tools&at=303")
    expect(reader['.event [aria-current="true"] .version']).to_have_text("303")

    reader.press("k")
    reader.at(299, LAST)
    reader.press("j", "j")
    reader.at(304, LAST)
    earlier(reader).click()
    expect(reader[".event .version"].first).to_have_text("3")
    expect(earlier(reader)).to_have_count(0)

    reader["#types"].select_option("")
    expect(reader['.event [data-version="305"]']).to_be_visible()


def test_no_event_of_a_kind_is_said(reader: Reader, long_chat: str) -> None:
    reader.open(long_chat, "?types=losses")

    expect(reader["#events"]).to_contain_text("No events of this kind")
