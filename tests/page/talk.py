"""Sessions that are worth reading: recorded over HTTP, in few words."""

import httpx

from tests.api.batches import Json, answered, append, batch, called, completed, said, started

EVENTS_A_TURN = 5
"""A question, a call, its result, an answer, the end."""
LARGEST_BATCH = 1_000


def talk(client: httpx.Client, session_id: str, turns: int, *, title: str | None = None) -> int:
    """Record turns in a new session; return its version."""
    opening: Json = {} if title is None else {"title": title}
    events = [event for number in range(1, turns + 1) for event in worked(number)]
    for sequence, first in enumerate(range(0, len(events), LARGEST_BATCH), start=1):
        part = events[first : first + LARGEST_BATCH]
        recorded(append(client, session_id, batch(sequence, *part, open=opening)))
    return len(events) + 1


def worked(number: int) -> list[Json]:
    """Return a turn: a question, a call with its result, an answer."""
    turn_id, call_id = f"t{number}", f"c{number}"
    return [
        started(turn_id, f"Question {number}?", message_id=f"q{number}"),
        called(turn_id, call_id, {"command": f"ls {number}"}),
        answered(turn_id, call_id, f"file-{number}"),
        said(turn_id, f"Answer {number}."),
        completed(turn_id, record_count=4),
    ]


def add(client: httpx.Client, session_id: str, sequence: int, *events: Json) -> None:
    """Record more in a session."""
    recorded(append(client, session_id, batch(sequence, *events)))


def recorded(answer: httpx.Response) -> None:
    """See to it that something was recorded."""
    assert answer.status_code == 201, answer.text
