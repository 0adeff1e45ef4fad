"""Where an answer goes: what comes of a turn that came by a lane says so, wherever it is shown."""

import asyncio
from functools import partial
from typing import Final

import httpx

from api.asks import TurnBody, hosted_ask, queued_ask
from api.body import RawBody
from domain import commands as c
from domain.json_text import parse
from domain.raw_json import dumped
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog, open_turnlog
from infrastructure.harness.in_process import InProcessHarnesses
from infrastructure.hosting.asking import Address
from infrastructure.hosting.hosts import Hosting
from infrastructure.hosting.opening import hosting
from infrastructure.hosting.outcomes import Finished, Paused
from infrastructure.hosting.queue_listing import listed
from infrastructure.hosting.took import Took
from infrastructure.reading.events import facts
from infrastructure.reading.moment import moment
from infrastructure.settings import load
from tests.api.batches import Json, append, batch, completed, event, events_of, problem, turn
from tests.api.chats import ADD, user
from tests.api.streams import Frame, frames, stream, until_synced

LANE: Final = "0f" * 16
TO: Final = {"lane_id": LANE, "reply_to": "1718000000.42"}
TARGET: Final = Target(project_id="default", session_id="s")
PATIENCE_S: Final = 60.0


def begun(turn_id: str, **to: str) -> Json:
    return event("turn-started", turn_id=turn_id, messages=[user("Hello?")], **to)


def asks(turn_id: str) -> Json:
    return event("gate-opened", turn_id=turn_id, kind="input", permission_id="p1")


def told(client: httpx.Client, session_id: str, sequence: int, *events: Json) -> None:
    answer = append(client, session_id, batch(sequence, *events))
    assert answer.status_code == 201, answer.text


def address(shown: Json) -> Json:
    """Return where an answer that this is part of goes."""
    return {name: shown[name] for name in ("lane_id", "reply_to") if name in shown}


def get(client: httpx.Client, path: str, **query: str | int) -> Json:
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def addressed(shown: list[Json]) -> list[Json]:
    return [address(each) for each in shown]


def shown_until_synced(client: httpx.Client, session_id: str | None) -> list[Frame]:
    """Return the events and gates that who comes is told, of a session or of the project."""
    found: list[Frame] = []
    path = "/events/stream" if session_id is None else f"/sessions/{session_id}/events/stream"
    with client.stream("GET", path) as answer:
        for frame in frames(answer.iter_bytes()):
            if frame.name == "synced":
                return found
            found += [frame] if frame.name in {"event", "gate"} else []
    raise AssertionError


def test_all_that_is_shown_of_a_turn_that_came_by_a_lane_says_so(client: httpx.Client) -> None:
    told(client, "s1", 1, *turn("t0"), begun("t1", **TO), asks("t1"))

    shown = events_of(client, "s1")
    assert addressed(shown) == [{}] * 4 + [TO] * 2
    assert [address(get(client, f"/sessions/s1/events/{n}")) for n in (4, 6)] == [{}, TO]
    by_type = get(client, "/sessions/s1/events", types="gate-opened,turn-completed", order="desc")
    assert addressed(by_type["items"]) == [TO, {}]

    (gate,) = get(client, "/approvals")["items"]
    assert address(gate) == TO
    assert address(get(client, f"/approvals/{gate['gate_id']}")) == TO
    assert address(get(client, "/sessions/s1/approvals/p1")) == TO
    assert address(get(client, "/sessions/s1/turns/t1")) == TO
    assert address(get(client, "/sessions/s1/turns/t0/explain")) == {}
    assert address(get(client, "/sessions/s1/turns/t1/explain")) == TO
    assert addressed(get(client, "/sessions/s1/turns")["items"]) == [TO, {}]
    assert addressed(get(client, "/turns")["items"]) == [TO, {}]
    assert addressed(get(client, "/sessions/s1/turns", at=5)["items"]) == [TO, {}]
    for name in ("s1", None):
        frame = shown_until_synced(client, name)
        assert addressed([each.json for each in frame]) == [{}] * 4 + [TO] * 3


def test_who_follows_is_told_where_the_end_of_a_turn_goes(client: httpx.Client) -> None:
    told(client, "s1", 1, begun("t1", **TO))
    ends = [event("turn-interrupted", turn_id="t1", reason="cancelled"), *turn("t2")]
    query = {"after": "latest"}
    with (
        client.stream("GET", "/events/stream", params=query) as answer,
        stream(client, "s1", after=2) as of_session,
    ):
        of_project = frames(answer.iter_bytes())
        for found in (of_project, of_session):
            until_synced(found)
        told(client, "s1", 2, *ends)
        for found in (of_project, of_session):
            news = [next(f for f in found if f.name == "event").json for _ in range(4)]
            assert addressed(news) == [TO, {}, {}, {}]


def test_a_fork_shows_the_same_of_what_it_shares_and_what_it_ends(client: httpx.Client) -> None:
    told(client, "s1", 1, begun("t1", **TO), completed("t1"), begun("t2", lane_id=LANE))
    made = client.post("/sessions/s1/fork", json={"session_id": "s2", "at": 4})
    assert made.status_code == 201, made.text

    shown = get(client, "/sessions/s2/events", after=0)["items"]
    ended = {each["type"]: address(each) for each in shown}
    assert addressed(shown[:4]) == [{}, TO, TO, {"lane_id": LANE}]
    assert addressed(get(client, "/sessions/s2/turns")["items"]) == [{"lane_id": LANE}, TO]
    assert ended["turn-interrupted"] == {"lane_id": LANE}


def test_where_an_answer_goes_is_checked_and_kept_as_it_was_sent(client: httpx.Client) -> None:
    for name, value in (
        ("lane_id", "0F" * 16),
        ("lane_id", 7),
        ("reply_to", ""),
        ("reply_to", "a" * 513),
        ("reply_to", "a\n"),
    ):
        answer = append(client, "s1", batch(1, begun("t1", **{name: value})))  # type: ignore[arg-type]
        assert problem(answer) == (422, "invalid-value", [f"/events/0/data/{name}"])
    told(client, "s1", 1, begun("t1", reply_to="é" * 512))
    (shown,) = get(client, "/sessions/s1/events", types="turn-started")["items"]
    assert address(shown) == address(shown["data"]) == {"reply_to": "é" * 512}


class Lane:
    """Who brings what comes by a lane to a session that is run here."""

    def __init__(self, log: Turnlog, hosts: Hosting) -> None:
        self.log = log
        self.hosts = hosts

    async def take(self, turn_id: str, to: Address, body: Json) -> Took:
        raw = dumped(body)
        read = RawBody(raw, parse(raw))
        fields, owner = read.valid(TurnBody), self.hosts.owner
        ask = await hosted_ask(self.log, TARGET, read, fields, turn_id, owner, to)
        return await self.hosts.take(TARGET, ask, Caller(), raw)

    async def say(self, turn_id: str, to: Address, text: str, **more: str) -> Took:
        return await self.take(turn_id, to, {"messages": [user(text)], **more})

    async def idle(self) -> None:
        """Wait until nothing runs here, and nothing is about to."""
        here = self.hosts.launching.here
        while here.busy() or here._tasks:  # pyright: ignore[reportPrivateUsage] - what it is about to do
            await here.done(PATIENCE_S)

    def look(self) -> tuple[list[Address], list[tuple[str | None, Address]]]:
        """Return where the answers to what waits go; and of each event of a turn."""
        with self.log.database.read() as connection:
            key = moment(connection, TARGET).key
            stored = facts(connection, ("default", "s", key), limit=1_000)
            return [each.address for each in listed(connection, key)], [
                (each.envelope.turn_id, Address(each.lane_id, each.reply_to))
                for each in stored
                if each.envelope.turn_id is not None
            ]


def test_what_comes_by_a_lane_keeps_its_address_while_it_waits_and_when_it_goes_on(
    database_url: str,
) -> None:
    """It waits for a turn, is to steer one, waits for a gate, or becomes a turn at once."""
    one, two, three, four = (Address(LANE, f"m{n}") for n in range(4))

    async def talk(lane: Lane) -> None:
        await lane.say("t1", one, "tool: wait {}")
        steers = await lane.say("-", two, "And this", on_busy="steer")
        waits = await lane.say("-", three, "And that", on_busy="queue")
        assert (steers.steers, waits.steers) == ("t1", None)
        assert lane.look()[0] == [two, three]
        await lane.hosts.interrupt(TARGET, "cancelled", Caller())
        await lane.idle()
        assert lane.look()[0] == []

        asked = await lane.say("t4", four, ADD)
        assert asked.live is not None
        paused = await asked.live.wait()
        assert isinstance(paused, Paused)
        (gate,) = paused.gates
        answer = {"gate": gate.gate_id, "verdict": "approved"}
        goes_on = await lane.take("-", Address("0a" * 16, "m9"), {"answers": [answer]})
        assert goes_on.live is not None
        assert isinstance(await goes_on.live.wait(), Finished)
        await lane.idle()

    settings = {"DATABASE_URL": database_url, "ALLOW_UNSAFE_DURABILITY": "true"}
    with open_turnlog(load({f"TURNLOG_{k}": v for k, v in settings.items()})) as log:

        async def served() -> None:
            opening = [c.OpenSession()]
            await log.write(
                lambda attempt: log.handler.carry_out(attempt, TARGET, opening, caller=Caller())
            )
            async with (
                asyncio.timeout(PATIENCE_S),
                hosting(
                    log, partial(queued_ask, log), InProcessHarnesses(), attends=False
                ) as hosts,
            ):
                await talk(lane := Lane(log, hosts))
                _, shown = lane.look()
                every = list(dict.fromkeys(shown))
                assert [to for _, to in every] == [one, two, three, four]
                assert len({turn_id for turn_id, _ in every}) == 4

        asyncio.run(served())
