"""Followers take each fact once, in order, whoever else follows, writes late, or is killed."""

import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event, Thread

import pytest
from sqlalchemy.exc import DBAPIError

from domain.commands import Proposal
from infrastructure import tables as t
from infrastructure.followers import following as following_module
from infrastructure.followers import search_index, tracking
from infrastructure.followers.follower import Write
from infrastructure.followers.following import StillBehindError
from infrastructure.followers.search import SearchFollower
from infrastructure.followers.stepping import BATCH, Stepper
from infrastructure.followers.tracking import Lag, Standing
from infrastructure.followers.usage import UsageFollower
from infrastructure.reading.search import IndexBrokenError
from infrastructure.reading.whole_log import Found
from tests.infrastructure.followers.watching import (
    begun,
    following,
    found,
    indexes,
    position,
    rows,
    said,
    searched,
    spent,
    used,
    visible,
)
from tests.infrastructure.writing import SECOND, Store, note, opened, propose

SESSIONS = 4
TURNS = 6


def write_turns(store: Store, session_id: str, turns: int = TURNS) -> None:
    """Append turns of three facts each, every second one with an end."""
    for number in range(turns):
        name = f"{session_id}-{number}"
        store.append(
            [begun(name, "word"), spent(name, 1), said(name, "word", "assistant")],
            session_id,
            session_id,
        )
        store.append([_ended(name)], session_id, session_id)


def write_turns_at_once(store: Store, session_id: str, turns: int) -> None:
    """Append such turns together."""
    names = [f"{session_id}-{number}" for number in range(turns)]
    facts = [
        (begun(name, "word"), spent(name, 1), said(name, "word", "assistant"), _ended(name))
        for name in names
    ]
    store.append([fact for turn in facts for fact in turn], session_id, session_id)


def _ended(name: str) -> Proposal:
    return propose("turn-completed", f'{{"turn_id":"{name}"}}'.encode())


def write_at_once(store: Store) -> None:
    """Write every session from a thread of its own."""
    with ThreadPoolExecutor(SESSIONS) as threads:
        list(threads.map(partial(write_turns, store), (f"s{n}" for n in range(SESSIONS))))


def assert_all_are_there(store: Store, sessions: int = SESSIONS, turns: int = TURNS) -> None:
    """Assert that every fact counts, and counts once."""
    assert {item.name: item.usage.input_tokens for item in used(store)} == {
        f"s{n}": turns for n in range(sessions)
    }
    documents = rows(store, t.search_documents)
    assert len(documents) == 2 * sessions * turns
    positions = [row["position"] for row in documents]
    assert positions == sorted(positions)
    assert len(searched(store, "word", 2 * sessions * turns + 1).hits) == len(documents)


def test_several_workers_beside_several_writers_miss_nothing_and_repeat_nothing(
    database_url: str,
) -> None:
    with opened(database_url) as first, opened(database_url) as second:
        with following(first) as one, following(first) as two, following(second) as three:
            for each in (one, two, three):
                each.start()
            write_at_once(first)
            end = visible(first)
            for name in ("usage", "search"):
                two.wait_for(name, end, timeout_s=60)
        assert_all_are_there(second)


def test_a_session_is_folded_in_its_order(store: Store) -> None:
    write_at_once(store)
    with following(store) as views:
        views.catch_up("search")
    for key in range(1, SESSIONS + 1):
        versions = [
            row["version"] for row in rows(store, t.search_documents) if row["session_key"] == key
        ]
        assert versions == sorted(versions)


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_a_fact_that_commits_late_is_not_missed(store: Store) -> None:
    with following(store) as views:
        with store.transaction() as late:
            store.carry_out(late, "slow", begun("t1", "late"))
            store.append([begun("t1", "early")], "quick")
            views.catch_up("search")
            assert found(store, "early") == []
        views.catch_up("search")
    assert [session for session, _ in found(store, "early")] == ["quick"]
    assert [session for session, _ in found(store, "late")] == ["slow"]


@pytest.mark.parametrize("step", [1, 2])
def test_a_worker_killed_between_rows_and_checkpoint_repeats_nothing(
    store: Store, database_url: str, step: int
) -> None:
    for n in range(SESSIONS):
        write_turns_at_once(store, f"s{n}", turns=25)
    program = "tests.infrastructure.followers.killed_process"
    killed = subprocess.run(
        [sys.executable, "-m", program, database_url, str(step)], check=False, timeout=120
    )
    assert killed.returncode == -signal.SIGKILL
    assert len(rows(store, t.search_documents)) == (step - 1) * BATCH
    store.clock.at += tracking.LEASE
    with following(store) as views:
        views.catch_up("search")
        views.catch_up("usage")
    assert_all_are_there(store, turns=25)


def test_an_overtaken_worker_writes_nothing(store: Store) -> None:
    write_turns(store, "s0")
    with following(store) as views:
        views.catch_up("usage")
    with store.database.read() as connection:
        seen = tracking.live(connection, "usage")
    assert seen is not None
    write_turns(store, "s1")
    with store.database.write() as connection:
        assert tracking.advance(connection, seen, seen.position + 1, owner="a", lease_until=0)
    with store.database.write() as connection:
        assert not tracking.advance(connection, seen, seen.position + 2, owner="b", lease_until=0)
        assert not tracking.advance(connection, seen, seen.position, owner="b", lease_until=0)


def test_a_stopped_worker_hands_over_once_its_lease_has_ended(store: Store) -> None:
    store.append([note(b"%d" % n) for n in range(3 * BATCH)])
    store.append([begun("t1", "go"), *(spent("t1", 1) for _ in range(3 * BATCH))])
    one, other = (
        Stepper(store.database, store.runner, UsageFollower(), owner, store.clock)
        for owner in ("one", "other")
    )
    assert [one.step(), one.step(), other.step(), one.step()] == [
        "more",
        "more",
        "elsewhere",
        "more",
    ]
    store.clock.at += tracking.LEASE
    assert other.step() == "more"
    assert one.step() == "elsewhere"
    assert other.step() == "done"
    assert [item.usage.input_tokens for item in used(store)] == [3 * BATCH]


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_a_worker_that_stands_still_inside_its_transaction_hands_over(store: Store) -> None:
    with following(store) as views:
        views.catch_up("usage")
        write_turns(store, "s0")
        with store.database.read() as connection:
            seen = tracking.live(connection, "usage")
        assert seen is not None
        through = visible(store)

        def stand_still(seen: Standing) -> None:
            with store.database.write() as standing:
                assert tracking.advance(standing, seen, through, owner="stopped", lease_until=0)
                views.catch_up("usage")

        with pytest.raises(DBAPIError):
            stand_still(seen)
    assert [item.usage.input_tokens for item in used(store)] == [TURNS]


def test_nothing_is_written_while_nothing_comes(store: Store) -> None:
    write_turns(store, "s0")
    with following(store) as views:
        views.catch_up("usage")
    seen = position(store, "usage")
    stepper = Stepper(store.database, store.runner, UsageFollower(), "other", store.clock)
    assert [stepper.step(), stepper.step()] == ["done", "done"]
    with store.database.read() as connection:
        read = tracking.live(connection, "usage")
    assert read is not None
    assert (read.position, read.owner != "other") == (seen, True)


def test_who_waits_for_a_position_does_not_wait_for_the_next_look(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pause in ("GAP_S", "QUICK_S", "SLOW_S"):
        monkeypatch.setattr(following_module, pause, 600.0)
    with following(store) as views:
        views.start()
        for number in range(3):
            store.append([note(b"%d" % number)])
            views.wait_for("usage", visible(store), timeout_s=60)


def test_waiting_for_what_does_not_come_ends(store: Store) -> None:
    with following(store) as views, pytest.raises(StillBehindError):
        views.wait_for("usage", 1, timeout_s=0.01)


def test_a_view_is_built_anew_beside_the_one_that_is_read(store: Store) -> None:
    stop = Event()
    with following(store) as views:
        write_turns(store, "s0")
        views.catch_up("usage")
        views.catch_up("search")
        before = [rows(store, table) for table in (t.usage, t.search_documents)]
        writer = Thread(target=lambda: _keep_writing(store, stop))
        writer.start()
        seen: list[int] = []
        for name in ("usage", "search"):
            views.rebuild(name, progress=lambda _: seen.append(len(found(store, "word"))))
        stop.set()
        writer.join()
        for name in ("usage", "search"):
            views.catch_up(name)
    assert min(seen) >= len(before[1]), "readers saw a view that was not whole"
    written = len(store.facts("s1")) // 4
    assert {item.name: item.usage.input_tokens for item in used(store)} == {
        "s0": TURNS,
        "s1": written,
    }
    assert len(rows(store, t.search_documents)) == 2 * (TURNS + written)
    assert indexes(store) == [2]
    with store.database.read() as connection:
        left = [each.generation for each in tracking.standings(connection, "search")]
    assert left == [2]


def _keep_writing(store: Store, stop: Event) -> None:
    number = 0
    while not stop.is_set() and number < 60:
        number += 1
        write_turns_once(store, number)


def write_turns_once(store: Store, number: int) -> None:
    """Append one turn of the session that is written meanwhile."""
    name = f"m{number}"
    store.append([begun(name, "word"), spent(name, 1), said(name, "word", "assistant")], "s1", "s1")
    store.append([_ended(name)], "s1", "s1")


class Newer(UsageFollower):
    """A build that counts otherwise."""

    fold_version = UsageFollower.fold_version + 1

    def fold(self, facts: Sequence[Found]) -> Write:
        return super().fold([*facts, *facts])


def test_a_newer_build_folds_anew_and_an_older_one_leaves_its_rows_alone(store: Store) -> None:
    write_turns(store, "s0")
    older = Stepper(store.database, store.runner, UsageFollower(), "older", store.clock)
    newer = Stepper(store.database, store.runner, Newer(), "newer", store.clock)
    _finish(older)
    assert [item.usage.input_tokens for item in used(store)] == [TURNS]
    _finish(newer)
    assert [item.usage.input_tokens for item in used(store)] == [2 * TURNS]
    at = position(store, "usage")
    write_turns(store, "s1")
    _finish(older)
    assert position(store, "usage") == at
    _finish(newer)
    assert [item.usage.input_tokens for item in used(store)] == [2 * TURNS, 2 * TURNS]


def _finish(stepper: Stepper) -> None:
    while stepper.step() == "more":
        pass


def test_a_lag_is_told_in_events_and_seconds(store: Store) -> None:
    store.append([note(b"1")])
    with following(store) as views:
        views.catch_up("usage")
        at = position(store, "usage")
        assert views.lags()["usage"] == Lag(position=at, events=0, seconds=0.0)
        store.append([note(b"2"), note(b"3")])
        store.clock.at += 90 * SECOND
        assert views.lags()["usage"] == Lag(position=at, events=2, seconds=90.0)


BREAKS = {
    "sqlite": ("DELETE FROM search_index_1_data", "DROP TABLE search_index_1"),
    "postgresql": ("DROP TABLE search_index_1",),
}


@pytest.mark.parametrize("way", [0, -1])
def test_a_broken_index_stops_no_writer_and_no_other_view_and_is_built_anew(
    store: Store, way: int
) -> None:
    write_turns(store, "s0")
    with following(store) as views:
        views.catch_up("search")
        _break(store, BREAKS[store.database.kind][way])
        views.start()
        write_turns(store, "s1")
        views.wait_for("usage", visible(store), timeout_s=60)
        with pytest.raises(DBAPIError):
            views.catch_up("search")
        with pytest.raises(IndexBrokenError):
            searched(store, "word")
        views.rebuild("search")
        views.catch_up("search")
    assert_all_are_there(store, sessions=2)


def _break(store: Store, statement: str) -> None:
    with store.database.write() as connection:
        connection.exec_driver_sql(statement)


class Mistaken(SearchFollower):
    """A follower with a defect."""

    def fold(self, facts: Sequence[Found]) -> Write:
        raise ValueError(len(facts))


def test_a_defect_of_one_view_stops_no_other_and_says_nothing_that_was_said(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    write_turns(store, "s0")
    with following(store, [Mistaken(), UsageFollower()]) as views:
        views.start()
        views.wait_for("usage", visible(store), timeout_s=60)
        assert views.failing("search")
        assert not views.failing("usage")
    assert "the view search could not be brought up to date: ValueError" in caplog.text
    assert "word" not in caplog.text


def test_a_follower_is_of_use_without_search(store: Store) -> None:
    write_turns(store, "s0")
    with following(store, [UsageFollower()]) as views:
        views.catch_up("usage")
        assert views.names == ("usage",)
    assert indexes(store) == []


def test_an_index_can_be_taken_away_twice(store: Store) -> None:
    with store.database.write() as connection:
        search_index.begin(connection, 1)
        search_index.drop(connection, 1)
        search_index.drop(connection, 1)
        SearchFollower().begin(connection, 1)
    assert indexes(store) == [1]
