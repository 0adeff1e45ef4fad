"""What may a request cost the database? As much after 1,000 events as after ten: a table says.

What costs more fails, and is named. What has become cheaper passes: `-rP` shows what is, for the
table here and in docs/performance.md to be lowered to.
"""

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from fastapi.testclient import TestClient

from api.app import create_app
from tests.api.batches import Json, answered, batch, called, completed, event, said, started, turn
from tests.api.costs import Budget, Cost, Meter, metered
from tests.api.harnesses import OWNER, cold, ended, launched, parked
from tests.api.hosted_budgets import BUDGETS as HOSTED
from tests.api.hosted_budgets import TIMED
from tests.api.serving import open_log
from tests.databases import DatabaseKind

PROJECT: Final = "/v1/projects/{project_id}"
BASE: Final = "http://127.0.0.1/v1/projects/default"
WARM, SHORT, LONG = "warm", "short", "long"
HISTORY: Final[Mapping[str, int]] = {WARM: 10, SHORT: 10, LONG: 1_000}
"""Each session, and how many events it has before anything is measured."""
EVENTS_A_TURN = 5


@dataclass(slots=True)
class Asking:
    """A client, the session that it asks about, and the batches it has sent to it."""

    client: TestClient
    session: str
    sequence: int = 0
    known: dict[str, Any] = field(default_factory=dict[str, Any])

    def get(self, path: str, **query: str | int) -> Any:  # noqa: ANN401 - the client's own
        return self.client.get(f"{BASE}{path}", params=query)

    def post(self, path: str, body: object) -> Any:  # noqa: ANN401 - the client's own
        return self.client.post(f"{BASE}{path}", json=body)

    def of_session(self, path: str = "", **query: str | int) -> Any:  # noqa: ANN401
        return self.get(f"/sessions/{self.session}{path}", **query)

    def append(self, *events: Json, **more: object) -> Any:  # noqa: ANN401 - the client's own
        self.sequence += 1
        body = batch(self.sequence, *events, producer=f"runner-{self.session}") | more
        return self.post(f"/sessions/{self.session}/events", body)

    def whole_turn(self, name: str) -> list[Json]:
        return [
            started(name),
            called(name, f"c-{name}"),
            answered(name, f"c-{name}"),
            said(name, "Done."),
            completed(name),
        ]


Request = Callable[[Asking], Any]


def blob(asking: Asking) -> str:
    return f"/blobs/{sha256(asking.session.encode()).hexdigest()}"


def imported(asking: Asking) -> Any:  # noqa: ANN401 - the client's own
    row = (
        f'{{"session_id":"rows-{asking.session}","external_id":"1","role":"user","content":"Hi",'
        f'"occurred_at":"2026-01-01T00:00:00Z"}}\n'
    )
    answer = asking.client.post(
        f"{BASE}/imports",
        content=row.encode(),
        headers={"Content-Type": "application/x-ndjson"},
        params={"format": "rows"},
    )
    asking.known["import"] = answer.json()["import_id"]
    return answer


def listed(asking: Asking) -> Any:  # noqa: ANN401 - the client's own
    answer = asking.of_session("/approvals")
    asking.known["gate"] = answer.json()["items"][0]["gate_id"]
    return answer


def leased(asking: Asking) -> Any:  # noqa: ANN401 - the client's own
    answer = asking.append(started("t-leased"), lease_s=60)
    asking.known["fence"] = answer.json()["fence"]
    return answer


def dispatched(asking: Asking, turn_id: str, **more: object) -> Any:  # noqa: ANN401
    """Have a runner's turn begin, as its next batch."""
    asking.sequence += 1
    who = {"id": f"runner-{asking.session}", "epoch": 1, "sequence": asking.sequence}
    asking.known["dispatch"] = {
        "messages": [{"role": "user", "content": "Hello?"}],
        "owner": OWNER,
        "begin": {"turn_id": turn_id, "producer": who, "seat_id": f"seat-{turn_id}"},
        **more,
    }
    return dispatched_again(asking)


def dispatched_again(asking: Asking) -> Any:  # noqa: ANN401 - the client's own
    answer = asking.post(f"/sessions/{asking.session}/dispatch", asking.known["dispatch"])
    asking.known["fence"] = answer.json().get("fence")
    return answer


def place(chat_id: str) -> dict[str, Any]:
    """Return a message's origin."""
    return {"source": {"platform": "telegram", "chat_id": chat_id}}


def of_lane(asking: Asking, command: str, **body: object) -> Any:  # noqa: ANN401
    """Have the lane do something."""
    return asking.post(f"/lanes/{asking.known['lane']}/{command}", body)


QUESTION: Final = {"role": "user", "content": "Hello?"}
REQUESTS: Final[Mapping[str, Request]] = {
    "POST /sessions": lambda a: a.post("/sessions", {"session_id": f"new-{a.session}"}),
    "POST .../events, a turn": lambda a: a.append(*a.whole_turn("t-new")),
    "POST .../events, its session": lambda a: a.post(
        f"/sessions/born-{a.session}/events", batch(1, *turn("t1"), producer=f"born-{a.session}")
    ),
    "POST .../events, one event": lambda a: a.append(started("t-open")),
    "POST .../events, once more": lambda a: a.post(
        f"/sessions/{a.session}/events",
        batch(a.sequence, started("t-open"), producer=f"runner-{a.session}"),
    ),
    "POST .../events, a gate": lambda a: a.append(
        event("gate-opened", turn_id="t-open", kind="permission", permission_id="p")
    ),
    "GET /approvals": lambda a: a.get("/approvals"),
    "GET .../approvals": listed,
    "GET /approvals/{id}": lambda a: a.get(f"/approvals/{a.known['gate']}"),
    "GET .../approvals/{name}": lambda a: a.of_session("/approvals/p"),
    "POST .../events, a decision": lambda a: a.append(
        event(
            "gate-decided",
            permission_id="p",
            verdict="approved",
            decided_by="person",
            via="in-band",
        )
    ),
    "POST /producers/{id}/epochs": lambda a: a.post(f"/producers/other-{a.session}/epochs", {}),
    "GET /sessions": lambda a: a.get("/sessions", limit=2),
    "GET /sessions/{id}": lambda a: a.of_session(),
    "PATCH /sessions/{id}": lambda a: a.client.patch(
        f"{BASE}/sessions/{a.session}", json={"title": "Anew"}
    ),
    "GET .../events": lambda a: a.of_session("/events"),
    "GET .../events/{version}": lambda a: a.of_session("/events/3"),
    "GET .../transcript, first page": lambda a: a.of_session("/transcript", limit=3),
    "GET .../transcript, last page": lambda a: a.of_session("/transcript", limit=3, order="desc"),
    "GET .../transcript, at a version": lambda a: a.of_session("/transcript", limit=3, at="5"),
    "GET .../transcript, format=openai": lambda a: a.of_session("/transcript", format="openai"),
    "GET .../transcript, format=anthropic": lambda a: a.of_session(
        "/transcript", format="anthropic"
    ),
    "GET .../transcript, format=ui": lambda a: a.of_session("/transcript", format="ui"),
    "GET .../turns": lambda a: a.of_session("/turns"),
    "GET .../turns/{id}": lambda a: a.of_session("/turns/t1"),
    "GET /turns": lambda a: a.get("/turns", limit=3),
    "GET /pool": lambda a: a.get("/pool"),
    "GET .../readiness": lambda a: a.of_session("/readiness"),
    "GET .../fingerprint": lambda a: a.of_session("/fingerprint"),
    "GET .../state": lambda a: a.of_session("/state"),
    "GET .../state, at a version": lambda a: a.of_session("/state", at="5"),
    "GET .../diff, a step": lambda a: a.of_session("/diff", **{"from": "5", "to": "6"}),
    "GET .../diff": lambda a: a.of_session("/diff", **{"from": "5"}, limit=3),
    "GET .../audit": lambda a: a.of_session("/audit"),
    "GET .../usage": lambda a: a.of_session("/usage"),
    "GET .../subagents": lambda a: a.of_session("/subagents"),
    "GET /usage": lambda a: a.get("/usage"),
    "GET /errors": lambda a: a.get("/errors", session=a.session),
    "GET /agreement": lambda a: a.get("/agreement"),
    "GET /search": lambda a: a.get("/search", q="Hello", limit=3),
    "POST .../compare": lambda a: a.post(
        f"/sessions/{a.session}/compare", {"messages": [QUESTION, QUESTION]}
    ),
    "POST /imports, one row": imported,
    "POST /lanes/resolve, a new place": lambda a: a.post("/lanes/resolve", place(f"{a.session}-b")),
    "POST /lanes/resolve": lambda a: a.post("/lanes/resolve", place(a.session)),
    "GET /lanes": lambda a: a.get("/lanes"),
    "GET /lanes/{lane_id}": lambda a: a.get(f"/lanes/{a.known['lane']}"),
    "GET /lanes/{lane_id}/sessions": lambda a: a.get(f"/lanes/{a.known['lane']}/sessions"),
    "GET /lanes/{lane_id}/events": lambda a: a.get(f"/lanes/{a.known['lane']}/events"),
    "GET /lanes/{lane_id}/context": lambda a: a.get(f"/lanes/{a.known['lane']}/context"),
    "PATCH /lanes/{lane_id}": lambda a: a.client.patch(
        f"{BASE}/lanes/{a.known['lane']}", json={"pinned": True}
    ),
    "POST /lanes/{lane_id}/resume-mark": lambda a: of_lane(a, "resume-mark", reason="cut-off"),
    "DELETE /lanes/{lane_id}/resume-mark": lambda a: a.client.delete(
        f"{BASE}/lanes/{a.known['lane']}/resume-mark"
    ),
    "POST /lanes/{lane_id}/undo": lambda a: of_lane(a, "undo"),
    "POST /lanes/{lane_id}/redo": lambda a: of_lane(a, "redo"),
    "GET /lanes/{lane_id}/queue": lambda a: a.get(f"/lanes/{a.known['lane']}/queue"),
    "DELETE /lanes/{lane_id}/queue, which is empty": lambda a: a.client.delete(
        f"{BASE}/lanes/{a.known['lane']}/queue"
    ),
    "POST /lanes/{lane_id}/branch": lambda a: of_lane(a, "branch"),
    "GET /lanes/{lane_id}/resumable": lambda a: a.get(f"/lanes/{a.known['lane']}/resumable"),
    "POST /lanes/{lane_id}/suspend": lambda a: of_lane(a, "suspend", reason="stuck"),
    "POST /lanes/{lane_id}/move": lambda a: of_lane(a, "move", **place(f"{a.session}-c")),
    "GET /settings": lambda a: a.get("/settings"),
    "PATCH /settings": lambda a: a.client.patch(
        f"{BASE}/settings", json={"lanes": {"prune_after_days": len(a.session)}}
    ),
    "PUT /lanes/aliases": lambda a: a.client.put(
        f"{BASE}/lanes/aliases", json={"whatsapp": {"1": [f"{a.session}@lid"]}}
    ),
    "GET /lanes/aliases": lambda a: a.get("/lanes/aliases"),
    "PUT /lanes/platforms/{platform}": lambda a: a.client.put(
        f"{BASE}/lanes/platforms/telegram", json={"connected": a.session == LONG}
    ),
    "GET /lanes/platforms": lambda a: a.get("/lanes/platforms"),
    "PUT /blobs/{sha256}": lambda a: a.client.put(f"{BASE}{blob(a)}", content=a.session.encode()),
    "GET /blobs/{sha256}": lambda a: a.get(blob(a)),
    "GET /imports/{id}": lambda a: a.get(f"/imports/{a.known['import']}"),
    "DELETE /sessions/{id}": lambda a: a.client.delete(f"{BASE}/sessions/new-{a.session}"),
    "POST .../restore": lambda a: a.post(f"/sessions/new-{a.session}/restore", {}),
    "POST .../fork": lambda a: a.post(
        f"/sessions/{a.session}/fork", {"session_id": f"fork-{a.session}"}
    ),
    "POST .../fork, at a version": lambda a: a.post(
        f"/sessions/{a.session}/fork", {"session_id": f"old-{a.session}", "at": 7}
    ),
    "GET .../lineage": lambda a: a.of_session("/lineage"),
    "GET .../transcript, of a fork": lambda a: a.get(
        f"/sessions/fork-{a.session}/transcript", limit=3
    ),
    "POST .../events, a turn of a fork": lambda a: a.post(
        f"/sessions/fork-{a.session}/events",
        batch(1, *a.whole_turn("t-new-in-fork"), producer=f"fork-{a.session}"),
    ),
    "POST .../events, with a rewind": lambda a: a.append(
        *turn("t-edited"), rewind={"turns": 1, "interrupt": True}
    ),
    "POST .../rewind": lambda a: a.post(f"/sessions/{a.session}/rewind", {"turns": 2}),
    "POST .../rewind, tried": lambda a: a.post(
        f"/sessions/{a.session}/rewind", {"to_turn": "t2", "dry_run": True}
    ),
    "POST .../redo": lambda a: a.post(f"/sessions/{a.session}/redo", {}),
    "POST .../compact": lambda a: a.post(
        f"/sessions/{a.session}/compact", {"summary": "So far.", "through_message_id": "t-new:4"}
    ),
    "POST .../events, a lease": leased,
    "POST .../events, under a lease": lambda a: a.append(
        said("t-leased", "Hm."), fence=a.known["fence"]
    ),
    "POST .../turns/{id}/heartbeat": lambda a: a.post(
        f"/sessions/{a.session}/turns/t-leased/heartbeat", {"fence": a.known["fence"]}
    ),
    "POST .../turns/{id}/deltas": lambda a: a.post(
        f"/sessions/{a.session}/turns/t-leased/deltas",
        {"fence": a.known["fence"], "deltas": ["Hm."]},
    ),
    "POST .../events, the end of a lease": lambda a: a.append(
        completed("t-leased"), fence=a.known["fence"]
    ),
    "POST .../events, two cold turns": lambda a: a.append(
        *cold("t-cold"),
        started("t-again"),
        launched("t-again", "seat-2", "evicted", reason="history"),
    ),
    "GET .../turns/{id}/explain": lambda a: a.of_session("/turns/t-again/explain"),
    "POST .../events, the end of a cold turn": lambda a: a.append(
        *ended("t-again"), parked("seat-2")
    ),
    "POST .../dispatch, only asked": lambda a: a.post(
        f"/sessions/{a.session}/dispatch", {"messages": [QUESTION], "owner": OWNER}
    ),
    "POST .../dispatch, warm": lambda a: dispatched(
        a, "t-warm", seat={"seat_id": "seat-2", "state": "idle"}
    ),
    "POST .../dispatch, once more": dispatched_again,
    "POST .../events, the end of a warm turn": lambda a: a.append(
        *ended("t-warm"), parked("seat-2"), fence=a.known["fence"]
    ),
    "POST .../dispatch, cold": lambda a: dispatched(a, "t-next"),
}


BUDGETS: Final[Mapping[str, Budget]] = {
    "POST /sessions": Budget(12, 11, 13, 1),
    "POST .../events, a turn": Budget(25, 15, 8, 1),
    "POST .../events, its session": Budget(20, 13, 10, 1),
    "POST .../events, one event": Budget(9, 9, 2, 1),
    "POST .../events, once more": Budget(5, 7, 6, 0),
    "POST .../events, a gate": Budget(9, 9, 2, 1),
    "POST .../events, a decision": Budget(10, 10, 3, 1),
    "GET /approvals": Budget(1, 1, 4, 0),
    "GET .../approvals": Budget(2, 2, 5, 0),
    "GET .../approvals/{name}": Budget(2, 2, 5, 0),
    "GET /approvals/{id}": Budget(1, 1, 4, 0),
    "POST /producers/{id}/epochs": Budget(4, 3, 4, 1),
    "GET /sessions": Budget(3, 3, 6, 0),
    "GET /sessions/{id}": Budget(5, 5, 8, 0),
    "PATCH /sessions/{id}": Budget(12, 11, 13, 1),
    "DELETE /sessions/{id}": Budget(7, 6, 6, 1),
    "POST .../restore": Budget(10, 9, 9, 1),
    "POST .../fork": Budget(24, 22, 21, 1),
    "POST .../fork, at a version": Budget(27, 25, 24, 1),
    "GET .../lineage": Budget(4, 4, 6, 0),
    "GET .../subagents": Budget(3, 3, 6, 0),
    "GET .../transcript, of a fork": Budget(6, 6, 5, 0),
    "POST .../events, a turn of a fork": Budget(28, 16, 13, 1),
    "POST .../events, with a rewind": Budget(30, 19, 12, 1),
    "POST .../rewind": Budget(14, 13, 11, 1),
    "POST .../rewind, tried": Budget(8, 8, 10, 0),
    "POST .../redo": Budget(12, 11, 7, 1),
    "POST .../compact": Budget(17, 16, 10, 1),
    "POST .../events, a lease": Budget(10, 10, 3, 1),
    "POST .../events, under a lease": Budget(9, 9, 2, 1),
    "POST .../turns/{id}/heartbeat": Budget(5, 4, 5, 1),
    "POST .../turns/{id}/deltas": Budget(3, 3, 5, 0),
    "POST .../events, the end of a lease": Budget(8, 8, 2, 1),
    "POST .../events, two cold turns": Budget(29, 13, 3, 1),
    "GET .../turns/{id}/explain": Budget(9, 9, 11, 0),
    "POST .../events, the end of a cold turn": Budget(14, 10, 2, 1),
    "POST .../dispatch, only asked": Budget(6, 6, 5, 0),
    "POST .../dispatch, warm": Budget(15, 13, 4, 1),
    "POST .../dispatch, once more": Budget(9, 10, 9, 0),
    "POST .../events, the end of a warm turn": Budget(15, 11, 2, 1),
    "POST .../dispatch, cold": Budget(25, 17, 6, 1),
    "GET .../events": Budget(3, 3, 6, 0),
    "GET .../events/{version}": Budget(4, 4, 7, 0),
    "GET .../transcript, first page": Budget(5, 5, 5, 0),
    "GET .../transcript, last page": Budget(5, 5, 5, 0),
    "GET .../transcript, at a version": Budget(6, 6, 6, 0),
    "GET .../transcript, format=openai": Budget(6, 6, 9, 0),
    "GET .../transcript, format=anthropic": Budget(6, 6, 9, 0),
    "GET .../transcript, format=ui": Budget(6, 6, 9, 0),
    "GET .../turns": Budget(2, 2, 5, 0),
    "GET .../turns/{id}": Budget(2, 2, 5, 0),
    "GET /turns": Budget(1, 1, 4, 0),
    "GET /pool": Budget(2, 2, 5, 0),
    "GET .../readiness": Budget(1, 1, 4, 0),
    "GET .../fingerprint": Budget(1, 1, 4, 0),
    "GET .../state": Budget(1, 1, 4, 0),
    "GET .../state, at a version": Budget(5, 5, 8, 0),
    "GET .../diff, a step": Budget(11, 11, 14, 0),
    "GET .../diff": Budget(13, 13, 13, 0),
    "GET .../audit": Budget(3, 3, 5, 0),
    "POST .../compare": Budget(14, 13, 16, 1),
    "GET /agreement": Budget(2, 2, 5, 0),
    "GET .../usage": Budget(10, 10, 13, 0),
    "GET /usage": Budget(8, 8, 11, 0),
    "GET /errors": Budget(7, 7, 10, 0),
    "GET /search": Budget(5, 5, 8, 0),
    "POST /imports, one row": Budget(23, 21, 22, 2),
    "GET /imports/{id}": Budget(1, 1, 4, 0),
    "POST /lanes/resolve, a new place": Budget(20, 17, 20, 1),
    "POST /lanes/resolve": Budget(5, 4, 8, 1),
    "GET /lanes": Budget(1, 1, 4, 0),
    "GET /lanes/{lane_id}": Budget(1, 1, 4, 0),
    "GET /lanes/{lane_id}/sessions": Budget(2, 2, 5, 0),
    "GET /lanes/{lane_id}/events": Budget(3, 3, 6, 0),
    "GET /lanes/{lane_id}/context": Budget(3, 3, 6, 0),
    "PATCH /lanes/{lane_id}": Budget(8, 7, 9, 1),
    "POST /lanes/{lane_id}/resume-mark": Budget(8, 7, 9, 1),
    "DELETE /lanes/{lane_id}/resume-mark": Budget(8, 7, 9, 1),
    "POST /lanes/{lane_id}/undo": Budget(19, 18, 20, 1),
    "POST /lanes/{lane_id}/redo": Budget(12, 11, 8, 1),
    "GET /lanes/{lane_id}/queue": Budget(3, 3, 6, 0),
    "DELETE /lanes/{lane_id}/queue, which is empty": Budget(4, 3, 5, 0),
    "POST /lanes/{lane_id}/branch": Budget(21, 21, 22, 1),
    "GET /lanes/{lane_id}/resumable": Budget(2, 2, 5, 0),
    "POST /lanes/{lane_id}/suspend": Budget(8, 7, 9, 1),
    "POST /lanes/{lane_id}/move": Budget(24, 17, 16, 1),
    "GET /settings": Budget(1, 1, 4, 0),
    "PATCH /settings": Budget(3, 2, 4, 1),
    "PUT /lanes/aliases": Budget(3, 2, 4, 1),
    "GET /lanes/aliases": Budget(1, 1, 4, 0),
    "PUT /lanes/platforms/{platform}": Budget(3, 2, 4, 1),
    "GET /lanes/platforms": Budget(1, 1, 4, 0),
    "PUT /blobs/{sha256}": Budget(5, 4, 5, 1),
    "GET /blobs/{sha256}": Budget(2, 2, 8, 0),
}


@contextmanager
def asking_at(url: str, directory: Path) -> Generator[tuple[Mapping[str, Asking], Meter]]:
    """Give who asks about each session, with its history, and what it costs."""
    with metered(url, directory) as (through, meter), open_log(through) as log:
        # Without its lifespan nothing follows the log meanwhile.
        client = TestClient(create_app(log))
        asking = {name: Asking(client, name) for name in HISTORY}
        for name, events in HISTORY.items():
            turns = events // EVENTS_A_TURN
            every = [e for n in range(1, turns + 1) for e in asking[name].whole_turn(f"t{n}")]
            assert asking[name].append(*every).status_code == 201
            lane = asking[name].post("/lanes/resolve", place(name)).json()
            asking[name].known["lane"] = lane["lane_id"]
            body = batch(1, *turn("t1"), *turn("t2"), producer=f"lane-{name}")
            said_there = asking[name].post(f"/sessions/{lane['session_id']}/events", body)
            assert said_there.status_code == 201
        for view in log.following.names:
            log.following.catch_up(view)
        yield asking, meter
        client.close()


def costs(asking: Asking, meter: Meter) -> dict[str, Cost]:
    """Return what each request costs."""
    found: dict[str, Cost] = {}
    for name, request in REQUESTS.items():
        meter.reset()
        answer = request(asking)
        found[name] = meter.cost
        assert answer.status_code < 300, (name, answer.text)
    return found


def over(name: str, cost: Cost, kind: DatabaseKind) -> list[str]:
    """Return what costs more than its budget, in words."""
    most = BUDGETS[name].of(kind)
    return [
        f"{name} on {kind}: {found} {what}, at most {allowed}"
        for what, found, allowed in zip(Cost._fields, cost, most, strict=True)
        if found > allowed
    ]


def test_no_request_costs_more_than_its_budget_however_long_its_session(
    database_kind: DatabaseKind, database_url: str, tmp_path: Path
) -> None:
    with asking_at(database_url, tmp_path) as (asking, meter):
        costs(asking[WARM], meter)
        short = costs(asking[SHORT], meter)
        long = costs(asking[LONG], meter)

    assert set(short) == set(BUDGETS)
    for name, cost in long.items():
        print(database_kind, name, cost)  # noqa: T201 - what the table could say by now
    assert [line for name, cost in short.items() for line in over(name, cost, database_kind)] == []
    assert [line for name, cost in long.items() for line in over(name, cost, database_kind)] == []
    grown = {name for name in long if long[name].statements > short[name].statements}
    # The beginning of a long session and its end are two pages; of a short one they are one.
    # A short one has no checkpoint that could be looked for.
    assert grown <= {
        "POST .../compare",
        "GET .../state, at a version",
        "POST .../fork, at a version",
        "GET .../diff",
        "GET .../diff, a step",
    }


UNBOUNDED: Final = {
    "GET /events/stream": "goes on until its client leaves",
    "GET .../events/stream": "goes on until its client leaves",
    "GET .../export": "reads all of a session",
    "POST .../verify": "reads all of a session",
    "POST .../purge": "removes all of a session",
    "DELETE /sessions": "deletes many sessions",
    "POST /sessions/prune": "deletes many sessions",
    "POST /lanes/prune": "gives up many lanes",
    "POST /lanes/{lane_id}/purge": "removes all of a lane",
    "DELETE ": "deletes many sessions",
}


def test_every_route_of_a_project_has_a_budget(database_url: str) -> None:
    with open_log(database_url) as log:
        paths: Mapping[str, Mapping[str, object]] = create_app(log).openapi()["paths"]
    routes = {
        shortened(f"{method.upper()} {path.removeprefix(PROJECT)}")
        for path, methods in paths.items()
        if path.startswith(PROJECT)
        for method in methods
    }
    known = {shortened(name.split(",")[0]) for name in (*BUDGETS, *HOSTED, *TIMED, *UNBOUNDED)}
    assert routes - known == set()


def shortened(route: str) -> str:
    """Return a route as the table has it, whatever its parameters are called."""
    return re.sub(r"\{\w+\}", "{}", route).replace("/sessions/{}/", ".../")


def test_the_budgets_are_documented() -> None:
    documented = (Path(__file__).parents[2] / "docs" / "performance.md").read_text()
    lines = [f"| `{name}` | {' | '.join(map(str, budget))} |" for name, budget in BUDGETS.items()]
    assert [line for line in lines if line not in documented] == []
