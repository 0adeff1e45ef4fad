"""A small runner: it keeps harnesses of its own, dispatches, runs, records, and parks them."""

from dataclasses import dataclass, field

import httpx

from tests.api.batches import Json, append, called, event, said

Memory = list[tuple[str, str]]


def user(text: str, **more: object) -> Json:
    """Return what a person says."""
    return {"role": "user", "content": text, **more}


def agent(text: str) -> Json:
    """Return what an agent said, as a client tells of it."""
    return {"role": "assistant", "content": text}


def remembered(messages: list[Json]) -> Memory:
    """Return the texts of messages, each with who said it."""
    return [(each["role"], text) for each in messages if (text := text_of(each))]


def text_of(message: Json) -> str:
    """Return the text of a message."""
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


@dataclass
class Harness:
    """What answers: it remembers what was said to it and what it said."""

    memory: Memory = field(default_factory=Memory)


@dataclass
class Runner:
    """A program that brings turns to one session and runs them on harnesses that it keeps."""

    http: httpx.Client
    name: str = "runner-1"
    session: str = "s"
    sequence: int = 0
    turn_id: str | None = None
    fence: int | None = None
    records: int = 0
    seat_id: str | None = None
    pool: dict[str, Harness] = field(default_factory=dict[str, Harness])
    run: int = 0

    def open(self) -> "Runner":
        """Open the session."""
        assert self.http.post("/sessions", json={"session_id": self.session}).is_success
        return self

    def body(self, *messages: Json, **more: object) -> Json:
        """Return a request for a turn with what is held for it; `begin=False`: only asked."""
        begin = more.pop("begin", True)
        asked: Json = {"owner": self.name, "include": "history", **more}
        if messages:
            asked["messages"] = [*messages]
        if self.pool and "seat" not in more:
            asked["seat"] = {"seat_id": next(iter(self.pool)), "state": "idle"}
        if begin:
            asked["begin"] = {
                "turn_id": f"{self.name}-t{self.sequence + 1}",
                "producer": {"id": self.name, "epoch": 1, "sequence": self.sequence + 1},
                "lease_s": 60,
            }
        return {name: value for name, value in asked.items() if value is not None}

    def send(self, body: Json, **headers: str) -> httpx.Response:
        """Send a request as it is."""
        return self.http.post(f"/sessions/{self.session}/dispatch", json=body, headers=headers)

    def ask(self, *messages: Json, **more: object) -> httpx.Response:
        """Ask how it goes on, and begin unless told otherwise; nothing is done with the answer."""
        return self.send(self.body(*messages, **more))

    def take(self, *messages: Json, **more: object) -> Json:
        """Ask, begin, and have a harness of its own told what the answer says."""
        answer = self.ask(*messages, **more)
        assert answer.status_code == 201, answer.text
        return self.taken(answer, messages[-1]["content"] if messages else None)

    def taken(self, answer: httpx.Response, text: str | None = None) -> Json:
        """Do what an answer says."""
        told: Json = answer.json()
        self.sequence = told["next_sequence"] - 1
        if told["seat_id"] is None:
            return told
        self.turn_id, self.fence = told["turn"]["turn_id"], told["fence"]
        self.records, self.seat_id = told["turn"]["records"], told["seat_id"]
        if told["path"] != "warm":
            history = told["history"]["messages"]
            self.pool = {told["seat_id"]: Harness(remembered(history))}
        elif "asides" in told:
            self.harness.memory += remembered(told["asides"]["messages"])
        self.run += 1
        if text is not None:
            self.harness.memory.append(("user", text))
        return told

    @property
    def harness(self) -> Harness:
        """Return the harness that runs the turn."""
        assert self.seat_id is not None
        return self.pool[self.seat_id]

    def write(self, *events: Json, **more: object) -> httpx.Response:
        """Append the next batch of the turn."""
        producer = {"id": self.name, "epoch": 1, "sequence": self.sequence + 1}
        body = {"producer": producer, "events": [*events], **more}
        if self.fence is not None and "fence" not in more:
            body["fence"] = self.fence
        answer = append(self.http, self.session, body)
        self.sequence += answer.status_code == 201
        return answer

    def parked(self, state: str = "idle") -> Json:
        """Return that the harness waits from now on."""
        return event(
            "harness-parked",
            seat_id=self.seat_id,
            owner=self.name,
            state=state,
            config_fingerprint="c1",
            ttl_s=60,
        )

    def finish(self, text: str = "Yes.", *, park: bool = True) -> None:
        """Answer, end the turn, and park the harness, or let it go."""
        assert self.turn_id is not None
        self.harness.memory.append(("assistant", text))
        ended = event("turn-completed", turn_id=self.turn_id, record_count=self.records + 1)
        last = (
            self.parked()
            if park
            else event("harness-evicted", seat_id=self.seat_id, owner=self.name, reason="no-park")
        )
        answer = self.write(said(self.turn_id, text), ended, last)
        assert answer.status_code == 201, answer.text
        assert answer.json()["readiness"]["ready"], answer.text
        assert self.harness.memory == known(self.http, self.session)
        if not park:
            self.pool = {}

    def wait_for(self, *permissions: str) -> list[str]:
        """Have the harness ask for permissions, and park it; return the gates' ids."""
        assert self.turn_id is not None
        asked: list[Json] = []
        for name in permissions:
            asked.append(called(self.turn_id, f"call-{name}"))
            asked.append(
                event(
                    "gate-opened",
                    turn_id=self.turn_id,
                    kind="permission",
                    permission_id=name,
                    tool_call_id=f"call-{name}",
                    tool="bash",
                )
            )
        answer = self.write(*asked, self.parked("awaiting_approval"))
        assert answer.status_code == 201, answer.text
        self.records += len(asked)
        return [each["gate_id"] for each in answer.json()["events"] if "gate_id" in each]

    def call_ends(self, name: str) -> None:
        """Record the result of a call that waited."""
        assert self.turn_id is not None
        result = event(
            "tool-call-completed", turn_id=self.turn_id, tool_call_id=f"call-{name}", output="ok"
        )
        answer = self.write(result)
        assert answer.status_code == 201, answer.text
        self.records += 1


def known(client: httpx.Client, session: str = "s") -> Memory:
    """Return the texts of a session, as the log shows them."""
    page = client.get(f"/sessions/{session}/transcript", params={"limit": 200}).json()
    return remembered(page["items"])


def approved(gate: str, verdict: str = "approved") -> Json:
    """Return an answer to a gate."""
    return {"gate": gate, "verdict": verdict}
