"""Batches as producers send them, said in few words."""

from typing import Any

import httpx

Json = dict[str, Any]
Problem = tuple[int, str, list[str]]
"""A problem's status, code and pointers."""

NO_SESSION: Problem = (404, "no-such-session", [])


def event(type_: str, **data: object) -> Json:
    """Return an event of a batch."""
    return {"type": type_, "data": data}


def said(turn_id: str, text: str, **message: object) -> Json:
    """Return what the assistant said in a turn."""
    body = {"role": "assistant", "content": text, **message}
    return event("message-recorded", turn_id=turn_id, message=body)


def started(turn_id: str, text: str = "Hello?", **message: object) -> Json:
    """Return the beginning of a turn with one user message."""
    messages = [{"role": "user", "content": text, **message}]
    return event("turn-started", turn_id=turn_id, messages=messages)


def called(turn_id: str, call_id: str, arguments: object = None) -> Json:
    """Return a tool call."""
    return event(
        "tool-call-requested",
        turn_id=turn_id,
        tool_call_id=call_id,
        name="bash",
        arguments={} if arguments is None else arguments,
    )


def answered(turn_id: str, call_id: str, output: object = "done") -> Json:
    """Return a tool call's result."""
    return event("tool-call-completed", turn_id=turn_id, tool_call_id=call_id, output=output)


def completed(turn_id: str, **data: object) -> Json:
    """Return the end of a turn."""
    return event("turn-completed", turn_id=turn_id, **data)


def turn(turn_id: str, text: str = "Hello?") -> list[Json]:
    """Return a whole turn: a question, an answer, the end."""
    return [started(turn_id, text), said(turn_id, "Hello."), completed(turn_id)]


def batch(
    sequence: int, *events: Json, producer: str = "runner", epoch: int = 1, **more: object
) -> Json:
    """Return a batch that opens its session, unless `open` says otherwise."""
    who = {"id": producer, "epoch": epoch, "sequence": sequence}
    body: Json = {"producer": who, "open": {}, "events": list(events), **more}
    return {name: value for name, value in body.items() if value is not None}


def append(
    client: httpx.Client, session_id: str, body: Json, headers: dict[str, str] | None = None
) -> httpx.Response:
    """Send a batch to a session."""
    return client.post(f"/sessions/{session_id}/events", json=body, headers=headers)


def events_of(client: httpx.Client, session_id: str) -> list[Json]:
    """Return every event of a session, page by page."""
    found: list[Json] = []
    cursor: str | None = None
    while True:
        at = {} if cursor is None else {"cursor": cursor}
        page = client.get(f"/sessions/{session_id}/events", params={"limit": 200, **at}).json()
        found += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return found


def types_of(client: httpx.Client, session_id: str) -> list[str]:
    """Return the types of a session's events, in order."""
    return [item["type"] for item in events_of(client, session_id)]


def problem(response: httpx.Response) -> Problem:
    """Return a problem's status, code and pointers, and see to it that it is one."""
    assert response.headers["content-type"] == "application/problem+json", response.text
    body = response.json()
    assert body["status"] == response.status_code
    assert body["type"] == f"/problems/{body['code']}"
    pointers = [flaw["pointer"] for flaw in body.get("errors", [])]
    return response.status_code, body["code"], pointers
