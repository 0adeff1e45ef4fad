"""How is a conversation held with a real agent, by whoever knows turnlog only?"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any, Final, TypeAlias

import httpx

from infrastructure.harness.process_table import running, started_with
from tests.api.cli.command import Turnlog
from tests.real_agents.agents import MARK, Agent
from tests.real_agents.model import Model, model
from tests.real_agents.script import Json

PATIENCE_S: Final = 120.0
_POLL_S: Final = 0.05
_GONE: Final = 204
_BUSY: Final = 409
_AT_WORK: Final = frozenset({"running", "paused"})
Condition: TypeAlias = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A server that runs one agent, with the model that this asks.

    Attributes:
        work: The folder that the agent works in.
        mark: What tells the processes of this server's agents from all others.
    """

    agent: Agent
    model: Model
    user: Turnlog
    http: httpx.Client
    work: Path
    mark: str

    def processes(self) -> list[int]:
        """Return the agent's processes, and all that it started."""
        mark = f"{MARK}={self.mark}".encode()
        return [each.pid for each in running() if started_with(each.pid, mark)]

    def runs(self, word: bytes) -> bool:
        """Tell whether the agent has anything running whose command line has a word."""
        for pid in self.processes():
            try:
                if word in Path(f"/proc/{pid}/cmdline").read_bytes():
                    return True
            except OSError:
                continue
        return False


class Conversation:
    """One session, and what its user does."""

    def __init__(self, place: Place, session_id: str) -> None:
        """Open it."""
        self.place: Final = place
        self.session_id: Final = session_id
        self._path: Final = f"/sessions/{session_id}"
        self._good("POST", "/sessions", json={"session_id": session_id})

    def say(self, text: str) -> Json:
        """Say something; return the turn as it ended or as it waits for a decision."""
        answer = self._good("POST", f"{self._path}/turns", json=_message(text))
        assert answer["status"] != "failed", answer["error"]
        return answer

    def decide(self, turn: Json, verdict: str) -> Json:
        """Decide what a turn waits for, as somebody who knows only the gate; return its end."""
        (gate,) = turn["gates"]
        self.give(gate["gate_id"], verdict)
        return self.ended(turn["turn_id"])

    def give(self, gate_id: str, verdict: str) -> None:
        """Decide a gate, and wait for nothing."""
        self._good("POST", f"/approvals/{gate_id}", json={"verdict": verdict})

    def ended(self, turn_id: str) -> Json:
        """Return a turn when it is over."""
        self.until(lambda: self.turn(turn_id)["status"] not in _AT_WORK)
        return self.turn(turn_id)

    def turn(self, turn_id: str) -> Json:
        """Return a turn as it stands."""
        return self._good("GET", f"{self._path}/turns/{turn_id}")

    def interrupt(self) -> None:
        """Stop what runs."""
        self._good("POST", f"{self._path}/interrupt", json={})

    def let_go(self) -> bool:
        """Let the harness go that is kept for it; tell whether there was one.

        A turn is over for everybody a moment before its harness is free.
        """
        statuses: list[int] = []

        def tried() -> bool:
            answer = self.place.http.delete(f"/pool/{self.session_id}")
            statuses.append(answer.status_code)
            return answer.status_code != _BUSY

        self.until(tried)
        return statuses[-1] == _GONE

    def events(self, kind: str, turn_id: str | None = None) -> list[Json]:
        """Return what was recorded of a kind, in order, of one turn or of all."""
        items = self._good("GET", f"{self._path}/events", params={"limit": 200})["items"]
        data = [item["data"] for item in items if item["type"] == kind]
        return [each for each in data if turn_id in {None, each.get("turn_id")}]

    def messages(self) -> list[Json]:
        """Return the transcript."""
        found: list[Json] = self._good("GET", f"{self._path}/transcript")["items"]
        return found

    def for_openai(self) -> list[Json]:
        """Return the transcript as OpenAI's interface takes it."""
        params = {"format": "openai"}
        found: list[Json] = self._good("GET", f"{self._path}/transcript", params=params)["messages"]
        return found

    def until(self, condition: Condition) -> None:
        """Wait for something to be so."""
        deadline = monotonic() + PATIENCE_S
        while not condition():
            assert monotonic() < deadline, f"{self.session_id}: nothing happens any more"
            Event().wait(_POLL_S)

    def _good(self, method: str, path: str, **more: Any) -> Json:  # noqa: ANN401 - as httpx takes it
        answer = self.place.http.request(method, path, **more)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        found: Json = answer.json() if answer.content else {}
        return found


@contextmanager
def place(agent: Agent, folder: Path, database_url: str) -> Generator[Place]:
    """Serve a database, with an agent, until the end of the block."""
    settings, home = folder / "settings.toml", folder / "agent"
    with model() as stand_in:
        settings.write_text(agent.definition(home, stand_in.url, folder.name))
        user = Turnlog(
            home=folder,
            database_url=database_url,
            more={
                "TURNLOG_CONFIG": str(settings),
                "TURNLOG_DEFAULT_HARNESS": agent.name,
                "TURNLOG_STATE_DIR": str(folder / "state"),
                "TURNLOG_POOL_IDLE_TTL_S": "3600",
                "TURNLOG_ALLOW_UNVERIFIED_TURNS": "true",
            },
        )
        with user.running("serve", "--port", "0", "--json") as server:
            url = server.document()["url"]
            with httpx.Client(base_url=f"{url}/v1/projects/default", timeout=PATIENCE_S) as http:
                yield Place(
                    agent=agent,
                    model=stand_in,
                    user=user,
                    http=http,
                    work=home / "work",
                    mark=folder.name,
                )
            server.process.terminate()
            server.process.communicate(timeout=PATIENCE_S)


def _message(text: str) -> Json:
    return {"messages": [{"role": "user", "content": text}]}
