"""Of a purged lane nothing is left but its id and the envelopes of its facts; it can begin anew."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import delete, make_url, select, text
from sqlalchemy.exc import DBAPIError

from domain import commands as c
from domain.events.lane import LanePurged
from domain.json_text import JsonValue
from domain.lanes.source import read_source
from domain.refusals import LaneHasSessions, NoSuchLane
from infrastructure import tables as t
from infrastructure.backing_up import back_up
from infrastructure.backup_format import Backup
from infrastructure.lanes.arriving import arrival
from infrastructure.lanes.facts import decode, stream_name
from infrastructure.lanes.listing import LaneQuery
from infrastructure.lanes.listing import lanes as listed
from infrastructure.lanes.lookup import find_lane
from infrastructure.lanes.purging import lane_foreseen, purge_lane
from infrastructure.prepared import end_pipeline
from infrastructure.purging import Purged
from infrastructure.rebuilding import rebuild
from infrastructure.restoring import restore
from infrastructure.runner import Attempt
from infrastructure.verification import verify_all
from tests.api.chats import eventually
from tests.api.serving import PATIENCE_S
from tests.databases import Databases
from tests.infrastructure.families import asked
from tests.infrastructure.lanes.arrivals import lanes, resolve
from tests.infrastructure.writing import NEW_YEAR, NOBODY, Store, opened, target

PLACE: dict[str, JsonValue] = {
    "platform": "telegram",
    "chat_type": "group",
    "chat_id": "-100",
    "chat_name": "zanzibarine gardeners",
    "user_id": "42",
    "user_name": "zanzibarine",
}


@pytest.fixture
def elsewhere(databases: Databases) -> Iterator[str]:
    """Another empty database of the same kind."""
    url = databases.empty()
    yield url
    databases.drop(url)


def purge(store: Store, lane_id: str) -> Purged:
    return store.runner.run(
        lambda attempt: purge_lane(lanes(store), attempt, "default", lane_id, NOBODY)
    )


def foreseen(store: Store, lane_id: str) -> Purged:
    with store.database.read() as connection:
        return lane_foreseen(connection, "default", lane_id)


def bodies(store: Store, lane_id: str) -> list[bytes | None]:
    return [fact.body for fact in store.facts(stream_name(lane_id))]


def purged_lane(store: Store) -> str:
    """Return a lane that had two sessions, and was purged."""
    first = resolve(store, PLACE)
    second = resolve(store, PLACE, force_new=True)
    for session_id in (first.session_id, second.session_id):
        asked(store, session_id, c.DeleteSession())
    purge(store, first.found.lane_id)
    return first.found.lane_id


def is_sound(store: Store) -> None:
    """Check that the chains verify, and that the views are what the log makes of them."""
    assert all(each.ok for each in verify_all(store.database))
    assert rebuild(store.database, store.runner, check_only=True).differences == ()


def test_what_was_said_in_a_lane_goes_before_it(store: Store) -> None:
    first = resolve(store, PLACE)
    second = resolve(store, PLACE, force_new=True)
    lane_id = first.found.lane_id
    for session_id in (second.session_id, first.session_id):
        for way in (purge, foreseen):
            with pytest.raises(LaneHasSessions):
                way(store, lane_id)
        asked(store, session_id, c.DeleteSession())

    would = foreseen(store, lane_id)
    assert purge(store, lane_id) == would
    assert (would.events, dict(would.rows)) == (3, {"bodies": 3, "lane_sessions": 2})
    for way in (purge, foreseen):
        with pytest.raises(NoSuchLane):
            way(store, lane_id)
        with pytest.raises(NoSuchLane):
            way(store, "0" * 32)


def test_of_a_purged_lane_its_envelopes_are_left_and_who_purged_it(store: Store) -> None:
    lane_id = purged_lane(store)

    *before, last = store.facts(stream_name(lane_id))
    assert [fact.body for fact in before] == [None] * 3
    assert (last.envelope.type, decode("lane-purged", 1, last.body)) == (
        "lane-purged",
        LanePurged(events=3),
    )
    with store.database.read() as connection:
        row = connection.execute(select(t.lanes)).mappings().one()
        found = listed(connection, LaneQuery(project_id="default", status="purged"))
    assert "zanzibarine" not in str(dict(row)).lower()
    assert (row["lane_key"], row["owner"], row["source"], row["session_id"]) == ("", "", b"{}", "")
    assert [each.lane_id for each in found] == [lane_id]
    is_sound(store)


def test_who_comes_back_begins_the_lane_anew(store: Store) -> None:
    lane_id = purged_lane(store)
    store.clock.at += 1

    again = resolve(store, PLACE, touches=False)

    assert (again.found.lane_id, again.created, again.reason) == (lane_id, True, "created")
    with store.database.read() as connection:
        kept = find_lane(connection, "default", lane_id)
    assert kept is not None
    assert kept.touched_at == store.clock.at
    assert [body is None for body in bodies(store, lane_id)] == [True] * 3 + [False] * 3
    is_sound(store)
    with pytest.raises(DBAPIError), store.database.write() as connection:
        connection.execute(delete(t.bodies))  # what is known of it now stays
    with pytest.raises(LaneHasSessions):
        purge(store, lane_id)
    asked(store, again.session_id, c.DeleteSession())
    assert purge(store, lane_id).rows["bodies"] == 3
    assert [body is None for body in bodies(store, lane_id)] == [True] * 6 + [False]
    is_sound(store)


def test_a_backup_has_no_more_of_a_purged_lane(
    store: Store, elsewhere: str, tmp_path: Path
) -> None:
    lane_id = purged_lane(store)
    kept = resolve(store, {**PLACE, "user_id": "43"})
    back_up(store.database, tmp_path / "store.backup", NEW_YEAR)
    with Backup(tmp_path / "store.backup") as backup:
        restore(backup, make_url(elsewhere))
    with opened(elsewhere) as again:
        is_sound(again)
        assert [body is None for body in bodies(again, lane_id)] == [True] * 3 + [False]
        assert resolve(again, {**PLACE, "user_id": "43"}).session_id == kept.session_id
        assert resolve(again, PLACE).reason == "created"


def test_what_still_comes_to_where_a_purged_lane_came_from_begins_there_anew(store: Store) -> None:
    here = resolve(store, PLACE)
    there = {**PLACE, "chat_id": "-200"}

    def move(attempt: Attempt) -> str:
        found = find_lane(attempt.connection, "default", here.found.lane_id)
        assert found is not None
        came = arrival(attempt.connection, "default", read_source(there))
        return lanes(store).move(attempt, found, came, NOBODY, follow=True).lane_id

    moved_to = store.runner.run(move)
    assert resolve(store, PLACE).found.lane_id == moved_to
    asked(store, here.session_id, c.DeleteSession())
    purge(store, moved_to)

    again = resolve(store, PLACE)
    assert (again.found.lane_id, again.reason) == (here.found.lane_id, "created")
    assert again.found.lane.source["chat_id"] == "-100"
    elsewhere = resolve(store, there)
    assert (elsewhere.found.lane_id, elsewhere.reason) == (moved_to, "created")
    is_sound(store)


@pytest.mark.parametrize("database_kind", ["postgresql"])
def test_a_session_that_is_just_brought_back_keeps_its_lane(store: Store) -> None:
    first = resolve(store, PLACE)
    asked(store, first.session_id, c.DeleteSession())
    with ThreadPoolExecutor(1) as pool:
        with store.transaction() as commit:
            where = target(first.session_id)
            back = Attempt(commit, patient=False)
            store.handler.carry_out(back, where, [c.RestoreSession()], caller=NOBODY)
            end_pipeline(commit.connection)
            purging = pool.submit(purge, store, first.found.lane_id)
            eventually(lambda: purging.done() or waits_for_a_lock(store), bool)
        with pytest.raises(LaneHasSessions):
            purging.result(PATIENCE_S)
    assert resolve(store, PLACE).session_id == first.session_id


def waits_for_a_lock(store: Store) -> bool:
    """Tell whether a transaction waits until another ends."""
    waiting = text(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with store.database.read() as connection:
        return bool(connection.execute(waiting).scalar_one())


def test_other_lanes_of_the_same_person_stay(store: Store) -> None:
    here = resolve(store, PLACE)
    there = {**PLACE, "chat_id": "-200"}
    other = resolve(store, there)
    asked(store, here.session_id, c.DeleteSession())

    purge(store, here.found.lane_id)

    with store.database.read() as connection:
        stays = find_lane(connection, "default", other.found.lane_id)
    assert stays is not None
    assert stays.lane.source["chat_name"] == "zanzibarine gardeners"
    assert resolve(store, there).session_id == other.session_id
