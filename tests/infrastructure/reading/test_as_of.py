"""Whatever is looked at, at whatever version: it is what a fold up to there gives."""

from collections.abc import Callable

import pytest
from sqlalchemy import Connection

from domain.evolve import fold
from domain.fingerprints import EMPTY
from domain.readiness import Policy, readiness
from domain.refusals import NoSuchSession
from domain.state import Placed
from infrastructure.reading.approvals import GateQuery, gates
from infrastructure.reading.fingerprint import Fingerprints, fingerprints
from infrastructure.reading.moment import At, Moment, NotReached
from infrastructure.reading.readiness import judged, state_at
from infrastructure.reading.transcript import live_view
from infrastructure.reading.turns import TurnQuery, TurnView, turns
from infrastructure.stored_records import placed_in
from projections.calls import gate_status
from projections.chains import reference_fingerprint
from tests.infrastructure.journeys import by_hand, eventful, unheard_of
from tests.infrastructure.reading.asking import (
    as_json,
    everything,
    gated_turn,
    long_session,
    looked,
)
from tests.infrastructure.writing import NEW_YEAR, SECOND, Store, propose, turn
from tests.projections.viewing import messages

POLICY = Policy(unverified_turns=False)


def compacted(store: Store) -> None:
    """Record three turns: a summary of one, one of two, one of more, and ones of nothing known."""
    store.append(gated_turn(1, "s1"))
    unheard_of(store, "s1", "history-compacted", b'{"summary":"?","through_message_id":"t2:1"}')
    for number, through in ((2, b"t1:1"), (3, b"t2:1")):
        store.append(gated_turn(number, "s1"))
        summary = b'{"summary":"so far %d","through_message_id":"%s"}' % (number, through)
        store.append([propose("history-compacted", summary)])
    for name in (b"nobody:7", b"nobody", b"a-t1", b"t3:99", b"t3:x"):
        body = b'{"summary":"once more","through_message_id":"%s"}' % name
        unheard_of(store, "s1", "history-compacted", body)
    store.append(
        [propose("tool-call-completed", b'{"turn_id":"t3","tool_call_id":"c","output":1}')]
    )


def instructed(store: Store) -> None:
    """Record a turn that instructions precede, one of which grows."""
    store.append(
        [
            propose(
                "turn-started",
                b'{"turn_id":"t1","messages":[{"role":"system","content":"be kind"}]}',
            ),
            propose(
                "message-recorded",
                b'{"turn_id":"t1","message":{"role":"developer","content":"be",'
                b'"message_id":"d1","status":"partial"}}',
            ),
            propose(
                "message-recorded",
                b'{"turn_id":"t1","message":{"role":"developer","content":"be brief",'
                b'"message_id":"d1"}}',
            ),
            propose(
                "message-recorded", b'{"turn_id":"t1","message":{"role":"user","content":"go"}}'
            ),
            propose(
                "message-recorded",
                b'{"turn_id":"t1","message":{"role":"system","content":"now be",'
                b'"message_id":"s1","status":"partial"}}',
            ),
            propose(
                "message-recorded",
                b'{"turn_id":"t1","message":{"role":"system","content":"now be quick",'
                b'"message_id":"s1"}}',
            ),
            propose("turn-completed", b'{"turn_id":"t1","record_count":6}'),
        ]
    )


JOURNEYS = [eventful, compacted, instructed]


@pytest.mark.parametrize("journey", JOURNEYS)
def test_the_transcript_of_each_version_is_that_of_a_fold(
    store: Store, journey: Callable[[Store], None]
) -> None:
    journey(store)
    facts = store.facts()

    for at in range(1, len(facts) + 1):
        shown = looked(store, everything, At(version=at))
        assert as_json(shown) == as_json(messages(facts[:at])), at


@pytest.mark.parametrize("journey", JOURNEYS)
def test_what_the_model_saw_is_the_live_part_of_it(
    store: Store, journey: Callable[[Store], None]
) -> None:
    journey(store)
    facts = store.facts()

    for at in range(1, len(facts) + 1):
        shown = looked(store, lambda c, m: list(live_view(c, m).messages), At(version=at))
        live = [message for message in messages(facts[:at]) if message.state == "live"]
        assert as_json(shown) == as_json(live), at


@pytest.mark.parametrize("journey", JOURNEYS)
def test_the_fingerprints_of_each_version_are_those_of_a_fold(
    store: Store, journey: Callable[[Store], None]
) -> None:
    journey(store)
    facts = store.facts()

    for at in range(1, len(facts) + 1):
        head = fold(facts[:at]).head
        live = [message for message in messages(facts[:at]) if message.state == "live"]
        assert looked(
            store, lambda c, m: fingerprints(c, m, v1=True), At(version=at)
        ) == Fingerprints(
            history=head.fingerprint.hex(),
            model_history=head.model_fingerprint.hex(),
            history_v1=reference_fingerprint(live),
            config=None,
        ), at


@pytest.mark.parametrize("journey", JOURNEYS)
def test_readiness_at_each_version_is_that_of_a_fold(
    store: Store, journey: Callable[[Store], None]
) -> None:
    journey(store)
    facts = store.facts()

    for at in range(1, len(facts) + 1):
        state = fold(facts[:at])
        turn = state.turns.get(state.head.turn_id or "")
        assert looked(store, state_at, At(version=at)) == (state.head, turn)
        assert looked(store, lambda c, m: judged(c, m, POLICY), At(version=at)) == (
            readiness(state.head, turn, POLICY),
            state.head,
        )


@pytest.mark.parametrize("journey", JOURNEYS)
def test_the_gates_that_waited_at_each_version_are_those_of_a_fold(
    store: Store, journey: Callable[[Store], None]
) -> None:
    journey(store)
    facts = store.facts()

    for at in range(1, len(facts) + 1):
        expected = [gate for gate in fold(facts[:at]).gates.values() if gate.status == "open"]
        query = GateQuery(project_id="default", through=at, ascending=True)
        with store.database.read() as connection:
            found = gates(connection, query)
        assert [view.gate.gate_id for view in found] == [gate.gate_id for gate in expected]
        assert all(gate_status(view.gate, at) == "open" for view in found)


@pytest.mark.parametrize("journey", JOURNEYS)
def test_the_turns_of_each_version_are_those_of_a_fold(
    store: Store, journey: Callable[[Store], None]
) -> None:
    journey(store)
    facts = store.facts()

    for at in range(1, len(facts) + 1):
        expected = [*fold(facts[:at]).turns.values()]
        shown = _turns_at(store, TurnQuery(ascending=True), at)
        assert [view.turn for view in shown] == expected, at
        for view in shown:
            chosen = _turns_at(store, TurnQuery(status=view.status, ascending=True), at)
            assert chosen == [each for each in shown if each.status == view.status]


def _turns_at(store: Store, query: TurnQuery, at: int) -> list[TurnView]:
    return looked(store, lambda c, m: [*turns(c, m, query)], At(version=at))


def test_a_time_stands_for_the_last_version_recorded_by_then(store: Store) -> None:
    long_session(store, 5)
    times = [fact.envelope.recorded_at for fact in store.facts()]

    def through(time: int) -> int:
        return looked(store, lambda _, m: m.through, At(time=time))

    for time in sorted({*times, *(t - 1 for t in times[2:]), NEW_YEAR + 99 * SECOND}):
        if time >= times[0]:
            assert through(time) == sum(known <= time for known in times)


def test_there_is_no_moment_before_the_beginning_or_after_the_end(store: Store) -> None:
    long_session(store, 1)

    for at in (
        At(version=0),
        At(version=12),
        At(version=10**17),
        At(time=NEW_YEAR),
        At(time=-(10**17)),
    ):
        with pytest.raises(NotReached):
            looked(store, everything, at)


def test_a_session_that_was_never_opened_has_no_moments(store: Store) -> None:
    with pytest.raises(NoSuchSession):
        looked(store, everything)


def test_before_anything_was_said_the_chains_are_empty(store: Store) -> None:
    long_session(store, 1)
    found = looked(store, lambda c, m: fingerprints(c, m, v1=False), At(version=1))

    assert found == Fingerprints(
        history=EMPTY.hex(), model_history=EMPTY.hex(), history_v1=None, config=None
    )


def test_a_missing_event_is_stepped_over_by_a_search_for_a_time(store: Store) -> None:
    long_session(store, 2)
    with by_hand(store) as connection:
        connection.exec_driver_sql("DELETE FROM bodies WHERE version = 11")
        connection.exec_driver_sql("DELETE FROM events WHERE version = 11")

    def through(_: object, found: Moment) -> int:
        return found.through

    assert looked(store, through, At(time=NEW_YEAR + 2 * SECOND)) == 21
    assert looked(store, through, At(time=NEW_YEAR + SECOND)) == 11


def test_messages_are_found_by_version_however_many_there_are(store: Store) -> None:
    many = b",".join(b'{"role":"user","content":"%d"}' % n for n in range(35))
    store.append(
        [
            propose("turn-started", b'{"turn_id":"t0","messages":[%s]}' % many),
            propose("turn-completed", b'{"turn_id":"t0"}'),
        ]
    )
    for number in range(1, 20):
        store.append(turn(f"t{number}"))
    versions = [fact.version for fact in store.facts()]
    begun = [message.versions[0] for message in looked(store, everything_placed)]
    assert [
        looked(store, lambda _, found: found.messages, At(version=version)) for version in versions
    ] == [sum(first <= version for first in begun) for version in versions]


def everything_placed(connection: Connection, found: Moment) -> list[Placed]:
    return placed_in(connection, found.key, 0, found.messages)
