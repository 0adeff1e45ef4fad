"""A harness goes on with the history that it was parked with, or not at all."""

from tests.api.batches import append, batch, event, turn
from tests.api.chats import Chat, chat_at, last_text, opened
from tests.api.serving import served
from tests.databases import DatabaseKind, Databases


def test_a_seat_that_another_told_of_as_parked_is_not_what_its_server_parked(chat: Chat) -> None:
    chat.said("Hi")
    seat = chat.events("harness-parked")[-1]["data"]
    told = {name: seat[name] for name in ("seat_id", "owner", "state", "config_fingerprint")}
    parked = event("harness-parked", **told, ttl_s=60)
    assert append(chat.client, chat.session_id, batch(1, *turn("t"), parked)).status_code == 201

    said = chat.said("How many?")

    assert (said["path"], said["reason"]) == ("evicted", "history")
    assert last_text(said) == 'Message 3: you said "How many?".'


def test_a_log_that_may_not_stand_in_is_told_to_no_harness_in_place_of_one_that_failed(
    databases: Databases, database_kind: DatabaseKind
) -> None:
    url = databases.ready()
    with (
        served(database_kind, url, require_agreement="1") as running,
        running.client("default") as client,
    ):
        chat = opened(chat_at(running, client))
        chat.said("Hi")

        failed = chat.said("fail: die-if-warm")

        assert (failed["status"], failed["path"]) == ("failed", "warm")
        assert len(chat.events("harness-started")) == 1
    databases.drop(url)
