"""A cursor that we did not make is no defect of ours, on either database: whatever it says."""

import base64
import json
from collections.abc import Iterator

import httpx

from tests.api.batches import Json, append, batch, event, said, started
from tests.api.serving import Served
from tests.api.waiting import caught_up

LARGE = 2**40
"""More than a database's plain number holds, and less than we could have made elsewhere."""
ROUTES = (
    "/sessions",
    "/sessions/main/events",
    "/sessions/main/transcript",
    "/sessions/main/turns",
    "/sessions/main/audit",
    "/sessions/main/subagents",
    "/sessions/main/lineage",
    "/sessions/main/approvals",
    "/sessions/main/usage?by=day",
    "/turns",
    "/approvals",
    "/usage?by=session",
    "/usage?by=day",
    "/errors",
    "/search?q=hello",
)


def fill(client: httpx.Client) -> None:
    """Record twice whatever is listed by pages."""
    for number, session_id in ((1, "main"), (2, "main"), (1, "other")):
        turn_id = f"{session_id}-{number}"
        used = event("usage-recorded", turn_id=turn_id, model="m", input_tokens=1, output_tokens=1)
        days = [used | {"occurred_at": f"2026-01-0{day}T00:00:00Z"} for day in (1, 2)]
        events = [started(turn_id, "Hello"), said(turn_id, "Hello."), *days]
        if number == 1 and session_id == "main":
            failed = {"code": "process-died", "message": "It died."}
            events += [event("turn-failed", turn_id=turn_id, error=failed)]
        else:
            asked = {"turn_id": turn_id, "kind": "permission"}
            events += [event("gate-opened", permission_id=each, **asked) for each in ("p1", "p2")]
        lost = event("records-lost", count=1, reason="r")
        answer = append(client, session_id, batch(number, *events, lost))
        assert answer.status_code == 201, answer.text
    for name in ("a", "b"):
        body: Json = {"session_id": f"child-{name}", "parent": {"session_id": "main"}}
        assert client.post("/sessions", json=body).status_code == 201
        body = {"session_id": f"fork-{name}", "at_turn": "main-1"}
        assert client.post("/sessions/main/fork", json=body).status_code == 201


def forged(cursor: str) -> Iterator[str]:
    """Yield a cursor with one of its numbers replaced by another, each in turn."""
    padded = cursor + "=" * (-len(cursor) % 4)
    digest, *place = json.loads(base64.urlsafe_b64decode(padded))
    for index, token in enumerate(place):
        if isinstance(token, int):
            for other in (LARGE, -LARGE):
                changed = [digest, *place[:index], other, *place[index + 1 :]]
                yield base64.urlsafe_b64encode(json.dumps(changed).encode()).decode().rstrip("=")


def next_cursor(page: Json) -> str:
    found: str = page["children"]["next_cursor"] if "children" in page else page["next_cursor"]
    return found


def test_a_cursor_of_another_number_is_refused_or_leads_somewhere(
    client: httpx.Client, server: Served
) -> None:
    fill(client)
    caught_up(server)
    for route in ROUTES:
        url = httpx.URL(route).copy_merge_params({"limit": 1})
        ours = next_cursor(client.get(url).json())

        answers = [client.get(url.copy_merge_params({"cursor": each})) for each in forged(ours)]

        assert answers, route
        assert {answer.status_code for answer in answers} <= {200, 400}, route
