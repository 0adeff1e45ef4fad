"""Lanes to which nothing came for long go, and their conversations stay; what is held stays too."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select

from domain import commands as c
from domain import events as e
from domain.events.lane import LanePruned
from domain.json_text import JsonValue
from domain.lanes.decide import LaneCommand, MarkResume, PinLane, SuspendLane, SwitchLane
from domain.lanes.pruning import DAY_US, Cutoff, cutoff
from domain.raw_json import RawJson
from infrastructure import tables as t
from infrastructure.lanes.facts import decode, stream_name
from infrastructure.lanes.listing import LaneQuery, lane_sessions
from infrastructure.lanes.listing import lanes as listed
from infrastructure.lanes.pruning import (
    PrunedLanes,
    Rested,
    RestedCounts,
    count_rested,
    give_up,
    projects_that_prune,
    prune_lanes,
    rested,
    would_prune_lanes,
)
from infrastructure.lanes.resolving import Resolved
from infrastructure.project_settings import change_settings
from infrastructure.rebuilding import rebuild
from infrastructure.retention import Pruning
from infrastructure.setting_rows import Change
from infrastructure.verification import verify_all
from tests.infrastructure.lanes.arrivals import lanes, resolve
from tests.infrastructure.lanes.test_recovery import begin, cut_off, end
from tests.infrastructure.lanes.test_resolving import ask, carry_out, now
from tests.infrastructure.writing import NOBODY, Store, propose, turn

DAYS = 5


def place(name: str) -> dict[str, JsonValue]:
    return {"platform": "telegram", "chat_id": name}


def opened(store: Store, *names: str) -> Mapping[str, tuple[str, str]]:
    """Return the lane and the session of each place."""
    found = {name: resolve(store, place(name)) for name in names}
    return {name: (each.found.lane_id, each.session_id) for name, each in found.items()}


def given(store: Store, *, include_pinned: bool = False) -> Cutoff:
    found = cutoff(DAYS, store.clock.at, include_pinned=include_pinned)
    assert found is not None
    return found


def could_go(store: Store, *, include_pinned: bool = False) -> list[str]:
    cut = given(store, include_pinned=include_pinned)
    with store.database.read() as connection:
        found = rested(connection, "default", cut, store.clock.at, 100)
    return [each.lane_id for each in found]


def pruned(store: Store, lane_ids: Sequence[str]) -> list[str]:
    found = [Rested("default", lane_id) for lane_id in lane_ids]
    cut, at = given(store), store.clock.at
    return list(
        store.runner.run(lambda attempt: give_up(lanes(store), attempt, found, cut, at, NOBODY))
    )


def events(store: Store) -> int:
    with store.database.read() as connection:
        return connection.execute(select(func.count()).select_from(t.events)).scalar_one()


def queue(store: Store, session_id: str) -> None:
    waits = e.InputQueued(queue_id="q1", request=RawJson(b'{"on_busy":"queue"}'))
    carry_out(store, session_id, c.Note(event=waits))


def ask_person(store: Store, session_id: str) -> None:
    gate = propose("gate-opened", b'{"turn_id":"t1","gate_id":"g1","kind":"input"}')
    carry_out(store, session_id, c.Record(proposal=gate))


def park(store: Store, session_id: str, turn_id: str = "t1") -> None:
    started = e.HarnessStarted(seat_id="seat-1", owner="host-1", path="cold", turn_id=turn_id)
    carry_out(store, session_id, c.Note(event=started))


def test_a_lane_goes_by_a_fact_its_sessions_stay_and_it_finds_them_again(store: Store) -> None:
    (lane_id, session_id) = opened(store, "a")["a"]
    store.append(turn("t1"), session_id)
    facts = store.facts(session_id)
    store.clock.at += DAYS * DAY_US
    assert could_go(store) == []  # not yet: it is as old, and not older
    assert pruned(store, [lane_id]) == []
    store.clock.at += 1
    assert could_go(store) == [lane_id]
    assert pruned(store, [lane_id]) == [lane_id]
    assert pruned(store, [lane_id, "0" * 32]) == []

    fact = [*store.log.stream("default", stream_name(lane_id))][-1]
    assert decode(fact.envelope.type, 1, fact.body) == LanePruned()
    assert now(store, lane_id).lane.status == "pruned"
    with store.database.read() as connection:
        assert listed(connection, LaneQuery(project_id="default")) == []
        gone = listed(connection, LaneQuery(project_id="default", status="pruned"))
        assert [each.lane_id for each in gone] == [lane_id]
        kept = lane_sessions(connection, now(store, lane_id), after=None, limit=9)
    assert [each.session_id for each in kept] == [session_id]
    assert store.facts(session_id) == facts
    again = resolve(store, place("a"), touches=False)
    assert (again.reason, again.session_id) == ("recovered", session_id)
    assert could_go(store) == []  # what is opened again rests from then on
    assert rebuild(store.database, store.runner).differences == ()
    assert all(each.ok for each in verify_all(store.database))


def test_only_what_nothing_holds_goes_and_nothing_is_written_of_the_others(store: Store) -> None:
    names = (
        "pinned",
        "suspended",
        "stopped",
        "marked",
        "cut-off",
        "running",
        "paused",
        "waiting",
        "parked",
    )
    known = opened(store, *names, "deleted", "free", "young")
    orders: Mapping[str, LaneCommand] = {
        "pinned": PinLane(pinned=True),
        "suspended": SuspendLane(reason="stuck"),
        "marked": MarkResume(reason="restart-timeout"),
    }
    for name, order in orders.items():
        ask(store, known[name][0], order)
    at = {name: session_id for name, (_, session_id) in known.items()}
    for number in range(3):
        cut_off(store, at["stopped"], f"t{number}")
    cut_off(store, at["cut-off"], "t1", known["cut-off"][0])
    for name in ("running", "paused"):
        begin(store, at[name], "t1", known[name][0])
    ask_person(store, at["paused"])
    queue(store, at["waiting"])
    begin(store, at["parked"], "t1", None)
    park(store, at["parked"])
    end(store, at["parked"], "t1", "turn-completed")
    carry_out(store, at["deleted"], c.DeleteSession())
    store.clock.at += (DAYS + 1) * DAY_US
    resolve(store, place("young"))

    assert could_go(store) == [known[name][0] for name in ("deleted", "free")]
    pinned = could_go(store, include_pinned=True)
    assert pinned == [known[name][0] for name in ("pinned", "deleted", "free")]
    with store.database.read() as connection:
        counts = count_rested(connection, "default", given(store), store.clock.at)
    told = RestedCounts(going=2, pinned=1, suspended=2, in_use=4, resume_pending=2)
    assert counts == told
    before = events(store)
    every = [lane_id for lane_id, _ in known.values()]
    held = [known[name][0] for name in (*names, "young")]
    assert pruned(store, held) == []
    assert events(store) == before
    assert pruned(store, every) == [known[name][0] for name in ("deleted", "free")]
    assert events(store) == before + 2


@pytest.mark.parametrize("how", ["turn", "gate", "seat"])
def test_what_came_by_another_lane_with_the_same_session_holds_that_one_only(
    store: Store, how: str
) -> None:
    known = opened(store, "mine", "theirs")
    (mine, before), (theirs, shared) = known["mine"], known["theirs"]
    ask(store, mine, SwitchLane(session_id=shared))
    assert now(store, mine).lane.session_id == shared != before
    begin(store, shared, "t1", theirs)
    if how == "gate":
        ask_person(store, shared)
    if how == "seat":
        park(store, shared)
        end(store, shared, "t1", "turn-completed")
    store.clock.at += (DAYS + 1) * DAY_US

    assert pruned(store, [mine, theirs]) == [mine]
    resolve(store, place("mine"))
    # Whose it is cannot be told any more: the other one left.
    if how == "seat":
        begin(store, shared, "t2", None)
        end(store, shared, "t2", "turn-completed")
    ask(store, theirs, SwitchLane(session_id=before))
    store.clock.at += (DAYS + 1) * DAY_US
    assert pruned(store, [mine, theirs]) == [theirs]


def test_what_became_alive_between_the_look_and_the_write_stays(store: Store) -> None:
    names = ("touched", "pinned", "running", "gone", "still")
    known = opened(store, *names)
    store.clock.at += (DAYS + 1) * DAY_US
    every = [known[name][0] for name in names]
    assert could_go(store) == every
    resolve(store, place("touched"))
    ask(store, known["pinned"][0], PinLane(pinned=True))
    begin(store, known["running"][1], "t1", known["running"][0])
    assert pruned(store, [known["gone"][0]]) == [known["gone"][0]]

    assert pruned(store, every) == [known["still"][0]]


def test_several_who_prune_at_once_while_messages_come_count_each_lane_once(store: Store) -> None:
    known = opened(store, *(f"c{number}" for number in range(12)))
    ids = [lane_id for lane_id, _ in known.values()]
    store.clock.at += (DAYS + 1) * DAY_US

    def go() -> int:
        return sum(len(pruned(store, ids[at : at + 3])) for at in range(0, len(ids), 3))

    def come(name: str) -> Resolved:
        return resolve(store, place(name))

    with ThreadPoolExecutor(6) as pool:
        going = [pool.submit(go) for _ in range(3)]
        came = [*pool.map(come, known)]
        gone = sum(each.result() for each in going)
    assert [each.session_id for each in came] == [session_id for _, session_id in known.values()]
    assert gone == sum(each.reason == "recovered" for each in came)
    with store.database.read() as connection:
        assert len(listed(connection, LaneQuery(project_id="default"))) == len(known)
    assert rebuild(store.database, store.runner).differences == ()


def test_lanes_rest_for_ever_until_a_project_says_otherwise(store: Store) -> None:
    known = opened(store, "a", "b", "c")
    a, b, third = (lane_id for lane_id, _ in known.values())
    store.clock.at += (DAYS + 1) * DAY_US
    asked = Pruning(project_id="default", limit=2)

    def prune(asked: Pruning) -> PrunedLanes:
        at = store.clock.at
        with store.database.read() as connection:
            would = would_prune_lanes(connection, asked, at)
        return store.runner.run(
            lambda attempt: prune_lanes(lanes(store), attempt, asked, would, at, NOBODY)
        )

    assert prune(asked) == prune(Pruning(project_id="default", limit=2, days=-1))
    assert prune(asked) == PrunedLanes()
    with store.database.write() as connection:
        assert projects_that_prune(connection) == {}
        change = Change(None, store.clock.at)
        change_settings(connection, "default", {"lanes": {"prune_after_days": DAYS}}, change)
    with store.database.read() as connection:
        assert projects_that_prune(connection) == {"default": DAYS}
        would = would_prune_lanes(connection, asked, store.clock.at)
    assert (would.days, would.lane_ids, would.remaining) == (DAYS, [a, b], 1)
    assert could_go(store) == [a, b, third]
    assert prune(asked) == would
    assert prune(asked).lane_ids == [third]
    last = prune(asked)
    assert (last.lane_ids, last.counts) == ([], RestedCounts())
    assert last.counts.spared() == {"pinned": 0, "suspended": 0, "in_use": 0, "resume_pending": 0}
