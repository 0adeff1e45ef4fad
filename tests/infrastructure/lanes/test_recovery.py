"""A lane keeps its session while something was cut off in it, until a turn ends well."""

from typing import Any

import pytest

from domain import commands as c
from domain import events as e
from domain.lanes.decide import ClearResume, MarkResume, SuspendLane
from domain.refusals import LaneIsSuspended, NoSuchLane
from domain.restarts import NOT_ADDRESSED
from infrastructure.lanes.lookup import the_lane
from infrastructure.lanes.platforms import connected_platforms, platforms, set_connected
from infrastructure.lanes.recovery import After, CutOff, page, why_held_back
from infrastructure.rebuilding import rebuild
from infrastructure.verification import verify_all
from tests.conftest import NewDatabase
from tests.infrastructure.lanes.arrivals import TELEGRAM, resolve
from tests.infrastructure.lanes.test_resolving import ask, carry_out, now
from tests.infrastructure.writing import SECOND, Store, opened, propose

HOUR = 3_600 * SECOND
MARK = MarkResume(reason="restart-timeout")


def begin(store: Store, session_id: str, turn_id: str, lane_id: str | None) -> None:
    named = "" if lane_id is None else f',"lane_id":"{lane_id}","reply_to":"m-{turn_id}"'
    body = f'{{"turn_id":"{turn_id}","messages":[{{"role":"user","content":"hi"}}]{named}}}'
    carry_out(store, session_id, c.Record(proposal=propose("turn-started", body.encode())))


def end(store: Store, session_id: str, turn_id: str, how: str, more: str = "") -> None:
    body = f'{{"turn_id":"{turn_id}"{more}}}'.encode()
    carry_out(store, session_id, c.Record(proposal=propose(how, body)))


def cut_off(store: Store, session_id: str, turn_id: str, lane_id: str | None = None) -> None:
    begin(store, session_id, turn_id, lane_id)
    carry_out(store, session_id, c.InterruptTurn(turn_id=turn_id, reason="server-restarted"))


def connect(store: Store, platform: str = "telegram", *, connected: bool = True) -> None:
    store.runner.run(
        lambda attempt: set_connected(
            attempt.connection, "default", platform, store.clock.at, connected=connected
        )
    )


def found(store: Store) -> list[CutOff]:
    every: list[CutOff] = []
    after: After | None = After()
    with store.database.read() as connection:
        while after is not None:
            some, after = page(connection, store.clock.at, after)
            every += some
    return every


def why(store: Store, lane_id: str) -> str | None:
    with store.database.read() as connection:
        return why_held_back(connection, now(store, lane_id), store.clock.at)


def test_a_marked_lane_keeps_its_session_and_its_mark_through_reads_and_restarts(
    store: Store, database_url: str
) -> None:
    first = resolve(store)
    ask(store, first.found.lane_id, MARK)
    ask(store, first.found.lane_id, MarkResume(reason="server-restarted"))

    def holds(at: Store) -> None:
        for again in (resolve(at), resolve(at)):
            assert (again.reason, again.session_id) == ("resume-pending", first.session_id)
            assert (again.created, again.resume_pending) == (False, True)
            lane = again.found.lane
            assert (lane.resume_reason, lane.reset_reason) == ("restart-timeout", None)
            assert lane.previous_session_id is None

    holds(store)
    with opened(database_url) as restarted:
        holds(restarted)
    assert rebuild(store.database, store.runner).differences == ()
    assert all(each.ok for each in verify_all(store.database))


def test_a_suspended_lane_gets_a_new_session_whatever_was_cut_off_and_takes_no_mark(
    store: Store,
) -> None:
    first = resolve(store)
    lane_id = first.found.lane_id
    ask(store, lane_id, MARK)
    ask(store, lane_id, SuspendLane(reason="stuck"))
    with pytest.raises(LaneIsSuspended):
        ask(store, lane_id, MARK)
    again = resolve(store)
    assert (again.reason, again.resume_pending) == ("suspended", False)
    assert again.session_id != first.session_id
    assert again.found.lane.reset_reason == "suspended"
    assert resolve(store).reason == "existing"


def test_nothing_is_marked_where_no_lane_is(store: Store) -> None:
    with store.database.read() as connection, pytest.raises(NoSuchLane):
        the_lane(connection, "default", "0" * 32)
    first = resolve(store)
    ask(store, first.found.lane_id, ClearResume(reason="asked"))
    assert now(store, first.found.lane_id).lane.version == first.found.lane.version


ENDS: list[tuple[str, str, bool]] = [
    ("turn-completed", "", False),
    ("turn-completed", ',"stop_reason":"max-tokens"', False),
    ("turn-completed", f',"stop_reason":"{NOT_ADDRESSED}"', True),
    ("turn-failed", ',"error":{"code":"x","message":"it broke"}', True),
    ("turn-interrupted", ',"reason":"asked"', True),
]
"""How a turn ends, and whether a mark is kept then."""


def test_only_a_turn_that_ends_well_takes_a_mark_away(store: Store) -> None:
    for number, (how, more, kept) in enumerate(ENDS):
        first = resolve(store, {**TELEGRAM, "chat_id": str(number)})
        lane_id = first.found.lane_id
        ask(store, lane_id, MARK)
        begin(store, first.session_id, "t1", lane_id)
        end(store, first.session_id, "t1", how, more)
        assert (now(store, lane_id).lane.resume_reason is not None) == kept, (how, more)
    of_runner = resolve(store, {**TELEGRAM, "chat_id": "runner"})
    ask(store, of_runner.found.lane_id, MARK)
    said = '"messages":[{"role":"user","content":"hi"}]'
    body = f'{{"turn_id":"t1","lane_id":"{of_runner.found.lane_id}",{said}}}'
    store.append([propose("turn-started", body.encode())], of_runner.session_id)
    over = propose("turn-completed", b'{"turn_id":"t1","record_count":1}')
    store.append([over], of_runner.session_id)
    assert now(store, of_runner.found.lane_id).lane.resume_reason is None
    assert rebuild(store.database, store.runner).differences == ()


def test_only_the_lane_by_which_a_turn_came_is_cleared_and_only_if_it_has_its_session(
    store: Store,
) -> None:
    first = resolve(store)
    other = resolve(store, {**TELEGRAM, "chat_id": "100"})
    for each in (first, other):
        ask(store, each.found.lane_id, MARK)
    begin(store, first.session_id, "t1", None)
    end(store, first.session_id, "t1", "turn-completed")
    begin(store, first.session_id, "t2", other.found.lane_id)
    end(store, first.session_id, "t2", "turn-completed")
    for each in (first, other):
        assert now(store, each.found.lane_id).lane.resume_reason == "restart-timeout"


def test_what_was_cut_off_in_a_lane_is_found_and_told_why_it_waits(store: Store) -> None:
    first = resolve(store)
    lane_id = first.found.lane_id
    assert why(store, lane_id) is None
    cut_off(store, first.session_id, "t1", lane_id)
    carry_out(store, "alone", c.OpenSession())
    cut_off(store, "alone", "t1")

    (one,) = found(store)
    assert one == CutOff(
        project_id="default",
        session_id=first.session_id,
        name="t1",
        of_lane=False,
        held="not-connected",
        is_stale=False,
        lane_id=lane_id,
        platform="telegram",
        reply_to="m-t1",
    )
    assert why(store, lane_id) == "not-connected"
    connect(store)
    assert [each.held for each in found(store)] == [None]
    assert why(store, lane_id) is None
    store.clock.at += HOUR
    assert why(store, lane_id) == "stale"
    carry_out(store, first.session_id, c.Note(event=e.ResumeCleared(turn_id="t1", reason="stale")))
    assert found(store) == []


def test_a_lanes_own_mark_counts_if_a_server_ran_what_was_cut_off(store: Store) -> None:
    first = resolve(store, {"platform": "web", "chat_id": "w"})
    lane_id = first.found.lane_id
    ask(store, lane_id, MARK)
    assert why(store, lane_id) == "not-hosted"
    begin(store, first.session_id, "t1", lane_id)
    assert why(store, lane_id) == "running"
    end(store, first.session_id, "t1", "turn-interrupted", ',"reason":"asked"')
    (one,) = found(store)
    assert (one.of_lane, one.held, one.reply_to) == (True, None, "m-t1")
    assert one.name == f"{lane_id}-{store.clock.at}"
    store.clock.at += SECOND
    begin(store, first.session_id, "t2", lane_id)
    end(store, first.session_id, "t2", "turn-interrupted", ',"reason":"asked"')
    assert why(store, lane_id) == "went-on"


def test_a_session_that_its_lane_left_is_not_gone_on_with(store: Store) -> None:
    first = resolve(store)
    lane_id = first.found.lane_id
    connect(store)
    begin(store, first.session_id, "t1", lane_id)
    resolve(store, force_new=True)
    carry_out(store, first.session_id, c.InterruptTurn(turn_id="t1", reason="server-restarted"))
    assert [each.held for each in found(store)] == ["left"]
    assert why(store, lane_id) is None


def test_what_came_by_a_place_that_moved_replies_to_no_message_of_the_new_one(store: Store) -> None:
    first = resolve(store)
    cut_off(store, first.session_id, "t1", "f" * 32)
    connect(store)
    (one,) = found(store)
    assert (one.held, one.lane_id, one.reply_to) == (None, first.found.lane_id, None)


def test_it_takes_as_many_statements_for_many_as_for_one(new_database: NewDatabase) -> None:
    with opened(new_database("sqlite")) as store:

        def counted() -> tuple[int, int]:
            seen: list[str] = []
            with store.database.read() as connection:
                raw: Any = connection.connection.driver_connection
                raw.set_trace_callback(seen.append)
                some, after = page(connection, store.clock.at, After())
                more, end = page(connection, store.clock.at, after or After())
                raw.set_trace_callback(None)
            assert end is None
            return len(some) + len(more), len(seen)

        counts: list[tuple[int, int]] = []
        for number in range(12):
            first = resolve(store, {**TELEGRAM, "chat_id": str(number)})
            if number % 2:
                cut_off(store, first.session_id, "t1", first.found.lane_id)
            else:
                ask(store, first.found.lane_id, MARK)
            counts.append(counted())
        assert [pending for pending, _ in counts] == list(range(1, 13))
        # With the second one there is something of either kind.
        assert len({statements for _, statements in counts[1:]}) == 1


def test_a_gateway_that_never_said_so_is_not_there(store: Store) -> None:
    with store.database.read() as connection:
        assert connected_platforms(connection, "default") == frozenset()
    connect(store)
    store.clock.at += SECOND
    connect(store)
    connect(store, "slack")
    connect(store, "slack", connected=False)
    with store.database.read() as connection:
        assert connected_platforms(connection, "default") == {"telegram"}
        assert connected_platforms(connection, "other") == frozenset()
        known = platforms(connection, "default")
    assert [tuple(each) for each in known] == [
        ("slack", False, store.clock.at),
        ("telegram", True, store.clock.at - SECOND),
    ]
