"""How do tests get a session over HTTP that is worth reading back?"""

import httpx

TURN: list[dict[str, object]] = [
    {
        "type": "turn-started",
        "data": {"turn_id": "t1", "messages": [{"role": "user", "content": "go on"}]},
    },
    {
        "type": "message-recorded",
        "data": {"turn_id": "t1", "message": {"role": "assistant", "content": "I did"}},
    },
    {"type": "turn-completed", "data": {"turn_id": "t1", "record_count": 2}},
]


def record_turn(client: httpx.Client, session_id: str = "s1") -> None:
    """Record one short turn in a session of its own: 4 events."""
    body = {"producer": {"id": "p1", "epoch": 1, "sequence": 1}, "open": {}, "events": TURN}
    answer = client.post(f"/sessions/{session_id}/events", json=body)
    assert answer.status_code == 201, answer.text
