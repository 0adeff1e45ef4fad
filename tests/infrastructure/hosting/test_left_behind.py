"""A harness is let go whose session went on elsewhere, not for what people say to each other."""

import pytest
from sqlalchemy import select

from domain.commands import Proposal
from domain.dispatch.asides import REACH
from domain.messages import Message
from infrastructure import tables as t
from infrastructure.command_handler import Appended
from infrastructure.hosting.attending_places import LEFT_BEHIND, places
from infrastructure.hosting.looking import aside_since_pin, kept_seats, moved_since_pin
from tests.infrastructure.writing import Store, note, propose, turn

OWNER = "host-1"
PARKED = propose(
    "harness-parked", b'{"seat_id":"seat-1","owner":"host-1","state":"idle","turn_id":"t1"}'
)


def began(name: bytes) -> Proposal:
    said = b'{"turn_id":"%s","messages":[{"role":"user","content":"Lunch?"}]}' % name
    return propose("turn-started", said)


def over(name: bytes) -> Proposal:
    return propose("turn-completed", b'{"turn_id":"%s","stop_reason":"not-addressed"}' % name)


def left_behind(store: Store) -> list[str]:
    with store.database.read() as connection:
        return [place.name for place in places(connection, LEFT_BEHIND, {"owner": OWNER})]


def aside(store: Store, appended: Appended) -> tuple[Message, ...] | None:
    head = appended.head
    with store.database.read() as connection:
        key = connection.execute(select(t.heads.c.session_key)).scalar_one()
        seat = kept_seats(connection, key)[0]
        moved = moved_since_pin(connection, key, head, seat)
        return aside_since_pin(connection, key, head, seat, moved)


ASIDE = [began(b"a1"), over(b"a1")]


@pytest.mark.parametrize("since", [[], ASIDE, [*ASIDE, began(b"a2"), over(b"a2")]])
def test_what_was_said_aside_leaves_no_harness_behind(store: Store, since: list[Proposal]) -> None:
    store.append([*turn("t1"), PARKED])
    if since:
        store.append(since)

    assert left_behind(store) == []


@pytest.mark.parametrize(
    "since", [turn("t2"), [*ASIDE, *turn("t2")], [began(b"a1")], [*ASIDE, began(b"a2")]]
)
def test_whatever_else_was_said_or_runs_elsewhere_does(store: Store, since: list[Proposal]) -> None:
    store.append([*turn("t1"), PARKED])
    store.append(since)

    assert left_behind(store) == ["seat-1"]


def test_what_lies_far_back_in_the_log_is_not_gone_through(store: Store) -> None:
    parked = store.append([*turn("t1"), PARKED])
    pin = parked.head.version - 1
    within = store.append([*ASIDE, *[note(b"1")] * (REACH - 3)])
    assert within.head.version == pin + REACH
    assert [said.content for said in aside(store, within) or ()] == ["Lunch?"]
    assert left_behind(store) == []

    beyond = store.append([note(b"1")])

    assert aside(store, beyond) is None
    assert left_behind(store) == ["seat-1"]
