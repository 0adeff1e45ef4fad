"""What runners tell of their harnesses, said in few words."""

import httpx

from tests.api.batches import Json, append, batch, event, said, started

OWNER = "runner-1"


def parked(seat_id: str = "seat-1", state: str = "idle", **data: object) -> Json:
    """Return that a harness waits."""
    given = {"config_fingerprint": "0a", "ttl_s": 60, **data}
    return event("harness-parked", seat_id=seat_id, owner=OWNER, state=state, **given)


def resumed(turn_id: str, seat_id: str = "seat-1") -> Json:
    """Return that a parked harness goes on."""
    return event("harness-resumed", seat_id=seat_id, owner=OWNER, turn_id=turn_id)


def launched(turn_id: str, seat_id: str = "seat-1", path: str = "cold", **data: object) -> Json:
    """Return that a harness was started."""
    given = {"history_from": "log", **data}
    return event(
        "harness-started", seat_id=seat_id, owner=OWNER, path=path, turn_id=turn_id, **given
    )


def let_go(seat_id: str = "seat-1", reason: str = "expire", **data: object) -> Json:
    """Return that a harness was let go."""
    return event("harness-evicted", seat_id=seat_id, owner=OWNER, reason=reason, **data)


def ended(turn_id: str, **timings: object) -> list[Json]:
    """Return an answer, and the end of its turn."""
    return [said(turn_id, "Hello."), event("turn-completed", turn_id=turn_id, timings=timings)]


def cold(turn_id: str, seat_id: str = "seat-1", path: str = "cold", **data: object) -> list[Json]:
    """Return a turn for which a harness was started, and then parked: 5 events."""
    took = ended(turn_id, harness_start=350, first_output=400, total=900)
    return [started(turn_id), launched(turn_id, seat_id, path, **data), *took, parked(seat_id)]


def warm(turn_id: str, seat_id: str = "seat-1") -> list[Json]:
    """Return a turn with which the parked harness went on: 5 events."""
    return [started(turn_id), resumed(turn_id, seat_id), *ended(turn_id, total=40), parked(seat_id)]


def told(client: httpx.Client, session_id: str, sequence: int, *events: Json) -> None:
    """Record what a runner tells."""
    answer = append(client, session_id, batch(sequence, *events))
    assert answer.status_code == 201, answer.text


def explained(client: httpx.Client, turn_id: str, session_id: str = "s", **query: int) -> Json:
    """Return why a turn was warm or cold."""
    path = f"/sessions/{session_id}/turns/{turn_id}/explain"
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found
