"""Lanes are listed by how they stand, and what is long to look through holds up nobody else."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, event

from domain.json_text import JsonValue
from infrastructure import tables as t
from infrastructure.lanes.earlier import earlier_sessions
from infrastructure.lanes.listing import LaneQuery, lanes
from tests.infrastructure.lanes.arrivals import resolve
from tests.infrastructure.writing import Store

NEWEST = LaneQuery(project_id="default")


def chat(name: str) -> dict[str, JsonValue]:
    return {"platform": "telegram", "chat_id": name}


def listed(store: Store, query: LaneQuery) -> list[str]:
    with store.database.read() as connection:
        return [each.lane.lane_key.rpartition(":")[2] for each in lanes(connection, query)]


def test_a_lane_stands_as_it_does_or_as_its_current_session_does(store: Store) -> None:
    found = {name: resolve(store, chat(name)).found for name in ("a", "b", "c", "d", "e")}
    heads, kept = t.heads.update(), t.lanes.update()
    session_of = {name: found[name].lane.session_id for name in found}

    def head(connection: Connection, name: str, **values: object) -> None:
        key = t.streams.select().where(t.streams.c.session_id == session_of[name])
        row = connection.execute(key).one()
        connection.execute(heads.where(t.heads.c.session_key == row.session_key).values(values))

    with store.database.write() as connection:
        mine = t.lanes.c.session_key
        connection.execute(kept.where(mine == found["a"].key).values(suspended_reason="x"))
        head(connection, "b", suspended=True)
        connection.execute(kept.where(mine == found["c"].key).values(resume_reason="x"))
        head(connection, "d", resume_turn="t1")
        for number, each in enumerate(found.values()):
            own = t.lane_activity.c.session_key == each.key
            connection.execute(t.lane_activity.update().where(own).values(touched_at=number))

    assert listed(store, NEWEST) == ["e", "d", "c", "b", "a"]
    assert listed(store, replace(NEWEST, status="suspended")) == ["b", "a"]
    assert listed(store, replace(NEWEST, status="resume-pending", ascending=True)) == ["c", "d"]
    assert listed(store, replace(NEWEST, status="suspended", after=(1, found["b"].key))) == ["a"]
    assert listed(store, replace(NEWEST, status="suspended", project_id="other")) == []


def test_few_of_many_lanes_are_looked_up_and_not_looked_for(store: Store) -> None:
    if store.database.kind != "sqlite":
        return  # which way PostgreSQL goes depends on how many there are
    found = resolve(store).found
    suspended = replace(NEWEST, status="suspended")
    by_mark = plan(store, lambda connection: lanes(connection, suspended))
    assert "ix_lanes_suspended" in by_mark
    assert "ix_heads_suspended" in by_mark
    by_owner = plan(store, lambda connection: earlier_sessions(connection, found))
    assert "ix_lanes_owner" in by_owner
    assert "SCAN" not in by_owner


def plan(store: Store, ask: Callable[[Connection], object]) -> str:
    """Return which way SQLite goes to answer."""
    said: list[tuple[str, Any]] = []

    def note(_: object, __: object, statement: str, parameters: object, *___: object) -> None:
        said.append((statement, parameters))

    with store.database.read() as connection:
        event.listen(connection, "before_cursor_execute", note)
        ask(connection)
        statement, parameters = said[0]
        steps = connection.connection.cursor()
        steps.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
        return " ".join(row[3] for row in steps.fetchall())


def test_a_list_is_long_unless_an_index_has_its_order_or_its_few() -> None:
    assert not NEWEST.is_long
    assert not replace(NEWEST, status="all", active_since=0).is_long
    assert replace(NEWEST, status="suspended").is_long
    assert replace(NEWEST, platform="irc").is_long
    assert replace(NEWEST, pinned=True).is_long
    assert not replace(NEWEST, platform="irc", lane_key="agent:main:irc:dm:1").is_long
    assert not replace(NEWEST, status="pruned", session_id="s1").is_long
