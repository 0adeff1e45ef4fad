"""Lanes are listed by how they stand, and what is long to look through holds up nobody else."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from sqlalchemy import Connection, event
from sqlalchemy.engine.interfaces import DBAPICursor

from domain.json_text import JsonValue
from infrastructure import tables as t
from infrastructure.lanes.earlier import earlier_sessions
from infrastructure.lanes.listing import MOST_SORTED, LaneQuery, lanes
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


def test_lanes_that_moved_were_given_up_or_are_pinned_are_listed(store: Store) -> None:
    found = {name: resolve(store, chat(name)).found for name in ("a", "b", "c", "d", "e")}
    moved: dict[str, object] = {"status": "moved", "moved_to": found["e"].lane_id, "follows": True}
    stand: dict[str, dict[str, object]] = {
        "a": {"status": "pruned"},
        "b": {"status": "pruned", "pinned": True},
        "c": moved,
        "d": {"pinned": True},
    }
    with store.database.write() as connection:
        for number, (name, each) in enumerate(found.items()):
            mine = t.lanes.c.session_key == each.key
            connection.execute(t.lanes.update().where(mine).values(stand.get(name, moved)))
            own = t.lane_activity.c.session_key == each.key
            connection.execute(t.lane_activity.update().where(own).values(touched_at=number))
        mine = t.lanes.c.session_key == found["e"].key
        connection.execute(t.lanes.update().where(mine).values(status="open"))
    pinned, pruned = replace(NEWEST, pinned=True), replace(NEWEST, status="pruned")

    def listings() -> list[list[str]]:
        return [
            listed(store, pruned),
            listed(store, replace(pruned, ascending=True, after=(0, found["a"].key))),
            listed(store, replace(pruned, pinned=False)),
            listed(store, replace(NEWEST, status="moved")),
            listed(store, pinned),
            listed(store, replace(pinned, status="all")),
            listed(store, replace(pinned, platform="signal")),
            listed(store, replace(pruned, project_id="other")),
        ]

    few = listings()
    assert few == [["b", "a"], ["b"], ["a"], ["c"], ["d"], ["d", "b"], [], []]

    with store.database.write() as connection:  # by now there are many, of another time
        rows = connection.execute(t.lanes.select().where(t.lanes.c.status == "pruned"))
        row = dict(rows.mappings().first() or {})
        many = [
            row | {"session_key": 1_000 + number, "lane_id": f"{number:032x}"}
            for number in range(MOST_SORTED)
        ]
        connection.execute(t.lanes.insert(), many)
    assert listings() == few


def test_few_of_many_lanes_are_looked_up_and_not_looked_for(store: Store) -> None:
    found = resolve(store).found
    chosen = {
        "ix_lanes_suspended": replace(NEWEST, status="suspended"),
        "ix_heads_suspended": replace(NEWEST, status="suspended"),
        "ix_lanes_resume": replace(NEWEST, status="resume-pending"),
        "ix_heads_resume": replace(NEWEST, status="resume-pending"),
    }
    for index, query in chosen.items():
        assert index in plan(store, partial(lanes, query=query)), index
    for aside in (
        replace(NEWEST, status="moved"),
        replace(NEWEST, status="pruned"),
        replace(NEWEST, pinned=True),
        replace(NEWEST, status="all", pinned=True),
    ):
        looked, asked = plans(store, partial(lanes, query=aside))
        assert "ix_lanes_aside" in looked, aside
        assert "ix_lanes_aside" in asked, aside
    if store.database.kind == "sqlite":  # on PostgreSQL that depends on how many there are
        by_owner = plan(store, partial(earlier_sessions, found=found))
        assert "ix_lanes_owner" in by_owner
        assert "SCAN" not in by_owner


def plan(store: Store, ask: Callable[[Connection], object]) -> str:
    """Return which way the database goes to answer."""
    return plans(store, ask)[0]


def plans(store: Store, ask: Callable[[Connection], object]) -> list[str]:
    """Return which way the database goes for each statement."""
    said: list[tuple[str, Any]] = []

    def note(_: object, __: object, statement: str, parameters: object, *___: object) -> None:
        said.append((statement, parameters))

    with store.database.read() as connection:
        event.listen(connection, "before_cursor_execute", note)
        ask(connection)
        event.remove(connection, "before_cursor_execute", note)
        steps = connection.connection.cursor()
        if connection.dialect.name == "sqlite":
            return [
                _joined(steps, f"EXPLAIN QUERY PLAN {statement}", parameters, 3)
                for statement, parameters in said
            ]
        steps.execute("SET LOCAL enable_seqscan = off")  # where there are few, all are read
        return [
            _joined(steps, f"EXPLAIN {statement}", parameters, 0) for statement, parameters in said
        ]


def _joined(steps: DBAPICursor, statement: str, parameters: Any, place: int) -> str:  # noqa: ANN401
    steps.execute(statement, parameters)
    return " ".join(row[place] for row in steps.fetchall())


def test_a_list_is_long_unless_an_index_has_its_order_or_its_few() -> None:
    assert not NEWEST.is_long
    assert not replace(NEWEST, status="all", active_since=0).is_long
    assert replace(NEWEST, status="suspended").is_long
    assert replace(NEWEST, platform="irc").is_long
    assert replace(NEWEST, pinned=True).is_long
    assert not replace(NEWEST, platform="irc", lane_key="agent:main:irc:dm:1").is_long
    assert not replace(NEWEST, status="pruned", session_id="s1").is_long
