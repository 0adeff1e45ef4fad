"""How are journeys walked by a way, and what is left of each afterwards?

All journeys of a way side by side on one server, step by step: so a server that is killed between
two steps is killed for all of them. One journey has a server of its own, which waits for a decision
only for a second.
"""

import json
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import repeat
from pathlib import Path
from typing import Final, Literal, TypeAlias

import httpx

from tests.differential.client import PATIENCE_S, PROJECT, Client, pages, read
from tests.differential.journeys import Journey, Json, LetExpire
from tests.differential.normal import normalised
from tests.differential.server import Serving, Starter, serving
from tests.differential.ways import Way

AT_ONCE: Final = 3
_TROUBLES: Final = frozenset(
    {
        "dispatch-refused",
        "gate-answer-refused",
        "gate-expired",
        "gate-withdrawn",
        "history-asserted",
        "history-diverged",
        "history-rewound",
        "turn-failed",
        "turn-interrupted",
    }
)
_HARNESS: Final = frozenset({"harness-started", "harness-resumed"})
Hold: TypeAlias = Literal["long", "short"]
NewDatabase: TypeAlias = Callable[[Path], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """What is left of a journey.

    Attributes:
        arrays: Each array of messages that the model side received, in order.
        transcript: What the log shows, its ids and versions by the order in which they came.
        fingerprints: Of the history, of what the model sees, the reference's, of the configuration.
        tools: The calls that were made, in order.
        gates: How many gates were opened.
        turns: How each turn ended.
        paths: How each request got its harness, and why it was not warm.
        evicted: Why harnesses were let go, in order.
        troubles: What happened that should not: another history, a refusal, an interruption.
    """

    arrays: Sequence[Json]
    transcript: Sequence[Json]
    fingerprints: Json
    tools: Sequence[Json]
    gates: int
    turns: Sequence[str]
    paths: Sequence[Sequence[str | None]]
    evicted: Sequence[str]
    troubles: Sequence[str]

    @property
    def last(self) -> str:
        """Return what the agent said last."""
        text: str = self.transcript[-1]["parts"][-1]["text"]
        return text

    def written(self) -> str:
        """Return it as a line."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, line: str) -> "Walked":
        """Return what was written."""
        return cls(**json.loads(line))


def walk(
    journeys: Sequence[Journey], way: Way, starter: Starter, folder: Path, database: NewDatabase
) -> dict[str, Walked]:
    """Walk journeys by a way; return what is left of each, by its name."""
    found: dict[str, Walked] = {}
    for hold, ttl_s in (("short", 1), ("long", 3600)):
        those = [each for each in journeys if each.expires == (hold == "short")]
        if those:
            own = folder / hold
            own.mkdir(parents=True)
            with serving(starter, own, database(own), approval_ttl_s=ttl_s) as server:
                found |= _walk(those, way, server)
    return found


def _walk(journeys: Sequence[Journey], way: Way, server: Serving) -> dict[str, Walked]:
    clients = [Client(journey, way) for journey in journeys]
    with ThreadPoolExecutor(AT_ONCE) as several:

        def each(act: Callable[[Client, httpx.Client], None], whom: Sequence[Client]) -> None:
            with _talking(server) as http:
                for _ in several.map(act, whom, repeat(http)):
                    pass  # what went wrong with one is raised here

        each(Client.begin, clients)
        going = clients
        while going:
            each(Client.go_on, going)
            going = [client for client in clients if client.left]
            if way.between == "killed" and any(map(_is_killed_before, going)):
                server.kill_and_restart()
    received, made = server.received(), server.made()
    with _talking(server) as http:
        return {journey.name: _left(http, journey, received, made, server) for journey in journeys}


def _is_killed_before(client: Client) -> bool:
    return client.is_disturbed and not isinstance(client.left[0], LetExpire)


def _left(
    http: httpx.Client,
    journey: Journey,
    received: dict[str, list[Json]],
    made: dict[str, list[Json]],
    server: Serving,
) -> Walked:
    session = f"/sessions/{journey.session_id}"
    events = pages(http, f"{session}/events")
    prints = read(http, f"{session}/fingerprint", v1="true")
    turns = pages(http, f"{session}/turns")
    assert "Traceback" not in server.complaints(), server.complaints()
    return Walked(
        arrays=received.get(journey.session_id, []),
        transcript=normalised(pages(http, f"{session}/transcript")),
        fingerprints={name: prints[name] for name in prints if name != "through_version"},
        tools=made.get(journey.session_id, []),
        gates=sum(event["type"] == "gate-opened" for event in events),
        turns=[turn["status"] for turn in turns],
        paths=[
            [event["data"].get("path", "warm"), event["data"].get("reason")]
            for event in events
            if event["type"] in _HARNESS
        ],
        evicted=[event["data"]["reason"] for event in events if event["type"] == "harness-evicted"],
        troubles=[event["type"] for event in events if event["type"] in _TROUBLES],
    )


@contextmanager
def _talking(server: Serving) -> Generator[httpx.Client]:
    base = f"{server.url}/v1/projects/{PROJECT}"
    # Without trust stores to read, a client is made in no time.
    with httpx.Client(base_url=base, timeout=PATIENCE_S, verify=False) as http:  # noqa: S501
        yield http
