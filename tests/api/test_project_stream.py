"""The project's live stream: every session, in order, nothing missed, nobody else's."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from threading import Thread

import httpx
import pytest

from api import following
from tests.api.batches import Json, append, batch, event, started
from tests.api.recording import record_turn
from tests.api.serving import Served
from tests.api.streams import Frame, frames, until_synced
from tests.infrastructure.writing import Store, note


@contextmanager
def stream(
    client: httpx.Client, last: str | None = None, **query: str
) -> Generator[Iterator[Frame]]:
    headers = {} if last is None else {"Last-Event-ID": last}
    with client.stream("GET", "/events/stream", params=query, headers=headers) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        yield frames(response.iter_bytes())


def named(frame: Frame) -> tuple[str, int]:
    return frame.json["session_id"], frame.json["version"]


def next_events(found: Iterator[Frame], count: int) -> list[Frame]:
    events: list[Frame] = []
    for frame in found:
        events += [frame] if frame.name == "event" else []
        if len(events) == count:
            break
    return events


def test_every_session_of_the_project_is_followed(client: httpx.Client) -> None:
    record_turn(client, "s1")
    with stream(client) as found:
        before = [frame for frame in until_synced(found) if frame.name == "event"]
        record_turn(client, "s2")
        live = next_events(found, 4)
    assert [named(frame) for frame in before] == [("s1", n) for n in range(1, 5)]
    assert [named(frame) for frame in live] == [("s2", n) for n in range(1, 5)]
    assert [frame.id for frame in before] == [frame.json["position"] for frame in before]


def test_a_client_goes_on_after_the_last_position_that_it_saw(client: httpx.Client) -> None:
    record_turn(client, "s1")
    with stream(client) as found:
        before = next_events(found, 2)
    with stream(client, last=before[-1].id) as found:
        rest = [frame for frame in until_synced(found) if frame.name == "event"]
    with stream(client, after=str(before[-1].id)) as found:
        same = [frame for frame in until_synced(found) if frame.name == "event"]
    assert [named(frame) for frame in rest] == [("s1", 3), ("s1", 4)] == [*map(named, same)]
    with stream(client, after="latest") as found:
        assert [frame for frame in until_synced(found) if frame.name == "event"] == []


def test_what_waits_in_any_session_is_told_to_who_comes(client: httpx.Client) -> None:
    for name in ("s1", "s2"):
        gate = event("gate-opened", turn_id="t1", kind="input", permission_id=name)
        append(client, name, batch(1, started("t1"), gate))
    inbox: list[Json] = client.get("/approvals", params={"order": "asc"}).json()["items"]
    for types, count in (({}, 2), ({"types": "gate-opened"}, 2), ({"types": "x"}, 0)):
        told: list[Frame] = []
        with stream(client, after="latest", **types) as found:
            for frame in found:
                if frame.name == "synced":
                    break
                told += [frame] if frame.name else []
        assert {frame.name for frame in told} <= {"gate"}
        assert [frame.json for frame in told] == inbox[:count]


def test_types_filter_and_other_projects_are_never_sent(
    client: httpx.Client, server: Served
) -> None:
    with server.client("another-project") as other, stream(client, types="turn-completed") as found:
        record_turn(other, f"x-{id(found)}")
        record_turn(client, "s1")
        [event] = next_events(found, 1)
    assert (named(event), event.json["type"]) == (("s1", 4), "turn-completed")


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_an_event_that_commits_late_is_sent_all_the_same(own_server: Served) -> None:
    store = Store(own_server.log.database)
    with own_server.client("default") as client, stream(client) as found:
        until_synced(found)
        with store.transaction() as late:
            store.carry_out(late, "slow", note(b"1"))
            record_turn(client, "quick")
        events = next_events(found, 6)
    assert sorted(map(named, events)) == [("quick", n) for n in range(1, 5)] + [
        ("slow", 1),
        ("slow", 2),
    ]
    store.runner.close()


def test_writers_at_once_are_followed_without_a_gap(client: httpx.Client) -> None:
    def write(session_id: str) -> None:
        for number in range(10):
            record_turn(client, f"{session_id}-{number}")

    with stream(client) as found:
        writers = [Thread(target=write, args=(f"w{n}",)) for n in range(4)]
        for writer in writers:
            writer.start()
        events = next_events(found, 4 * 10 * 4)
        for writer in writers:
            writer.join()
    assert len({frame.id for frame in events}) == 160
    positions = [int(str(frame.id)) for frame in events]
    assert positions == sorted(positions)
    versions: dict[str, list[int]] = {}
    for session_id, version in map(named, events):
        versions.setdefault(session_id, []).append(version)
    assert all(each == [1, 2, 3, 4] for each in versions.values())


def test_a_position_of_another_log_is_refused(client: httpx.Client) -> None:
    answer = client.get("/events/stream", params={"after": str(2**63 - 1)})
    assert (answer.status_code, answer.json()["code"]) == (409, "cursor-ahead-of-log")
    for after in ("-1", "x", "9" * 20):
        assert client.get("/events/stream", params={"after": after}).status_code == 422
    bad = client.get("/events/stream", headers={"Last-Event-ID": "9" * 5000})
    assert bad.json()["code"] == "invalid-header"


def test_a_quiet_stream_shows_that_it_lives(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "HEARTBEAT_S", 0.3)

    with stream(client, after="latest") as found:
        told = [next(found), next(found), next(found)]

    assert (told[0].name, told[0].id) == ("synced", None)
    assert [frame.comment for frame in told[1:]] == ["still here", "still here"]


def test_a_server_that_stops_says_so(own_server: Served) -> None:
    with own_server.client("default") as client, stream(client) as found:
        until_synced(found)
        own_server.ask_to_stop()
        (last,) = [frame for frame in found if frame.name]

    assert (last.name, last.id, last.json) == ("goaway", None, {"reason": "shutting-down"})
