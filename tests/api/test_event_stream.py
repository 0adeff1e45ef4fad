"""Following a session live: every event once, in order, from where the client was."""

import asyncio
import multiprocessing
from collections.abc import Iterator
from contextlib import ExitStack
from time import monotonic

import httpx
import pytest
from sqlalchemy import create_engine, text

from api import following
from infrastructure import feeds
from tests.api.batches import Problem, append, batch, event, events_of, problem, turn
from tests.api.serving import ON_ONE_DATABASE, PATIENCE_S, Served, open_log
from tests.api.streams import Frame, frames, stream, until_synced

TRIES = 3
"""So often something is timed: one that is quick tells that nothing waits for a clock."""
NO_PLACE: list[tuple[dict[str, str], str | None, Problem]] = [
    ({"after": "bad"}, None, (422, "invalid-value", ["/query/after"])),
    ({"after": "-1"}, None, (422, "invalid-value", ["/query/after"])),
    ({"after": "3"}, None, (409, "cursor-ahead-of-log", [])),
    ({"after": "2147483647"}, None, (409, "cursor-ahead-of-log", [])),
    ({}, "3", (409, "cursor-ahead-of-log", [])),
    ({}, "bad", (400, "invalid-header", [])),
    ({}, "-1", (400, "invalid-header", [])),
    ({}, "1.0", (400, "invalid-header", [])),
    ({}, "9" * 100, (400, "invalid-header", [])),
    ({}, "\u0663", (400, "invalid-header", [])),
    ({}, "1, 2", (400, "invalid-header", [])),
]


def take(frames: Iterator[Frame], count: int) -> list[Frame]:
    """Return the next events; whoever waits in vain meets the client's timeout."""
    found: list[Frame] = []
    while len(found) < count:
        frame = next(frames)
        found += [frame] if frame.name == "event" else []
    return found


def note(client: httpx.Client, sequence: int, count: int = 1) -> None:
    notes = [event("data-recorded", kind="k", data=n) for n in range(count)]
    assert append(client, "s", batch(sequence, *notes)).status_code == 201


def versions(found: list[Frame]) -> list[int]:
    assert all(frame.id == str(frame.json["version"]) for frame in found)
    return [frame.json["version"] for frame in found]


def test_a_finished_session_is_told_whole_and_synced_at_once(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))
    took: list[float] = []
    every = events_of(client, "s")
    for _ in range(TRIES):
        began = monotonic()
        with stream(client, "s") as frames:
            found = until_synced(frames)
        took.append(monotonic() - began)
        assert [frame.json for frame in found] == every

    assert min(took) < 1
    with stream(client, "s", after=4) as frames:
        state, synced = next(frames), next(frames)
    assert state.json == {"session_id": "s", "status": "idle", "queued": 0}
    assert (synced.name, synced.id, synced.json) == ("synced", None, {"version": 4})


def test_a_client_that_reconnects_gets_exactly_what_it_missed(client: httpx.Client) -> None:
    note(client, 1, count=9)
    with stream(client, "s") as frames:
        last = take(frames, 5)[-1].id
    note(client, 2, count=7)

    with stream(client, "s", last) as frames:
        found = until_synced(frames)

    assert versions(found) == list(range(6, 18))


@ON_ONE_DATABASE
def test_a_client_that_reconnects_to_the_address_it_began_with_gets_nothing_twice(
    client: httpx.Client,
) -> None:
    note(client, 1, count=5)

    with stream(client, "s", "4", after=1) as frames:
        assert versions(until_synced(frames)) == [5, 6]
    with stream(client, "s", "", after=4) as frames:
        assert versions(until_synced(frames)) == [5, 6]
    with stream(client, "s", "1", after=4) as frames:
        assert versions(until_synced(frames)) == [5, 6]


def test_a_stream_without_a_place_begins_at_the_beginning(client: httpx.Client) -> None:
    note(client, 1, count=2)

    for last in (None, "", "0"):
        with stream(client, "s", last) as frames:
            assert versions(until_synced(frames)) == [1, 2, 3]


def test_twenty_reconnects_lose_nothing_and_repeat_nothing(client: httpx.Client) -> None:
    seen: list[int] = []
    last: str | None = None
    for number in range(1, 21):
        note(client, number, count=number % 3 + 1)
        with stream(client, "s", last) as frames:
            found = take(frames, number % 2 + 1)
        seen += versions(found)
        last = found[-1].id
    with stream(client, "s", last) as frames:
        seen += versions(until_synced(frames))

    assert seen == [item["version"] for item in events_of(client, "s")]


def test_what_a_reconnect_costs_is_what_was_missed(client: httpx.Client) -> None:
    for number in range(1, 6):
        note(client, number, count=1_000)

    with stream(client, "s", "4996") as frames:
        assert versions(until_synced(frames)) == [4997, 4998, 4999, 5000, 5001]


def test_a_long_session_is_told_page_by_page_and_synced_once(client: httpx.Client) -> None:
    note(client, 1, count=999)

    with stream(client, "s") as frames:
        found = until_synced(frames)

    assert versions(found) == list(range(1, 1_001))


def test_an_event_from_another_connection_arrives_within_a_second(client: httpx.Client) -> None:
    note(client, 1)
    with stream(client, "s", after=2) as frames:
        assert until_synced(frames) == []
        took: list[float] = []
        for number in range(TRIES):
            began = monotonic()
            note(client, number + 2, count=3)
            first = number * 3 + 3
            assert versions(take(frames, 3)) == [first, first + 1, first + 2]
            took.append(monotonic() - began)

    assert min(took) < 1


def test_an_event_of_this_process_is_told_without_looking_for_it(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "LOOK_S", 10 * PATIENCE_S)
    note(client, 1)
    with stream(client, "s", after=2) as frames:
        assert until_synced(frames) == []
        note(client, 2)

        assert versions(take(frames, 1)) == [3]


def test_events_arrive_while_the_past_is_still_told(
    client: httpx.Client, server: Served, project: str
) -> None:
    note(client, 1, count=500)
    with stream(client, "s") as frames:
        first = take(frames, 1)
        with server.client(project) as other:
            note(other, 2, count=500)
        rest = take(frames, 1_000)

    assert versions(first + rest) == list(range(1, 1_002))


def _append_elsewhere(database_urls: list[str], project: str) -> None:
    """Runs in a process of its own."""
    from tests.api.elsewhere import append_note  # noqa: PLC0415 - in the other process

    for sequence in range(1, TRIES + 1):
        for url in database_urls:
            asyncio.run(append_note(open_log(url), project, sequence))


def test_an_event_from_another_process_arrives_within_a_second(
    sqlite_server: Served, postgresql_server: Served, project: str
) -> None:
    servers = (sqlite_server, postgresql_server)
    urls = [server.database_url for server in servers]
    with ExitStack() as stack:
        followed: list[Iterator[Frame]] = []
        for server in servers:
            client = stack.enter_context(server.client(project))
            note(client, 1)
            followed.append(stack.enter_context(stream(client, "s", after=2)))
            assert until_synced(followed[-1]) == []
        spawned = multiprocessing.get_context("spawn")
        process = spawned.Process(target=_append_elsewhere, args=(urls, project))
        process.start()
        took: list[list[float]] = [[], []]
        for _ in range(TRIES):
            for frames, arrived in zip(followed, took, strict=True):
                [frame] = take(frames, 1)
                assert frame.json["data"]["kind"] == "elsewhere"
                arrived.append(monotonic() - float(frame.json["data"]["data"]))
        process.join(PATIENCE_S)

    assert process.exitcode == 0
    assert max(map(min, took)) < 1


def test_a_stream_of_another_session_is_not_disturbed(client: httpx.Client) -> None:
    append(client, "other", batch(1, *turn("t1")))
    note(client, 1)
    with stream(client, "other", after=4) as frames:
        assert until_synced(frames) == []
        note(client, 2)
        append(client, "other", batch(2, *turn("t2")))

        assert versions(take(frames, 3)) == [5, 6, 7]


@ON_ONE_DATABASE
@pytest.mark.parametrize(("query", "last", "expected"), NO_PLACE)
def test_a_place_that_is_none_or_beyond_the_log_is_told(
    client: httpx.Client, query: dict[str, str], last: str | None, expected: Problem
) -> None:
    note(client, 1)
    headers = [] if last is None else [(b"Last-Event-ID", last.encode())]

    answer = client.get("/sessions/s/events/stream", params=query, headers=headers)

    assert problem(answer) == expected
    if expected[0] == 409:
        assert answer.json()["current_version"] == 2


@ON_ONE_DATABASE
def test_a_quiet_stream_shows_that_it_lives(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "HEARTBEAT_S", 0.3)
    note(client, 1)

    with stream(client, "s", after=2) as frames:
        found = [next(frames), next(frames), next(frames), next(frames)]

    assert [frame.name for frame in found[:2]] == ["state", "synced"]
    assert [frame.comment for frame in found[2:]] == ["still here", "still here"]


@ON_ONE_DATABASE
def test_a_server_that_stops_says_so_to_every_stream_and_finishes_what_runs(
    own_server: Served, project: str
) -> None:
    with own_server.client(project) as client, own_server.client(project) as other:
        note(client, 1)
        with stream(client, "s") as one, stream(other, "s") as two:
            for frames_ in (one, two):
                until_synced(frames_)
            own_server.server.config.timeout_graceful_shutdown = None  # nobody is cut off
            own_server.ask_to_stop()
            last = [[frame for frame in frames_ if frame.name] for frames_ in (one, two)]

        own_server.thread.join(PATIENCE_S)

    assert not own_server.thread.is_alive()
    for [frame] in last:
        assert (frame.name, frame.id, frame.json) == ("goaway", None, {"reason": "shutting-down"})


@ON_ONE_DATABASE
def test_a_client_that_hangs_up_is_let_go_of(own_server: Served, project: str) -> None:
    with own_server.client(project) as client:
        note(client, 1)
        for _ in range(5):
            with stream(client, "s") as frames:
                until_synced(frames)

        deadline = monotonic() + PATIENCE_S
        while own_server.log.feeds.followers() or own_server.log.feeds.count():
            assert monotonic() < deadline, "somebody still listens"
            client.get("/sessions")


@pytest.mark.parametrize("database_kind", ["postgresql"])
def test_a_stream_whose_database_goes_away_ends_with_a_problem(
    own_server: Served, project: str
) -> None:
    with own_server.client(project) as client:
        note(client, 1)
        with stream(client, "s") as frames:
            until_synced(frames)
            _refuse_connections(own_server.database_url)
            last = [frame for frame in frames if frame.name]

        refused = append(client, "s", batch(2, event("data-recorded", kind="k", data=1)))

    assert [frame.name for frame in last] == ["error"]
    assert (last[0].json["code"], last[0].json["action"]) == ("database-unavailable", "retry")
    assert problem(refused) == (503, "database-unavailable", [])
    assert refused.headers["retry-after"] == "1"


def _refuse_connections(database_url: str) -> None:
    """Rename the database away from under the server, and cut what is connected."""
    name = database_url.rpartition("/")[2].partition("?")[0]
    url = database_url.replace(f"/{name}", "/postgres", 1)
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false'))
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = :name"
            ),
            {"name": name},
        )
    engine.dispose()


def test_a_frame_is_read_as_a_browser_would() -> None:
    sent = b"retry: 5\n\nid: 1\nevent: event\ndata: a\ndata: b\n\n: hello\n\n"

    assert list(frames(iter([sent]))) == [
        Frame(name="event", id="1", lines=["a", "b"]),
        Frame(comment="hello"),
    ]
