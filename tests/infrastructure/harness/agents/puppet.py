"""An agent that does what its prompt says: a JSON list of steps, in raw JSON lines.

`PUPPET` in its environment is an object that says how it begins: `capabilities`, `init` and `new`
(a result, or `hang`, `exit` or `error`), `noise` before anything.
"""

# ruff: noqa: ANN401 - what goes through here is whatever a test writes

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

HOW: dict[str, Any] = json.loads(os.environ.get("PUPPET", "{}"))
STUBBORN = (
    "import signal, sys, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "print('up', flush=True)\n"
    "sys.stdout.close()\n"
    "while True: signal.pause()\n"
)


class Agent:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.answers: dict[str, queue.Queue[Any]] = {}
        self.number = 0
        self.sessions: dict[str, Session] = {}
        self.closed: list[str] = []
        self.asked: list[Any] = []
        self.authenticated: str | None = None
        self.received: list[str | None] = []

    def write(self, text: str) -> None:
        with self.lock:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()

    def send(self, **message: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}))

    def ask(self, method: str, params: Any) -> str:
        with self.lock:
            self.number += 1
            number = f"q{self.number}"
            self.answers[number] = queue.Queue()
        self.send(id=number, method=method, params=params)
        return number

    def run(self) -> None:
        if "noise" in HOW:
            self.write(HOW["noise"])
        for line in sys.stdin:
            message = json.loads(line)
            self.received.append(message.get("method"))
            if "method" not in message:
                self.answers[message["id"]].put(message.get("result", message.get("error")))
            else:
                self.take(message)
        if HOW.get("deaf"):
            threading.Event().wait()

    def take(self, message: dict[str, Any]) -> None:
        method: str = message["method"]
        params: Any = message.get("params")
        number: Any = message.get("id")
        match method:
            case "initialize":
                self.begin(
                    number,
                    HOW.get("init"),
                    {"protocolVersion": 1, "agentCapabilities": HOW.get("capabilities", {})},
                )
            case "authenticate":
                self.authenticated = params["methodId"]
                self.send(id=number, result={})
            case "session/new":
                session_id = f"s{len(self.sessions) + 1}"
                self.sessions[session_id] = Session(self, session_id, params)
                self.begin(number, HOW.get("new"), {"sessionId": session_id, **HOW.get("more", {})})
            case "session/prompt":
                session = self.sessions[params["sessionId"]]
                threading.Thread(target=session.prompt, args=(number, params), daemon=True).start()
            case "session/cancel":
                self.sessions[params["sessionId"]].cancelled.set()
            case "session/close":
                self.closed.append(params["sessionId"])
                self.send(id=number, result={})
            case _:
                self.asked.append([method, params])
                self.send(id=number, result={})

    def begin(self, number: Any, how: Any, result: Any) -> None:
        if how == "exit":
            os._exit(3)
        elif how == "error":
            self.send(id=number, error={"code": -32000, "message": "secret words"})
        elif how != "hang":
            self.send(id=number, result=result if how is None else how)


class Session:
    def __init__(self, agent: Agent, session_id: str, params: Any) -> None:
        self.agent = agent
        self.session_id = session_id
        self.params = params
        self.cancelled = threading.Event()
        self.late: list[Any] = []
        self.children: list[subprocess.Popen[bytes]] = []

    def update(self, **update: Any) -> None:
        self.agent.send(
            method="session/update", params={"sessionId": self.session_id, "update": update}
        )

    def say(self, text: str, **more: Any) -> None:
        content = {"type": "text", "text": text}
        self.update(sessionUpdate="agent_message_chunk", content=content, **more)

    def prompt(self, number: Any, params: Any) -> None:
        self.cancelled.clear()
        late, self.late = self.late, []
        for update in late:
            self.update(**update)
        last = params["prompt"][-1]["text"] if params["prompt"] else "[]"
        outcome: Any = {"result": {"stopReason": "end_turn"}}
        for step in json.loads(last):
            ended = self.step(params, **step)
            outcome = ended or outcome
        if outcome != "silence":
            self.agent.send(id=number, **outcome)

    def step(self, params: Any, **step: Any) -> Any:  # noqa: C901, PLR0912, PLR0915 - a case for each kind
        more: dict[str, Any] = dict(step)
        kind = next(iter(step))
        value: Any = more.pop(kind)
        match kind:
            case "say":
                self.say(value, **more)
            case "update":
                self.update(**value)
            case "raw":
                self.agent.write(value)
            case "burst":
                for index in range(value):
                    self.say(str(index))
            case "big":
                self.say("x" * value)
            case "endless":
                while True:
                    with self.agent.lock:
                        sys.stdout.write("x" * 65536)
            case "stderr":
                sys.stderr.write("e" * value)
                sys.stderr.flush()
            case "ask" | "form" | "request":
                methods = {"ask": "session/request_permission", "form": "elicitation/create"}
                method = str(more.get("method", methods.get(kind)))
                scope = {} if more.get("unscoped") else {"sessionId": self.session_id}
                asked = self.agent.ask(method, {**scope, **value})
                if not more.get("go_on"):
                    answer = self.agent.answers[asked].get()
                    self.say(json.dumps(answer))
            case "late":
                self.late += value
            case "pause":
                threading.Event().wait(value)
                self.say(more["say"])
            case "wait_cancel":
                self.cancelled.wait()
            case "hang":
                threading.Event().wait()
            case "later":
                threading.Timer(value, os._exit, [1]).start()
            case "exit":
                os._exit(value)
            case "silence":
                return "silence"
            case "close_output":
                os.close(1)
            case "child":
                child = subprocess.Popen(
                    [sys.executable, "-c", STUBBORN],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=None if value == "holds" else subprocess.DEVNULL,
                )
                assert child.stdout is not None
                child.stdout.readline()
                self.children.append(child)
                self.say(str(child.pid))
            case "report":
                self.say(json.dumps(self.report(value, params)))
            case "end":
                return value
            case _:
                raise ValueError(kind)
        return None

    def report(self, what: str, params: Any) -> Any:
        reports = dict[str, Callable[[], Any]](
            {
                "environment": lambda: dict(os.environ),
                "folder": lambda: str(Path.cwd()),
                "process": lambda: [os.getpid(), os.getsid(0)],
                "new": lambda: self.params,
                "prompt": lambda: params,
                "asked": lambda: self.agent.asked,
                "closed": lambda: self.agent.closed,
                "received": lambda: self.agent.received,
                "authenticated": lambda: self.agent.authenticated,
            }
        )
        return reports[what]()


if __name__ == "__main__":
    Agent().run()
