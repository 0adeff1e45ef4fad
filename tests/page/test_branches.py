"""Branches on the page: what was rewound, what else began a turn, and how one gets back to it."""

import httpx
import pytest
from playwright.sync_api import expect

from tests.api.batches import said, started
from tests.page.reader import Reader
from tests.page.talk import add, talk, worked


@pytest.fixture
def chat(client: httpx.Client) -> str:
    """Three turns: 16 events, 12 messages."""
    talk(client, "chat", 3, title="Three turns")
    return "chat"


def test_rewound_messages_are_shown_on_request_and_a_branch_is_switched_to(
    reader: Reader, client: httpx.Client, chat: str
) -> None:
    reader.open(chat)
    reader.until_live()
    reader["#rewind"].click()
    reader.confirm("Rewind")
    reader.close()
    add(client, chat, 2, started("t4", "Another third question?"), said("t4", "Aha."))
    add(client, chat, 3, *worked(4)[-1:])
    expect(reader[".message"].last).to_contain_text("Aha.")

    reader["#show-rewound"].check()
    expect(reader[".message.rewound"]).to_have_count(4)
    expect(reader[".message.rewound .chip.rewound"].first).to_have_text("rewound")

    other = reader[".message.live"].filter(has_text="Another third question?")
    other.locator(".alternatives summary").click()
    other.get_by_role("button", name="Switch to this branch…").click()
    expect(reader.dialog).to_contain_text("It brings back 1 turn with 4 messages")
    expect(reader.dialog).to_contain_text("it takes out 1 turn with 2 messages")
    reader.confirm("Switch")
    reader.close()

    expect(reader[".message.live"].last).to_contain_text("Answer 3.")
    expect(reader[".message.rewound"]).to_have_count(2)
