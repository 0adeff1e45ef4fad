"""What may a hosted turn cost the database? As much after 1,000 events as after ten.

As `test_budgets`, for what needs harnesses: nothing else is done by the server meanwhile.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import httpx

from api.app import create_app
from api.asks import queued_ask
from infrastructure.harness.in_process import InProcessHarnesses
from infrastructure.hosting.opening import hosting
from tests.api.batches import Json, batch, completed, event, said, started
from tests.api.chats import ADD, ASYNC, user
from tests.api.costs import Cost, Meter, metered
from tests.api.hosted_budgets import BUDGETS
from tests.api.serving import open_log
from tests.databases import DatabaseKind

HISTORY: Final[Mapping[str, int]] = {"warm-up": 3, "short": 3, "long": 300}
"""Each chat's session, and how many turns of three events it has before anything is measured."""
A_MATTER_OF_TIME: Final = 2
"""Round trips more, where what is asked at once is sent a little apart."""


@dataclass(slots=True)
class Asking:
    """A client, the session that it asks about, and what it was told."""

    client: httpx.AsyncClient
    session: str
    known: dict[str, str] = field(default_factory=dict[str, str])

    async def post(self, path: str, body: Json, **headers: str) -> httpx.Response:
        return await self.client.post(f"/sessions/{self.session}{path}", json=body, headers=headers)

    async def say(self, text: str, **more: object) -> httpx.Response:
        return await self.post("/turns", {"messages": [user(text)], **more})


async def asked(asking: Asking) -> httpx.Response:
    """Have the agent ask something; what it costs is measured too."""
    answer = await asking.say(ADD)
    asking.known["gate"] = answer.json()["gates"][0]["gate_id"]
    return answer


async def decided(asking: Asking, path: str) -> httpx.Response:
    """Answer the gate that is open, or was."""
    body = {"verdict": "approved"}
    return await asking.client.post(path.format(asking.known["gate"]), json=body)


async def waits(asking: Asking) -> httpx.Response:
    answer = await asking.say("never mind", on_busy="queue")
    asking.known["queued"] = answer.json()["queue_id"]
    return answer


async def busy(asking: Asking) -> None:
    """Have a turn run, until it does what goes on."""
    body = {"messages": [user("tool: wait {}")]}
    turns = f"/sessions/{asking.session}/turns"
    begun = (await asking.client.post(turns, json=body, headers=ASYNC)).json()["turn_id"]
    async with asyncio.timeout(60):
        while True:
            if (await asking.client.get(f"{turns}/{begun}")).json()["open_calls"]:
                return
            await asyncio.sleep(0.01)


async def over(asking: Asking) -> None:
    """Wait until the session has no turn, and no harness works."""
    async with asyncio.timeout(60):
        while True:
            session = (await asking.client.get(f"/sessions/{asking.session}")).json()
            pool = (await asking.client.get("/pool")).json()["process"]
            if session["turn_id"] is None and pool["busy"] == 0:
                return
            await asyncio.sleep(0.01)


async def approved(asking: Asking) -> None:
    """Have the agent ask, and go on."""
    await asked(asking)
    await decided(asking, "/approvals/{}")
    await over(asking)


async def idle(asking: Asking) -> None:
    """Have what runs end, and another turn after it."""
    await asking.post("/interrupt", {})
    await over(asking)
    await asking.say("Hello")


async def passed_on(asking: Asking, to: str, **more: object) -> httpx.Response:
    """Pass a message of the session's chat on."""
    where = f"/lanes/{asking.known['lane']}/{to}"
    return await asking.client.post(where, json={"text": "Hello", **more})


async def of_lane(asking: Asking, command: str, **body: object) -> httpx.Response:
    """Have the lane of the session's chat do something."""
    return await asking.client.post(f"/lanes/{asking.known['lane']}/{command}", json=body)


async def brought(asking: Asking) -> httpx.Response:
    """Bring a message of the session's chat, as a runner."""
    producer = {"id": f"runner-{asking.session}", "epoch": 1, "sequence": 1}
    begin = {"turn_id": f"brought-{asking.session}", "producer": producer}
    answer = await passed_on(asking, "dispatch", message_id="b", owner="runner", begin=begin)
    asking.known["fence"] = str(answer.json().get("fence"))
    return answer


async def run_elsewhere(asking: Asking) -> None:
    """Have the turn end that the runner began, and another turn after it."""
    ends = completed(f"brought-{asking.session}")
    body = batch(2, ends, producer=f"runner-{asking.session}") | {
        "fence": int(asking.known["fence"])
    }
    answer = await asking.post("/events", body)
    assert answer.status_code == 201, answer.text
    await asking.say("Hello")


async def lossy(asking: Asking) -> None:
    """Have a runner lose something."""
    lost = event("records-lost", count=None, reason="crash")
    await asking.post("/events", batch(2, lost, producer=asking.session))


Before = Callable[[Asking], Awaitable[None]]
Request = Callable[[Asking], Awaitable[httpx.Response]]
BEFORE: Final[Mapping[str, Before]] = {
    "POST /approvals/{id}, once more": approved,
    "POST .../turns, that waits": busy,
    "POST /lanes/{lane_id}/messages, not run": idle,
    "DELETE /pool/{session_id}": run_elsewhere,
    "POST .../readiness/accept": lossy,
}
"""What has to be so before, and is not measured."""
REQUESTS: Final[Mapping[str, Request]] = {
    "POST .../turns, cold": lambda a: a.say("Hello"),
    "POST .../turns, warm": lambda a: a.say("Hello"),
    "POST /lanes/{lane_id}/messages": lambda a: passed_on(a, "messages", message_id="m"),
    "POST /lanes/{lane_id}/messages, once more": lambda a: passed_on(a, "messages", message_id="m"),
    "POST .../turns, that asks": asked,
    "POST .../turns, refused": lambda a: a.say("Hello"),
    "POST .../turns, that answers": lambda a: a.post(
        "/turns", {"answers": [{"gate": a.known["gate"], "verdict": "approved"}]}
    ),
    "POST /approvals/{id}, once more": lambda a: decided(a, "/approvals/{}"),
    "POST .../turns, that waits": waits,
    "GET .../queue": lambda a: a.client.get(f"/sessions/{a.session}/queue"),
    "DELETE .../queue/{id}": lambda a: a.client.delete(
        f"/sessions/{a.session}/queue/{a.known['queued']}"
    ),
    "POST /lanes/{lane_id}/messages, not run": lambda a: passed_on(a, "messages", run=False),
    "POST /lanes/{lane_id}/dispatch": brought,
    "POST /lanes/{lane_id}/dispatch, once more": brought,
    "DELETE /pool/{session_id}": lambda a: a.client.delete(f"/pool/{a.session}"),
    "POST .../readiness/accept": lambda a: a.post("/readiness/accept", {}),
    "POST /lanes/{lane_id}/retry": lambda a: of_lane(a, "retry"),
    "POST /lanes/{lane_id}/reset": lambda a: of_lane(a, "reset"),
    "POST /lanes/{lane_id}/switch": lambda a: of_lane(a, "switch", session_id=a.session),
}


@asynccontextmanager
async def asking_at(url: str, directory: Path) -> AsyncGenerator[tuple[dict[str, Asking], Meter]]:
    """Give who asks about each session, with its history, and what it costs."""
    with metered(url, directory) as (through, meter), open_log(through) as log:
        app = create_app(log)
        base = "http://127.0.0.1/v1/projects/default"
        async with (
            hosting(log, partial(queued_ask, log), InProcessHarnesses(), attends=False) as found,
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=base) as client,
        ):
            app.state.hosting = found
            every = {name: Asking(client, name) for name in HISTORY}
            for name, turns in HISTORY.items():
                place = {"source": {"platform": "telegram", "chat_id": name}}
                lane = (await client.post("/lanes/resolve", json=place)).json()
                every[name].session = lane["session_id"]
                every[name].known["lane"] = lane["lane_id"]
                ids = [f"t{n}" for n in range(turns)]
                events = [e for t in ids for e in (started(t), said(t, "Hm."), completed(t))]
                answer = await every[name].post(
                    "/events", batch(1, *events, producer=lane["session_id"])
                )
                assert answer.status_code == 201, answer.text
            yield every, meter


async def costs(asking: Asking, meter: Meter) -> dict[str, Cost]:
    """Return what each request costs, with all of the turn that it waits for."""
    found: dict[str, Cost] = {}
    for name, request in REQUESTS.items():
        if name in BEFORE:
            await BEFORE[name](asking)
        meter.reset()
        answer = await request(asking)
        found[name] = meter.cost
        assert answer.is_success or "refused" in name, (name, answer.text)
    return found


def test_no_hosted_turn_costs_more_than_its_budget_however_long_its_session(
    database_kind: DatabaseKind, database_url: str, tmp_path: Path
) -> None:
    async def measured() -> tuple[dict[str, Cost], dict[str, Cost]]:
        async with asking_at(database_url, tmp_path) as (asking, meter):
            await costs(asking["warm-up"], meter)
            return await costs(asking["short"], meter), await costs(asking["long"], meter)

    short, long = asyncio.run(measured())

    for name, cost in long.items():
        print(database_kind, name, cost)  # noqa: T201 - what the table could say by now
    assert set(short) == set(BUDGETS)
    above = [
        f"{name}: {found} {what}, at most {most}"
        for costs_ in (short, long)
        for name, cost in costs_.items()
        for what, found, most in zip(
            Cost._fields, cost, BUDGETS[name].of(database_kind), strict=True
        )
        if found > most + (A_MATTER_OF_TIME if what == "trips" else 0)
    ]
    assert above == []
    # A new harness is told all of the history, which is read in pages.
    grown = {name for name in long if long[name].statements > short[name].statements}
    assert grown <= {"POST .../turns, cold", "POST /lanes/{lane_id}/retry"}


def test_the_budgets_are_documented() -> None:
    documented = (Path(__file__).parents[2] / "docs" / "performance.md").read_text()
    lines = [f"| `{name}` | {' | '.join(map(str, budget))} |" for name, budget in BUDGETS.items()]
    assert [line for line in lines if line not in documented] == []
