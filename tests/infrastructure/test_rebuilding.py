"""Views follow from the log: what differs is found, named and made again."""

from typing import Any, TypeVar

import pytest
from sqlalchemy import Select, Table, select, text

from infrastructure import tables as t
from infrastructure.rebuilding import Difference, Rebuilt, rebuild
from infrastructure.runner import Runner, Work
from tests.infrastructure.journeys import by_hand, eventful
from tests.infrastructure.writing import Store, note, turn

Answer = TypeVar("Answer")
Rows = dict[str, list[tuple[object, ...]]]


def rows(store: Store) -> Rows:
    with store.database.read() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(_view(table))), key=repr)
            for table in t.VIEWS
        }


def _view(table: Table) -> Select[Any]:
    return select(*(column for column in table.columns if column.name != "last_xid"))


def difference(table: str, missing: int = 0, extra: int = 0, changed: int = 0) -> Difference:
    return Difference(
        project_id="default",
        session_id="s1",
        table=table,
        missing=missing,
        extra=extra,
        changed=changed,
    )


def execute(store: Store, *statements: str) -> None:
    with store.database.write() as connection:
        for statement in statements:
            connection.execute(text(statement))


def test_what_an_eventful_session_left_is_what_its_log_makes(store: Store) -> None:
    eventful(store)
    store.append(turn("t3"))
    before = rows(store)
    assert rebuild(store.database, store.runner) == Rebuilt(sessions=1, equal=1, differences=())
    assert rows(store) == before


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE heads SET title = 'x'", difference("heads", changed=1)),
        ("UPDATE heads SET known_position = 0", difference("heads", changed=1)),
        ("DELETE FROM turns WHERE turn_id = 't1'", difference("turns", missing=1)),
        ("UPDATE calls SET gated = true", difference("calls", changed=3)),
        ("UPDATE gates SET decided_by = 'policy'", difference("gates", changed=1)),
        ("UPDATE messages SET partial = true", difference("messages", changed=7)),
        ("DELETE FROM losses", difference("losses", missing=1)),
        (
            "INSERT INTO losses (session_key, version) VALUES (1, 999)",
            difference("losses", extra=1),
        ),
    ],
)
def test_what_differs_is_said_and_mended(
    store: Store, statement: str, expected: Difference
) -> None:
    eventful(store)
    before = rows(store)
    execute(store, statement)
    found = Rebuilt(sessions=1, equal=0, differences=(expected,))
    assert rebuild(store.database, store.runner, check_only=True) == found
    assert rebuild(store.database, store.runner) == found
    assert _without_writer(rows(store)) == _without_writer(before)
    assert rebuild(store.database, store.runner).equal == 1


def test_dropped_views_are_made_again_and_go_on(store: Store) -> None:
    eventful(store)
    store.append([note(b"1")], "s2")
    before = rows(store)
    execute(store, *(f"DELETE FROM {table.name}" for table in t.VIEWS))
    assert rebuild(store.database, store.runner).sessions == 2
    after = rows(store)
    assert _without_writer(after) == _without_writer(before)
    store.append(turn("t3"), producer_id="p3")
    assert rebuild(store.database, store.runner).equal == 2


class Overtaken(Runner):
    """A runner that another writer is always faster than."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.database)
        self._store = store

    def run(self, work: Work[Answer]) -> Answer:
        self._store.append(turn("t3"), producer_id="p3")
        return super().run(work)


def test_what_is_appended_during_the_comparison_is_in_the_views_made_again(store: Store) -> None:
    eventful(store)
    execute(store, "UPDATE turns SET status = 'running'")
    runner = Overtaken(store)
    found = rebuild(store.database, runner).differences
    runner.close()
    assert found == (difference("turns", changed=2),)
    assert rebuild(store.database, store.runner) == Rebuilt(sessions=1, equal=1, differences=())
    assert any("t3" in row for row in rows(store)["turns"])


def test_only_the_sessions_asked_for_are_rebuilt(store: Store) -> None:
    store.append([note(b"1")], "s1")
    store.append([note(b"1")], "s2")
    execute(store, "UPDATE heads SET title = 'x'")
    assert rebuild(store.database, store.runner, "another").sessions == 0
    only = rebuild(store.database, store.runner, "default", "s1")
    assert only.differences == (difference("heads", changed=1),)
    rest = rebuild(store.database, store.runner, "default")
    assert [each.session_id for each in rest.differences] == ["s2"]


def test_a_session_whose_log_ends_before_its_head_is_reported_and_left_alone(
    store: Store,
) -> None:
    eventful(store)
    with by_hand(store) as connection:
        connection.exec_driver_sql("DELETE FROM events WHERE version >= 18")
    before = rows(store)
    found = rebuild(store.database, store.runner)
    assert found.differences[0] == difference("events", missing=2)
    after = rows(store)
    assert {**after, "heads": ()} == {**before, "heads": ()}
    execute(store, "UPDATE heads SET unreadable = 1")  # as it was: one that cannot be read
    assert after["heads"] != before["heads"] == rows(store)["heads"]


def test_a_session_whose_log_ends_before_its_head_is_not_ready_any_more(store: Store) -> None:
    store.append(turn("t1"))
    with by_hand(store) as connection:
        connection.exec_driver_sql("DELETE FROM events WHERE version >= 4")
    for _ in range(2):
        rebuild(store.database, store.runner)
        with store.database.read() as connection:
            assert connection.execute(select(t.heads.c.unreadable)).scalar_one() == 2


def test_progress_counts_the_sessions(store: Store) -> None:
    store.append([note(b"1")], "s1")
    store.append([note(b"1")], "s2")
    heard: list[int] = []
    rebuild(store.database, store.runner, progress=heard.append)
    assert heard == [1, 2]


def _without_writer(found: Rows) -> Rows:
    """Leave out `heads.last_xid`, which is PostgreSQL's own."""
    heads = [(*row[:2], *row[3:]) for row in found["heads"]]
    return {**found, "heads": heads}
