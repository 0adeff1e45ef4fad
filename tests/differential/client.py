"""What does a client send at each step, by each way, and what does it hold meanwhile?

One that sends the full history reads it before each request, as anybody would who keeps what was
shown. One that sends the newest message alone keeps nothing.
"""

import base64
import json
from collections.abc import Callable
from threading import Event
from time import monotonic
from typing import Any, Final

import httpx

from tests.differential.journeys import Aside, Decide, File, Journey, Json, LetExpire, Say, Step
from tests.differential.ways import Way

PATIENCE_S: Final = 60.0
PROJECT: Final = "journeys"
_ENDED: Final = frozenset({"completed", "failed", "interrupted"})


class Client:
    """Whoever holds one conversation."""

    def __init__(self, journey: Journey, way: Way) -> None:
        """Take what is to be said, and how."""
        self.journey: Final = journey
        self.left: Final[list[Step]] = list(journey.steps)
        self._way: Final = way
        self._session: Final = f"/sessions/{journey.session_id}"
        self._requests = 0
        self._asides = 0
        self._turn_id = ""
        self._waits = False

    def begin(self, http: httpx.Client) -> None:
        """Open the session."""
        _good(http.post("/sessions", json={"session_id": self.journey.session_id}))

    def go_on(self, http: httpx.Client) -> None:
        """Take the next step, and wait until nothing happens any more."""
        step = self.left.pop(0)
        if isinstance(step, LetExpire):
            self._wait_until(lambda: not self._parked(http))
            return
        if isinstance(step, Aside):
            self._say_aside(http, step)
            return
        if self._way.between == "emptied" and self.is_disturbed:
            self._empty(http)
        self._requests += 1
        match step:
            case Say():
                self._say(http, step)
            case Decide():
                self._decide(http, step)
        self._wait_until(lambda: self._is_quiet(http))

    @property
    def is_disturbed(self) -> bool:
        """Tell whether something is to happen before the next request."""
        return self._way.disturbs(self._requests)

    def _say_aside(self, http: httpx.Client, step: Aside) -> None:
        """Record what is said to others, as a gateway does."""
        self._asides += 1
        turn_id = f"aside-{self._asides}"
        said = {"role": "user", "content": self._content(http, step)}
        began = {"type": "turn-started", "data": {"turn_id": turn_id, "messages": [said]}}
        ends = {"turn_id": turn_id, "stop_reason": "not-addressed", "record_count": 1}
        who = {"id": self.journey.session_id, "epoch": 1, "sequence": self._asides}
        events = [began, {"type": "turn-completed", "data": ends}]
        _good(http.post(f"{self._session}/events", json={"producer": who, "events": events}))

    def _content(self, http: httpx.Client, step: Say) -> Any:  # noqa: ANN401 - JSON
        files = [self._file(http, file) for file in step.files]
        return [*files, {"type": "text", "text": step.text}] if files else step.text

    def _say(self, http: httpx.Client, step: Say) -> None:
        openai = self._way.history == "openai"
        content = self._content(http, step)
        messages = [*self._history(http), {"role": "user", "content": content}]
        shape = {"format": "openai"} if openai else {}
        answer = _good(http.post(f"{self._session}/turns", json={"messages": messages, **shape}))
        self._take(answer)

    def _decide(self, http: httpx.Client, step: Decide) -> None:
        gate = self._gates(http)[step.gate]
        gate_id = gate["gate_id"]
        said = {"verdict": step.verdict, **json.loads(step.more)}
        if step.by == "elsewhere":
            self._take(_good(http.post(f"/approvals/{gate_id}", json=said)))
            return
        given = {"gate": gate_id, **said}
        history = self._history(http)
        body: Json
        if step.by == "body":
            text = [] if step.text is None else [{"role": "user", "content": step.text}]
            body = {"messages": [*history, *text], "answers": [given]}
        elif self._way.history == "openai":
            body = {"messages": [*history, _result(gate, step)], "format": "openai"}
        else:
            answering = {"role": "user", "content": [{"type": "gate_answer", **given}]}
            body = {"messages": [*history, answering]}
        self._take(_good(http.post(f"{self._session}/turns", json=body)))

    def _take(self, answer: Json) -> None:
        """Note which turn it is about, and whether that waits for other answers."""
        continuation = answer.get("continuation", {})
        self._waits = continuation.get("status") == "pending"
        self._turn_id = answer.get("turn_id") or continuation["turn_id"]

    def _gates(self, http: httpx.Client) -> list[Json]:
        """Return all that was ever asked, in order."""
        return pages(http, f"{self._session}/approvals", status="all", order="asc")

    def _history(self, http: httpx.Client) -> list[Json]:
        match self._way.history:
            case None:
                return []
            case "turnlog":
                return pages(http, f"{self._session}/transcript")
            case "openai":
                shown = _good(http.get(f"{self._session}/transcript", params={"format": "openai"}))
                messages: list[Json] = shown["messages"]
                gates = self._gates(http)
                waiting = {gate["tool_call_id"] for gate in gates if gate["status"] == "open"}
                return [each for each in messages if each.get("tool_call_id") not in waiting]

    def _file(self, http: httpx.Client, file: File) -> Json:
        shape: Json = {"type": "attachment", "media_type": file.media_type}
        if file.inline:
            return shape | {"attachment_id": "picture", "data": _base64(file.content)}
        _good(http.put(f"/blobs/{file.sha256}", content=file.content))
        return shape | {"attachment_id": "document", "sha256": file.sha256}

    def _empty(self, http: httpx.Client) -> None:
        answer = http.delete(f"/pool/{self.journey.session_id}")
        assert answer.status_code in {204, 404}, answer.text

    def _parked(self, http: httpx.Client) -> bool:
        """Tell whether the server that answers keeps a harness of the session."""
        seats = _good(http.get("/pool", params={"limit": 200}))["seats"]
        mine = (seat for seat in seats if seat["session_id"] == self.journey.session_id)
        return any(seat["here"] for seat in mine)

    def _is_quiet(self, http: httpx.Client) -> bool:
        """Tell whether the turn is over, or waits for somebody."""
        turn = _good(http.get(f"{self._session}/turns/{self._turn_id}"))
        return self._waits or turn["status"] in _ENDED or turn["status"] == "paused"

    def _wait_until(self, condition: Callable[[], bool]) -> None:
        deadline = monotonic() + PATIENCE_S
        while not condition():
            assert monotonic() < deadline, f"{self.journey.name}: nothing happens any more"
            Event().wait(0.02)


def pages(http: httpx.Client, path: str, **more: str) -> list[Json]:
    """Return the items of all pages."""
    found: list[Json] = []
    params: Json = {"limit": 200, **more}
    while True:
        page = _good(http.get(path, params=params))
        found += page["items"]
        if page["next_cursor"] is None:
            return found
        params["cursor"] = page["next_cursor"]


def read(http: httpx.Client, path: str, **params: str) -> Json:
    """Return what is there."""
    return _good(http.get(path, params=params))


def _good(answer: httpx.Response) -> Json:
    assert answer.is_success, f"{answer.request.method} {answer.request.url}: {answer.text}"
    found: Json = answer.json() if answer.content else {}
    return found


def _result(gate: Json, step: Decide) -> Json:
    """Return the answer as a client says it that knows of calls and their results only."""
    approved = json.dumps({"approved": step.verdict == "approved"})
    content = json.loads(step.more).get("answer") or approved
    return {"role": "tool", "tool_call_id": gate["tool_call_id"], "content": content}


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
