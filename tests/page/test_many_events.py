"""A long session costs a reader no more than a short one: pages are bounded, and so is the page."""

import httpx
from playwright.sync_api import expect

from tests.page.reader import Reader
from tests.page.talk import EVENTS_A_TURN, talk

LARGEST_PAGE = 100
MOST_ROWS = 400


def test_a_long_session_is_read_by_pages_wherever_one_goes(
    reader: Reader, client: httpx.Client
) -> None:
    turns = 1_000
    last = talk(client, "long", turns)
    reader.open("long")
    reader.until_live()
    reader.at(last, last)
    expect(reader[".message"].last).to_contain_text(f"Answer {turns}.")
    assert len(reader.asked("/transcript")) == len(reader.asked("/events")) == 1

    for version in (1, 2_500, 2_501, 4_000, 7):
        reader.requests.clear()
        reader.open("long", f"?at={version}")
        reader.at(version, last)
        expect(reader['.event [aria-current="true"] .version']).to_have_text(str(version))
        turn = (version - 2) // EVENTS_A_TURN + 1
        if version > 1:
            expect(reader[".message"].last).to_contain_text(str(turn))
        assert len(reader.asked("/transcript")) == 1
        assert len(reader.asked("/events")) <= 1
        assert reader[".event"].count() <= LARGEST_PAGE
        assert reader[".message"].count() <= LARGEST_PAGE

    asked = [int(query["limit"]) for query in reader.asked("/transcript") + reader.asked("/events")]
    assert max(asked) <= LARGEST_PAGE
    for _ in range(6):
        reader["#events"].get_by_role("button", name="Later events").click()
    expect(reader[".event .version"].first).not_to_have_text("1")
    assert reader[".event"].count() <= MOST_ROWS
