"""What a turn says before it is recorded is shown to who is there, and kept by nobody."""

import json
from collections.abc import Iterator

import httpx
import pytest

from infrastructure.deltas import MOST, MOST_BYTES, Deltas
from tests.api.batches import Json, append, batch, completed, event, problem, said, started
from tests.api.serving import Served
from tests.api.streams import Frame, stream, until_synced


@pytest.fixture
def held(client: httpx.Client) -> httpx.Client:
    """A client; turn `t1` of session `s` is leased, with fence 1."""
    append(client, "s", batch(1, started("t1"), lease_s=60))
    return client


def send(client: httpx.Client, *deltas: object, turn_id: str = "t1", **more: object) -> Json | int:
    path = f"/sessions/s/turns/{turn_id}/deltas"
    answer = client.post(path, json={"deltas": deltas, "fence": 1, **more})
    return answer.status_code


def named(frames: Iterator[Frame], count: int) -> list[tuple[str, object]]:
    """Return what the next frames are: deltas by what they say, events by their type."""
    found: list[tuple[str, object]] = []
    for frame in frames:
        if frame.name == "delta":
            assert frame.id is None
            assert frame.json["turn_id"] == "t1"
            found.append(("delta", frame.json["delta"]))
        elif frame.name == "event":
            found.append(("event", frame.json["type"]))
        if len(found) == count:
            return found
    raise AssertionError(found)


def test_deltas_come_in_their_order_among_the_events(server: Served, held: httpx.Client) -> None:
    with server.client(project_of(held)) as other, stream(other, "s") as frames:
        until_synced(frames)
        assert send(held, "It", {"is": [4.0, None]}) == 202
        append(held, "s", batch(2, said("t1", "It is 4."), fence=1))
        assert send(held, "more") == 202
        append(held, "s", batch(3, completed("t1"), fence=1))

        assert named(frames, 5) == [
            ("delta", "It"),
            ("delta", {"is": [4.0, None]}),
            ("event", "message-recorded"),
            ("delta", "more"),
            ("event", "turn-completed"),
        ]


def project_of(client: httpx.Client) -> str:
    return str(client.base_url).rstrip("/").rpartition("/")[2]


def test_who_comes_later_sees_nothing_of_them_and_nobody_keeps_them(held: httpx.Client) -> None:
    assert send(held, "gone") == 202
    append(held, "s", batch(2, completed("t1"), fence=1))
    with stream(held, "s") as frames:
        assert [frame.name for frame in until_synced(frames)] == ["event"] * 3


def test_only_the_holder_of_a_leased_turn_shows_deltas(held: httpx.Client) -> None:
    def sent(body: Json, turn_id: str = "t1", session: str = "s") -> httpx.Response:
        path = f"/sessions/{session}/turns/{turn_id}/deltas"
        return held.post(path, json={"deltas": [1], **body})

    assert problem(sent({})) == (409, "fenced", ["/fence"])
    assert problem(sent({"fence": 2})) == (409, "fenced", ["/fence"])
    assert problem(sent({"fence": 1}, "t2"))[:2] == (404, "no-such-turn")
    assert problem(sent({"fence": 1}, session="x"))[:2] == (404, "no-such-session")
    append(held, "s", batch(2, completed("t1"), fence=1))
    assert problem(sent({"fence": 1}))[:2] == (409, "turn-over")
    append(held, "s", batch(3, started("t3")))
    assert sent({}, "t3").status_code == 202


@pytest.mark.parametrize(
    ("deltas", "told"),
    [
        ([], (422, "invalid-value", ["/deltas"])),
        ([1] * 257, (413, "too-many-deltas", ["/deltas"])),
        (["x" * (256 * 1024)], (413, "too-many-deltas", ["/deltas"])),
        (None, (422, "invalid-value", ["/deltas"])),
        ({}, (422, "invalid-value", ["/deltas"])),
    ],
)
def test_a_request_holds_so_many_deltas(held: httpx.Client, deltas: object, told: object) -> None:
    answer = held.post("/sessions/s/turns/t1/deltas", json={"deltas": deltas, "fence": 1})
    assert problem(answer) == told


def test_a_delta_comes_with_its_numbers_as_they_were_sent(held: httpx.Client) -> None:
    with stream(held, "s") as frames:
        until_synced(frames)
        body = b'{"deltas": [ 1.10 , {"a" :\r\n 12345678901234567890} ], "fence": 1}'
        headers = {"Content-Type": "application/json"}
        held.post("/sessions/s/turns/t1/deltas", content=body, headers=headers)
        first, second = (next(each for each in frames if each.name) for _ in range(2))
        assert first.data == '{"turn_id":"t1","delta":1.10}'
        assert json.loads(second.data)["delta"] == {"a": 12345678901234567890}
    append(held, "s", batch(2, event("data-recorded", kind="n", data=1)))


def woken() -> None:
    """Nobody waits."""


def test_who_reads_slowly_loses_the_oldest_and_is_told_how_many() -> None:
    deltas = Deltas()
    with deltas.listen(("p", "s"), woken) as inbox, deltas.listen(("p", "x"), woken) as other:
        deltas.send(("p", "s"), 3, "t1", [b"%d" % number for number in range(MOST + 7)])
        first, *rest = inbox.take(3)
        assert (first.data, first.lost) == (b"7", 7)
        assert [each.lost for each in rest] == [0] * (MOST - 1)
        deltas.send(("p", "s"), 3, "t1", [b"x" * (MOST_BYTES - 1), b"y", b"z"])
        assert [(each.data, each.lost) for each in inbox.take(3)] == [(b"y", 1), (b"z", 0)]
        assert other.take(3) == []


def test_what_was_sent_later_waits_for_the_events_before_it() -> None:
    deltas = Deltas()
    with deltas.listen(("p", "s"), woken) as inbox:
        assert inbox.newest() == 0
        deltas.send(("p", "s"), 3, "t1", [b"1"])
        deltas.send(("p", "s"), 4, "t1", [b"2"])
        assert inbox.newest() == 4
        assert inbox.take(2) == []
        assert [each.data for each in inbox.take(3)] == [b"1"]
        assert [each.data for each in inbox.take(4)] == [b"2"]
    deltas.send(("p", "s"), 5, "t1", [b"3"])
    assert inbox.take(9) == []
