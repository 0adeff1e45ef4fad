"""A diff of any two versions is the difference of what plain lists say was there at each."""

import json
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from api.diffing import Page, diff_shape
from domain.evolve import fold
from domain.raw_json import dumped
from domain.readiness import Policy, readiness
from domain.state import State
from infrastructure.reading.moment import At, moment
from infrastructure.reading.transcript import extent
from infrastructure.reading.transcript_json import page_json
from projections.session_state import open_calls, open_gates, open_turn
from tests.infrastructure.reading.wandering import WANDERINGS, Step, Wanderer, wandered
from tests.infrastructure.writing import Store, opened

SESSIONS = count(1)
COUNT = settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    # The database is fresh for the test; each history gets a session of its own in it.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
POLICY = Policy(unverified_turns=True)
PAIRS = 30
Json = dict[str, Any]


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """An open log on a fresh database, on each engine in turn."""
    with opened(database_url) as store:
        yield store


def no_cursor(side: int, depth: int) -> str:
    return f"{side}:{depth}"


def diff(store: Store, wanderer: Wanderer, a: int, b: int, limit: int = 200, **page: int) -> Json:
    """Return the diff of two versions as it is sent."""
    with store.database.read() as connection:
        moments = [moment(connection, wanderer.where, At(version=v)) for v in (a, b)]
        shown = Page(limit=limit, cursor=no_cursor, **page)
        shape = diff_shape(connection, (moments[0], moments[1]), POLICY, shown)
    found: Json = json.loads(dumped(shape))
    return found


def transcript(store: Store, wanderer: Wanderer, version: int) -> list[Json]:
    with store.database.read() as connection:
        found = moment(connection, wanderer.where, At(version=version))
        shown = extent(found, with_archived=True)
        read = page_json(connection, found, shown.after(0, shown.end))
    return [message for message in map(json.loads, read) if not message.get("summary")]


def pairs(last: int) -> list[tuple[int, int]]:
    """Return each step, backwards too, and some pairs far apart."""
    steps = [(v, v + 1) for v in range(1, last)]
    far = [(a, b) for a in range(1, last + 1, 3) for b in range(1, last + 1, 4)]
    chosen = [*steps, *((b, a) for a, b in steps[::3]), *far]
    return chosen[:: max(1, len(chosen) // PAIRS)]


@COUNT
@given(steps=WANDERINGS)
def test_what_differs_is_what_plain_lists_say(store: Store, steps: Sequence[Step]) -> None:
    wanderer = wandered(store, steps, f"s{next(SESSIONS)}")
    facts = wanderer.facts()
    states = [fold(facts[:version]) for version in range(len(facts) + 1)]
    for a, b in pairs(len(facts)):
        told = diff(store, wanderer, a, b)
        assert told["through_version"] == max(a, b)
        assert_messages(store, wanderer, told["messages"], a, b)
        assert_turns(wanderer, told["turns"], a, b)
        assert_state(told["state"], states[a], states[b])
        assert_waiting(told, states[a], states[b])


def assert_messages(store: Store, wanderer: Wanderer, told: Json, a: int, b: int) -> None:
    plain = wanderer.plain
    was, now = plain.seen[a], plain.seen[b]
    shared = len({*was.path} & {*now.path})
    messages = plain.state.messages
    assert was.path[:shared] == now.path[:shared]
    assert told["shared"] == shared
    for name, here, there, words in (
        ("removed", a, b, ("rewound", "later")),
        ("added", b, a, ("restored", "new")),
    ):
        path = plain.seen[here].path[shared:]
        old = [messages[index].versions[0] <= there for index in path]
        shown = transcript(store, wanderer, here)[shared:] if path else []
        assert told[name] == {
            "count": len(path),
            words[0]: sum(old),
            words[1]: len(path) - sum(old),
            "items": [
                {"change": words[0] if known else words[1], "message": message}
                for known, message in zip(old, shown, strict=True)
            ],
            "next_cursor": None,
        }
    low, high = sorted((a, b))
    grown = [
        depth
        for depth, index in enumerate(was.path[:shared])
        if any(low < version <= high for version in messages[index].versions)
    ]
    assert told["changed"] == [
        {
            "from": transcript(store, wanderer, a)[depth],
            "to": transcript(store, wanderer, b)[depth],
        }
        for depth in grown
    ]
    archived = min(now.archived, shared) - min(was.archived, shared)
    assert (told["archived"], told["unarchived"]) == (max(archived, 0), max(-archived, 0))


def assert_turns(wanderer: Wanderer, told: Json, a: int, b: int) -> None:
    plain = wanderer.plain
    was, now = plain.seen[a].turns, plain.seen[b].turns
    shared = len({*was} & {*now})
    assert told["shared"] == shared
    for name, here, there, words in (
        ("removed", a, b, ("rewound", "later")),
        ("added", b, a, ("restored", "new")),
    ):
        ids = plain.seen[here].turns[shared:]
        assert [(turn["turn_id"], turn["change"]) for turn in told[name]["items"]] == [
            (turn_id, words[plain.started[turn_id] > there]) for turn_id in ids
        ]
        assert told[name]["count"] == len(ids)
    for turn in told["changed"]:
        assert turn["turn_id"] in {*was} & {*now}
        assert turn["from"] != turn["to"]


def assert_state(told: Json, was: State, now: State) -> None:
    for name, field in (("title", "title"), ("redo_version", "redo"), ("archived", "archived")):
        pair = [getattr(state.head, field) for state in (was, now)]
        assert told.get(name) == (None if pair[0] == pair[1] else {"from": pair[0], "to": pair[1]})
    judged = [readiness(state.head, open_turn(state), POLICY) for state in (was, now)]
    reasons = [[reason.code for reason in each.reasons] for each in judged]
    assert ("reasons" in told) == (reasons[0] != reasons[1])
    prints = [state.head.fingerprint.hex() for state in (was, now)]
    assert ("fingerprint" in told) == (prints[0] != prints[1])


def assert_waiting(told: Json, was: State, now: State) -> None:
    gates = [[gate.gate_id for gate in open_gates(state)] for state in (was, now)]
    assert [gate["gate_id"] for gate in told["gates"]["opened"]] == [
        gate for gate in gates[1] if gate not in gates[0]
    ]
    assert [gate["gate_id"] for gate in told["gates"]["closed"]] == [
        gate for gate in gates[0] if gate not in gates[1]
    ]
    calls = [[call.requested_version for call in open_calls(state)] for state in (was, now)]
    assert [call["requested_version"] for call in told["calls"]["opened"]] == [
        call for call in calls[1] if call not in calls[0]
    ]
    assert [call["requested_version"] for call in told["calls"]["closed"]] == [
        call for call in calls[0] if call not in calls[1]
    ]


def test_pages_of_what_went_and_of_what_came_are_the_whole(store: Store) -> None:
    steps: list[Step] = [("long", 1, 0), ("turn", 2, 1), ("turn", 2, 1), ("rewind", 1, 0)]
    wanderer = wandered(store, [*steps, ("turn", 2, 1), ("turn", 2, 0)], "s")
    last = len(wanderer.facts())
    before = next(v for v, seen in enumerate(wanderer.plain.seen) if len(seen.turns) == 3) + 3
    whole = diff(store, wanderer, before, last)["messages"]
    assert (whole["removed"]["count"], whole["added"]["count"]) == (6, 5)
    first = diff(store, wanderer, before, last, limit=3)
    for number, name in enumerate(("removed", "added")):
        found, cursor = first["messages"][name]["items"], first["messages"][name]["next_cursor"]
        while cursor is not None:
            side, depth = map(int, cursor.split(":"))
            assert side == number
            page = diff(store, wanderer, before, last, limit=3, side=side, depth=depth)
            other = "added" if name == "removed" else "removed"
            assert page["messages"][other]["items"] == page["turns"]["added"]["items"] == []
            found += page["messages"][name]["items"]
            cursor = page["messages"][name]["next_cursor"]
        assert found == whole[name]["items"]
