"""What is recorded while the page is open comes by itself."""

import httpx
from playwright.sync_api import expect

from tests.api.batches import said, started
from tests.page.reader import Reader
from tests.page.talk import add, talk, worked


def test_what_is_recorded_appears_at_the_end(reader: Reader, client: httpx.Client) -> None:
    talk(client, "chat", 2)
    reader.open("chat")
    reader.until_live()
    reader.at(11, 11)

    add(client, "chat", 2, started("t3", "Something new?"))

    reader.at(12, 12)
    expect(reader[".event"].last).to_contain_text("Something new?")
    expect(reader[".message"].last).to_contain_text("Something new?")
    expect(reader["#session-chips"]).to_contain_text("turn running")
    expect(reader["#ready"]).to_contain_text("not ready")

    add(client, "chat", 3, said("t3", "Here it is."), *worked(3)[-1:])
    reader.at(14, 14)
    expect(reader[".message"].last).to_contain_text("Here it is.")


def test_many_events_at_once_all_appear(reader: Reader, client: httpx.Client) -> None:
    talk(client, "chat", 1)
    reader.open("chat")
    reader.until_live()

    add(client, "chat", 2, *(event for number in range(2, 80) for event in worked(number)))

    reader.at(396, 396)
    expect(reader[".event .version"].last).to_have_text("396")
    expect(reader[".message"].last).to_contain_text("Answer 79.")
    shown = [int(text) for text in reader[".event .version"].all_inner_texts()]
    assert shown == list(range(shown[0], 397))


def test_a_reader_of_the_past_stays_there(reader: Reader, client: httpx.Client) -> None:
    talk(client, "chat", 2)
    reader.open("chat", "?at=5")
    reader.until_live()
    expect(reader[".message"]).to_have_count(4)

    add(client, "chat", 2, *worked(3))

    reader.at(5, 16)
    expect(reader[".event .version"].last).to_have_text("16")
    expect(reader[".message"]).to_have_count(4)
    reader.press("End")
    reader.at(16, 16)
    expect(reader[".message"].last).to_contain_text("Answer 3.")


def test_what_a_reader_has_opened_stays_open(reader: Reader, client: httpx.Client) -> None:
    talk(client, "chat", 2)
    reader.open("chat")
    reader.until_live()
    result = reader[".message"].nth(6).locator("details")
    result.locator("summary").click()
    expect(result.locator(".code")).to_have_text("file-2")

    add(client, "chat", 2, *worked(3))

    expect(reader[".message"]).to_have_count(12)
    expect(result.locator(".code")).to_have_text("file-2")


def test_earlier_messages_that_were_read_stay_before_the_new_ones(
    reader: Reader, client: httpx.Client
) -> None:
    talk(client, "chat", 60)
    reader.open("chat")
    reader.until_live()
    reader["#messages"].get_by_role("button", name="Earlier messages").click()
    expect(reader[".message"]).to_have_count(100)

    add(client, "chat", 2, *worked(61))
    expect(reader[".message"]).to_have_count(104)
    add(client, "chat", 3, *(event for number in range(62, 80) for event in worked(number)))

    # What would leave a gap is let go of.
    expect(reader[".message"]).to_have_count(50)
    expect(reader[".message"].last).to_contain_text("Answer 79.")
    expect(reader[".message"].first).to_contain_text("file-67")


def test_a_new_title_is_shown(reader: Reader, client: httpx.Client) -> None:
    talk(client, "chat", 1)
    reader.open("chat")
    reader.until_live()

    client.patch("/sessions/chat", json={"title": "Renamed meanwhile"})

    expect(reader["#session-title"]).to_have_text("Renamed meanwhile")


def test_a_page_that_lost_its_server_says_so_and_goes_on_when_it_is_back(
    reader: Reader, client: httpx.Client
) -> None:
    talk(client, "chat", 1)
    reader.open("chat")
    reader.until_live()

    reader.page.context.set_offline(offline=True)
    reader.press("ArrowLeft")
    expect(reader["#trouble"]).to_contain_text("The server does not answer")
    reader.page.context.set_offline(offline=False)
    reader.press("End")
    expect(reader["#trouble"]).to_be_hidden()

    add(client, "chat", 2, *worked(2))
    reader.at(11, 11)
