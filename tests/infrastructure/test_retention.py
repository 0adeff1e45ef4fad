"""What ended long ago goes, once its time is over; what is pinned, held or young stays."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from sqlalchemy import Boolean, Integer, LargeBinary
from sqlalchemy.types import BigInteger

from domain import commands as c
from domain import events as e
from domain.events.session import Parent
from domain.refusals import NoSuchSession
from domain.retention import DAY_US, Retention, kept_for
from infrastructure import tables as t
from infrastructure.deleting import restore
from infrastructure.lookup import find_head
from infrastructure.project_settings import change_settings
from infrastructure.retention import (
    Ended,
    Pruned,
    Pruning,
    count_ended,
    ended,
    projects_that_retain,
    prune,
    retire,
    would_prune,
)
from infrastructure.setting_rows import Change
from tests.infrastructure.families import asked, forked
from tests.infrastructure.writing import NOBODY, Store, propose, target, turn

PARKED = propose(
    "harness-parked", b'{"seat_id":"seat-1","owner":"runner-1","state":"idle","turn_id":"t1"}'
)
STARTED = propose(
    "harness-started", b'{"seat_id":"seat-1","owner":"runner-1","path":"cold","turn_id":"t1"}'
)


def archive(store: Store, session_id: str, *before: c.SessionCommand) -> None:
    store.append(turn("t1"), session_id)
    asked(store, session_id, *before, c.ArchiveSession())


def bind(store: Store, session_id: str, *, lane: int = 1, status: str = "open") -> None:
    """Have a lane say that this is its current session."""
    empty: dict[type, object] = {Boolean: False, Integer: 0, BigInteger: 0, LargeBinary: b""}
    row: dict[str, object] = {
        column.name: None if column.nullable else empty.get(type(column.type), "")
        for column in t.lanes.columns
    }
    known: dict[str, object] = {
        "session_key": 10_000 + lane,
        "project_id": "default",
        "lane_id": f"{lane}",
    }
    with store.database.write() as connection:
        connection.execute(
            t.lanes.insert().values(row | known | {"session_id": session_id, "status": status})
        )


def later(store: Store, days: int = 10) -> Retention:
    """Return what it means to keep sessions 5 days, so many days later."""
    store.clock.at += days * DAY_US
    return kept_for(5, store.clock.at)


def found(store: Store, retention: Retention, limit: int = 100) -> list[str]:
    with store.database.read() as connection:
        targets = ended(connection, "default", retention, store.clock.at, limit)
    return [target.session_id for target in targets]


def retired(store: Store, session_ids: Sequence[str], retention: Retention) -> list[str]:
    targets = [target(session_id) for session_id in session_ids]
    return list(
        store.runner.run(lambda attempt: retire(store.handler, attempt, targets, retention, NOBODY))
    )


def statuses(store: Store, *session_ids: str) -> Mapping[str, str]:
    with store.database.read() as connection:
        return {each: find_head(connection, "default", each)[1].head.status for each in session_ids}


def test_what_ended_long_ago_goes_by_itself_and_what_something_holds_stays(store: Store) -> None:
    archive(store, "old")
    asked(store, "below", c.OpenSession(parent=Parent(session_id="old")))
    forked(store, "old", "fork")
    archive(store, "pinned", c.PinSession(pinned=True))
    store.append([*turn("t1"), STARTED, PARKED], "parked")
    asked(store, "parked", c.ArchiveSession())
    archive(store, "bound")
    bind(store, "bound")
    archive(store, "left")
    bind(store, "left", lane=2, status="pruned")
    later(store)
    archive(store, "young")
    retention = later(store, 4)

    assert found(store, retention) == ["old", "left"]
    assert found(store, replace(retention, include_pinned=True)) == ["old", "pinned", "left"]
    with store.database.read() as connection:
        counts = count_ended(connection, "default", retention, store.clock.at)
    assert counts == Ended(going=2, pinned=1, in_use=2)
    everything = ("old", "below", "fork", "pinned", "parked", "bound", "left", "young")
    assert retired(store, everything, retention) == ["old", "left"]

    assert store.facts("old")[-1].event == e.SessionDeleted(reason="retention")
    assert statuses(store, *everything) == {
        "old": "deleted",
        "below": "open",
        "fork": "open",
        "pinned": "archived",
        "parked": "archived",
        "bound": "archived",
        "left": "deleted",
        "young": "archived",
    }
    store.runner.run(lambda attempt: restore(store.handler, attempt, target("old"), NOBODY))
    assert statuses(store, "old") == {"old": "archived"}
    assert found(store, retention) == []  # it was just written to


def test_what_became_live_between_the_look_and_the_write_stays(store: Store) -> None:
    names = ["out", "pinned", "parked", "bound", "gone", "still"]
    for name in names:
        archive(store, name)
    retention = later(store)
    assert found(store, retention) == names
    asked(store, "out", c.UnarchiveSession())
    asked(store, "pinned", c.PinSession(pinned=True))
    parked = e.HarnessStarted(seat_id="seat-1", owner="host-1", path="cold")
    asked(store, "parked", c.Note(event=parked))
    bind(store, "bound")
    asked(store, "gone", c.DeleteSession())

    assert retired(store, [*names, "never"], Retention(before=store.clock.at + DAY_US)) == ["still"]


def test_who_pins_while_sessions_go_either_keeps_one_or_is_told_that_it_went(
    store: Store,
) -> None:
    names = [f"s{number}" for number in range(12)]
    for name in names:
        archive(store, name)
    retention = later(store)

    def go() -> int:
        return sum(len(retired(store, [name], retention)) for name in names)

    def pin(name: str) -> bool:
        try:
            asked(store, name, c.PinSession(pinned=True))
        except NoSuchSession:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        going = pool.submit(go)
        kept = sum(pool.map(pin, reversed(names)))
    assert going.result() + kept == len(names)


def test_a_project_keeps_what_ended_for_ever_until_it_says_otherwise(store: Store) -> None:
    for name in ("a", "b", "c"):
        archive(store, name)
    later(store)
    asked_for = Pruning(project_id="default", limit=2)

    def pruned(asked_for: Pruning) -> Pruned:
        return store.runner.run(lambda attempt: prune(store.handler, attempt, asked_for, NOBODY))

    assert pruned(asked_for) == Pruned(days=0)
    with store.database.write() as connection:
        assert projects_that_retain(connection) == {}
        change = Change(None, store.clock.at)
        change_settings(connection, "default", {"sessions": {"retain_ended_days": 5}}, change)
    with store.database.read() as connection:
        assert projects_that_retain(connection) == {"default": 5}
        would = would_prune(connection, asked_for, store.clock.at)
    assert (would.days, would.session_ids, would.remaining) == (5, ["a", "b"], 1)
    assert statuses(store, "a") == {"a": "archived"}
    assert pruned(asked_for) == would
    assert pruned(asked_for).session_ids == ["c"]
    assert pruned(asked_for).session_ids == []
    longer = Pruning(project_id="default", limit=2, days=11)
    assert pruned(longer).counts == Ended()
