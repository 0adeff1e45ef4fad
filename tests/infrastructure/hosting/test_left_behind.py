"""A harness is let go whose session went on elsewhere, not for what people say to each other."""

import pytest

from domain.commands import Proposal
from infrastructure.hosting.attending_places import LEFT_BEHIND, places
from tests.infrastructure.writing import Store, propose, turn

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
