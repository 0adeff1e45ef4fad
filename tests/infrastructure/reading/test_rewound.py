"""Whatever was rewound and restored: what is read is what was in sight, at any version."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from hypothesis import given, settings
from sqlalchemy import Connection

from domain.evolve import fold
from domain.paths import spot_of
from domain.raw_json import dumped
from infrastructure.reading.alternatives import alternatives
from infrastructure.reading.fingerprint import Fingerprints, fingerprints
from infrastructure.reading.moment import At, Moment, moment
from infrastructure.reading.places import boxes
from infrastructure.reading.transcript import (
    extent,
    extent_placed,
    folded,
    live_view,
    page,
    spans_of,
    summary,
)
from infrastructure.reading.transcript_json import page_json
from infrastructure.reading.turns import TurnFilter, TurnQuery, TurnView, turn, turns
from projections.chains import reference_fingerprint
from projections.transcript import TranscriptMessage
from projections.window import Extent
from tests.infrastructure.reading.asking import as_json
from tests.infrastructure.reading.wandering import WANDERINGS, Step, Wanderer, wandered
from tests.infrastructure.test_lookup import COUNT
from tests.infrastructure.writing import Store
from tests.projections.viewing import messages

SESSIONS = count(1)
FEW = settings(COUNT, max_examples=5)
Shape = dict[str, Any]


def at(connection: Connection, wanderer: Wanderer, version: int | None = None) -> Moment:
    when = None if version is None else At(version=version)
    return moment(connection, wanderer.where, when)


def paged(connection: Connection, found: Moment, shown: Extent, limit: int) -> list[str]:
    read: list[str] = []
    slot = shown.first
    while slot < shown.end:
        read += page_json(connection, found, shown.after(slot, limit))
        slot += limit
    return read


def read(connection: Connection, found: Moment) -> list[list[str]]:
    """Return the transcript with the archived ones, and all that was ever placed."""
    return [
        paged(connection, found, shown, 200)
        for shown in (extent(found, with_archived=True), extent_placed(connection, found))
    ]


@FEW
@given(steps=WANDERINGS)
def test_the_past_reads_as_it_did_when_it_was_now(store: Store, steps: Sequence[Step]) -> None:
    wanderer = wandered(store, [], f"w{next(SESSIONS)}")
    remembered: dict[int, object] = {}
    for step in steps:
        wanderer.take(step)
        if wanderer.facts():
            with store.database.read() as connection:
                now = at(connection, wanderer)
                remembered[now.through] = (
                    read(connection, now),
                    fingerprints(connection, now, v1=True),
                )
    with store.database.read() as connection:
        for version, then in remembered.items():
            past = at(connection, wanderer, version)
            again = read(connection, past), fingerprints(connection, past, v1=True)
            assert again == then, version


@FEW
@given(steps=WANDERINGS)
def test_a_version_reads_as_a_fold_up_to_it(store: Store, steps: Sequence[Step]) -> None:
    wanderer = wandered(store, steps, f"w{next(SESSIONS)}")
    facts = wanderer.facts()
    with store.database.read() as connection:
        for version in range(1, len(facts) + 1):
            past = at(connection, wanderer, version)
            expected = messages(facts[:version])
            shown = extent(past, with_archived=True)
            assert as_json(page(connection, past, shown.after(0, 200))) == as_json(expected)
            live = [message for message in expected if message.state == "live"]
            assert as_json([*live_view(connection, past).messages]) == as_json(live)
            head = fold(facts[:version]).head
            assert fingerprints(connection, past, v1=True) == Fingerprints(
                history=head.fingerprint.hex(),
                model_history=head.model_fingerprint.hex(),
                history_v1=reference_fingerprint(live),
                config=None,
            ), version
            assert (past.sight.messages, past.sight.turns) == (head.messages, head.turns)
            assert (past.sight.placed, past.sight.started) == (head.placed, head.started)
            assert past.sight.spot == spot_of(head)


@FEW
@given(steps=WANDERINGS)
def test_all_that_was_ever_placed_is_there_in_its_order(
    store: Store, steps: Sequence[Step]
) -> None:
    wanderer = wandered(store, steps, f"w{next(SESSIONS)}")
    plain = wanderer.plain
    with store.database.read() as connection:
        for version in range(1, len(plain.seen)):
            past = at(connection, wanderer, version)
            shown = extent_placed(connection, past)
            told: list[Shape] = [m.shape() for m in page(connection, past, shown.after(0, 200))]
            seen = plain.seen[version]
            placed = [
                placed
                for _, placed in sorted(plain.state.messages.items())
                if placed.versions[0] <= version
            ]
            assert [
                (m["message_id"], m["index"], m["state"]) for m in told if "summary" not in m
            ] == [(p.message_id, plain.depth[p.index], _state(seen, p.index)) for p in placed], (
                version
            )
            if past.summary_version is not None:
                (place,) = (n for n, message in enumerate(told) if "summary" in message)
                states = [message["state"] for message in told]
                assert states[place - 1] == "archived"
                assert "archived" not in states[place:]


@FEW
@given(steps=WANDERINGS)
def test_the_turns_of_a_version_are_those_in_sight_then(
    store: Store, steps: Sequence[Step]
) -> None:
    wanderer = wandered(store, steps, f"w{next(SESSIONS)}")
    facts = wanderer.facts()
    with store.database.read() as connection:
        for version in range(1, len(facts) + 1):
            past = at(connection, wanderer, version)
            known, seen = fold(facts[:version]).turns, wanderer.plain.seen[version].turns
            listed = _listed(connection, past, TurnQuery(ascending=True, limit=200))
            assert [view.turn for view in listed] == [known[name] for name in seen], version
            assert {view.state for view in listed} <= {"live"}
            if version % 3 and version < len(facts):  # pages are read at some, and at the last
                continue
            backward = _listed(connection, past, TurnQuery(limit=2))
            assert [view.turn for view in backward] == [view.turn for view in listed[::-1]]
            statuses: set[TurnFilter] = {view.status for view in listed}
            for status in statuses:
                query = TurnQuery(status=status, ascending=version % 2 == 0, limit=2)
                same = [view for view in listed if view.status == status]
                assert _listed(connection, past, query) == same[:: 1 if query.ascending else -1]
            every = _listed(connection, past, TurnQuery(with_rewound=True, ascending=True, limit=3))
            assert [view.turn for view in every] == [*known.values()]
            for view in every:
                name = view.turn.turn_id
                assert view.state == ("live" if name in seen else "rewound")
                assert turn(connection, past, name) == view


def _listed(connection: Connection, found: Moment, query: TurnQuery) -> list[TurnView]:
    """Return all turns, page by page."""
    listed: list[TurnView] = []
    while page := turns(connection, found, query):
        listed += page
        query = replace(query, after=page[-1].turn.number)
    return listed


def _state(seen: Any, index: int) -> str:  # noqa: ANN401
    if index not in seen.path:
        return "rewound"
    return "archived" if seen.path.index(index) < seen.archived else "live"


@FEW
@given(steps=WANDERINGS)
def test_bodies_that_pass_through_read_as_if_they_were_folded(
    store: Store, steps: Sequence[Step]
) -> None:
    wanderer = wandered(store, steps, f"w{next(SESSIONS)}")
    facts = wanderer.facts()
    with store.database.read() as connection:
        for version in range(1, len(facts) + 1, 3):
            past = at(connection, wanderer, version)
            for shown in (extent(past, with_archived=True), extent_placed(connection, past)):
                expected = [json for _, json in _folded(connection, past, shown, 200)]
                for limit in (200, 3):
                    assert paged(connection, past, shown, limit) == expected, version


@FEW
@given(steps=WANDERINGS)
def test_a_message_names_what_began_in_its_place_and_a_redo_brings_it_back(
    store: Store, steps: Sequence[Step]
) -> None:
    wanderer = wandered(store, steps, f"w{next(SESSIONS)}")
    plain = wanderer.plain
    names = {placed.message_id: index for index, placed in plain.state.messages.items()}
    with store.database.read() as connection:
        for version in range(1, len(plain.seen)):
            past = at(connection, wanderer, version)
            shown = extent_placed(connection, past)
            path = plain.seen[version].path
            for message, _ in _folded(connection, past, shown, 200):
                if message.summary:
                    continue
                others = message.others
                index = names[message.message_id]
                assert [names[other.message_id] for other in others.alternatives] == [
                    other
                    for other, before in sorted(plain.before.items())
                    if before == plain.before[index] and other != index
                    if plain.state.messages[other].versions[0] <= version
                ]
                assert others.more == 0
                for other in others.alternatives:
                    placed = plain.state.messages[names[other.message_id]]
                    assert (other.turn_id, other.version) == (placed.turn_id, placed.versions[0])
                    rewind = other.rewind_version
                    assert (rewind is None) == (placed.index in path)
                    if rewind is not None:
                        assert rewind <= version
                        assert placed.index in plain.seen[rewind - 1].path


def _folded(
    connection: Connection, found: Moment, shown: Extent, limit: int
) -> list[tuple[TranscriptMessage, str]]:
    """Return a page with what began in each message's place, none of it passed through."""
    window = shown.after(shown.first, limit)
    spans = spans_of(connection, found, window)
    others = alternatives(connection, found, spans)
    messages = [
        message
        for box in boxes(spans)
        for message in folded(connection, found, box, others=others, cut=True)
    ]
    if window.summary:
        messages.insert(window.before_summary, summary(connection, found, cut=True))
    return [(each, dumped(each.shape()).decode()) for each in messages]
