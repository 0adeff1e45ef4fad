"""Real servers with the real demo agent, and what their log tells once they were ill-treated."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from time import monotonic
from typing import IO, TypeVar

import httpx

from infrastructure.harness.process_table import running, started_with
from infrastructure.rebuilding import rebuild
from infrastructure.verification import verify_all
from tests.api.batches import Json, events_of
from tests.faults.cluster import kill
from tests.infrastructure.writing import opened

PATIENCE_S = 60.0
ASYNC = {"Prefer": "respond-async"}
ASK = 'ask: add {"a":1,"b":2}'
ENDS = ("turn-completed", "turn-failed", "turn-interrupted")
Value = TypeVar("Value")


def eventually(
    look: Callable[[], Value], is_so: Callable[[Value], bool] = bool, within: float = PATIENCE_S
) -> Value:
    """Return what `look` finds once it is so."""
    deadline, pause = monotonic() + within, Event()
    while not is_so(found := look()):
        assert monotonic() < deadline, found
        pause.wait(0.02)
    return found


def user(text: str, **more: object) -> Json:
    """Return a message of a person."""
    return {"role": "user", "content": text, **more}


@dataclass(slots=True)
class Served:
    """A server, as a client of the default project sees it."""

    pid: int
    url: str
    http: httpx.Client
    output: Path
    ended: Callable[[int], int]
    code: int | None = None

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def stop(self) -> None:
        """Have it stand still; return once all its threads do, which takes a while when busy."""
        self.signal(signal.SIGSTOP)
        eventually(lambda: thread_states(self.pid), lambda found: found <= {"T"})

    def kill(self) -> None:
        """Kill it at once."""
        if self.code is None:
            kill(self.pid)
            self.wait()

    def wait(self) -> int:
        """Wait for its end; return how it ended, negative for a signal."""
        if self.code is None:
            self.code = self.ended(self.pid)
        return self.code

    def words(self) -> str:
        """Return what it wrote to its standard error."""
        return Path(f"{self.output}.i").read_text()

    def agents(self) -> list[int]:
        """Return the processes that it started and that live."""
        return children(self.pid)

    def open(self, session_id: str = "s") -> None:
        """Open a session."""
        answer = self.http.post("/sessions", json={"session_id": session_id})
        assert answer.status_code == 201, answer.text

    def say(
        self,
        text: str,
        session_id: str = "s",
        headers: Mapping[str, str] | None = None,
        message_id: str | None = None,
        **more: object,
    ) -> httpx.Response:
        """Say something."""
        named = {} if message_id is None else {"message_id": message_id}
        body = {"messages": [user(text, **named)], **more}
        path = f"/sessions/{session_id}/turns"
        return self.http.post(path, json=body, headers=dict(headers or {}))

    def said(self, text: str, session_id: str = "s", **more: object) -> Json:
        """Say something, and return its turn."""
        answer = self.say(text, session_id, **more)  # type: ignore[arg-type]
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    def begun(self, text: str, session_id: str = "s", **more: object) -> str:
        """Say something, and do not wait for what comes of it."""
        answer = self.say(text, session_id, ASYNC, **more)  # type: ignore[arg-type]
        assert answer.status_code == 202, answer.text
        turn_id: str = answer.json().get("turn_id") or answer.json()["queue_id"]
        return turn_id

    def asked(self, session_id: str = "s", text: str = ASK) -> str:
        """Have the agent ask something; return the gate."""
        turn = self.said(text, session_id)
        assert turn["status"] == "paused", turn
        gate: str = turn["gates"][0]["gate_id"]
        return gate

    def decide(self, gate: str, verdict: str = "approved") -> httpx.Response:
        """Answer a gate of any session."""
        return self.http.post(f"/approvals/{gate}", json={"verdict": verdict})

    def turn(self, turn_id: str, session_id: str = "s") -> Json:
        """Return a turn as it stands."""
        found: Json = self.http.get(f"/sessions/{session_id}/turns/{turn_id}").json()
        return found

    def over(self, turn_id: str, session_id: str = "s", within: float = PATIENCE_S) -> Json:
        """Return a turn once it is over."""
        return eventually(
            lambda: self.turn(turn_id, session_id),
            lambda turn: turn["status"] not in {"running", "paused"},
            within,
        )

    def last(self, session_id: str = "s") -> Json:
        """Return the last turn."""
        found: Json = self.http.get(
            f"/sessions/{session_id}/turns", params={"order": "desc", "limit": 1}
        ).json()["items"][0]
        return found

    def events(self, *types: str, session_id: str = "s") -> list[Json]:
        """Return the session's events, or those of some types."""
        found = events_of(self.http, session_id)
        return [each for each in found if not types or each["type"] in types]

    def types(self, session_id: str = "s") -> list[str]:
        """Return the types of the session's events."""
        return [each["type"] for each in self.events(session_id=session_id)]

    def texts(self, session_id: str = "s") -> list[str]:
        """Return what was said in words."""
        found = self.http.get(f"/sessions/{session_id}/transcript", params={"limit": 200}).json()
        return [
            part["text"]
            for message in found["items"]
            for part in message["parts"]
            if part["type"] == "text"
        ]

    def process(self) -> Json:
        """Return how full its pool is."""
        found: Json = self.http.get("/pool").json()["process"]
        return found

    def has_room(self) -> None:
        """Wait until no harness takes a place any more."""
        taken = ("busy", "idle", "awaiting_approval", "ending")
        eventually(self.process, lambda told: not any(told[name] for name in taken))

    def seats(self, session_id: str = "s") -> list[Json]:
        """Return the seats of a session that are not gone."""
        found = self.http.get("/pool").json()["seats"]
        return [seat for seat in found if seat["session_id"] == session_id]


@dataclass(frozen=True, slots=True)
class Forking:
    """The process that servers are forked from."""

    input: IO[str]
    output: IO[str]

    def ask(self, line: Mapping[str, object]) -> int:
        """Ask it for something; return what it says."""
        self.input.write(json.dumps(line) + "\n")
        self.input.flush()
        return int(self.output.readline())


@dataclass(slots=True)
class Servers:
    """What a test starts servers of one database with, and what their agents noted."""

    process: Forking
    folder: Path
    database_url: str
    settings: dict[str, str] = field(default_factory=dict[str, str])
    started: list[Served] = field(default_factory=list[Served])

    @property
    def state(self) -> Path:
        """Return what the servers remember besides the log."""
        return self.folder / "state"

    def start(self, **settings: object) -> Served:
        """Start one; `settings` are variables without their prefix."""
        given = {**self.settings, **{name: str(value) for name, value in settings.items()}}
        environment = {
            "TURNLOG_DATABASE_URL": self.database_url,
            "TURNLOG_ALLOW_UNSAFE_DURABILITY": "true",
            "TURNLOG_SEARCH": "false",
            "TURNLOG_STATE_DIR": str(self.state),
            "TURNLOG_DEMO_CALLS": str(self.folder / "calls"),
            "TURNLOG_DEMO_RECORD": str(self.folder / "record"),
            **{f"TURNLOG_{name.upper()}": value for name, value in given.items()},
        }
        output = self.folder / f"server-{len(self.started)}"
        pid = self.process.ask({"environment": environment, "output": str(output)})
        words = Path(f"{output}.o")
        said = eventually(lambda: words.read_text() if words.exists() else "")
        url = json.loads(said)["url"]
        http = httpx.Client(
            base_url=f"{url}/v1/projects/default",
            timeout=PATIENCE_S,
            verify=False,  # noqa: S501 - without trust stores to read, it is made in no time
        )
        served = Served(pid, url, http, output, lambda which: self.process.ask({"wait": which}))
        self.started.append(served)
        return served

    @property
    def python(self) -> str:
        """Return the program that runs the demo agent."""
        return sys.executable

    @property
    def root(self) -> str:
        """Return where the program's packages are."""
        return str(Path(__file__).parents[2])

    def marked(self) -> list[int]:
        """Return the processes that any server of these started and that live."""
        marks = [f"TURNLOG_HARNESS={name.stem}" for name in (self.state / "servers").glob("*.json")]
        return [
            each.pid
            for each in running()
            for mark in marks
            if started_with(each.pid, mark.encode())
        ]

    def end(self) -> None:
        """Kill what still runs."""
        for served in self.started:
            served.http.close()
            if served.code is None:
                kill(served.pid, signal.SIGCONT)
                served.kill()

    def calls(self, session_id: str = "s") -> Counter[str]:
        """Return how often each call was made, whichever agent made it."""
        return Counter(
            f"{line['tool_call_id']} {line['name']}"
            for line in self._noted("calls")
            if line["session"] == session_id
        )

    def seen(self, session_id: str = "s") -> list[Json]:
        """Return what the model saw at its last call."""
        found: list[Json] = [
            line["messages"] for line in self._noted("record") if line["session"] == session_id
        ][-1]
        return found

    def _noted(self, name: str) -> list[Json]:
        path = self.folder / name
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]


@contextmanager
def forking() -> Generator[Forking]:
    """Give the process that servers are forked from."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.served"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Forking(process.stdin, process.stdout)


@contextmanager
def servers_of(
    process: Forking, folder: Path, database_url: str, **settings: str
) -> Generator[Servers]:
    """Give what starts servers of a database; at the end none is left, nor what they started."""
    servers = Servers(process, folder, database_url, settings)
    try:
        yield servers
    finally:
        servers.end()


def quiet(server: Served, *session_ids: str) -> None:
    """Wait until nothing runs in these sessions, and no input waits there."""
    for session_id in session_ids or ("s",):
        eventually(lambda: Counter(server.types(session_id)), _is_quiet)  # noqa: B023


def _is_quiet(types: Counter[str]) -> bool:
    left = types["input-queued"] - types["input-dequeued"] - types["input-recalled"]
    return left == 0 and types["turn-started"] == sum(types[name] for name in ENDS)


def children(pid: int) -> list[int]:
    """Return the processes that a process started and that live."""
    found: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    except FileNotFoundError:
        return []
    return [each for each in found if is_alive(each)]


def is_alive(pid: int) -> bool:
    """Tell whether a process runs."""
    return _state(Path(f"/proc/{pid}")) not in {"", "Z"}


def thread_states(pid: int) -> set[str]:
    """Return what a process's threads do, as the system tells it in one letter."""
    return {_state(task) for task in Path(f"/proc/{pid}/task").iterdir()} - {""}


def _state(task: Path) -> str:
    try:
        return (task / "stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def assert_sound(servers: Servers, server: Served, *session_ids: str) -> None:
    """Assert that each turn ended once, versions have no gap, and the log is what it says."""
    for session_id in session_ids or ("s",):
        found = server.events(session_id=session_id)
        assert [each["version"] for each in found] == list(range(1, len(found) + 1))
        ends = Counter(each["data"]["turn_id"] for each in found if each["type"] in ENDS)
        starts = [each["data"]["turn_id"] for each in found if each["type"] == "turn-started"]
        running = {turn_id for turn_id in starts if ends[turn_id] == 0}
        assert ends == Counter(set(starts) - running)
        assert len(starts) == len(set(starts))
    assert_kept(servers.database_url)


def assert_kept(database_url: str) -> None:
    """Assert that nothing in the log was touched, and that the views are what it says."""
    with opened(database_url) as store:
        assert all(each.ok for each in verify_all(store.database))
        assert rebuild(store.database, store.runner, check_only=True).differences == ()
