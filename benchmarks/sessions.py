"""How many sessions does a server run at once, and how soon does an interrupt reach an agent?

A real server in a process of its own, on SQLite, over loopback, on all of the machine. 200 sessions
share a few processes of the demo agent, with turns of 50 ms: each session's client sends the next
turn as soon as the last is answered, for some seconds. Then the seats are let go and what the
server remembers is reclaimed. An interrupt is timed from its request to the moment at which an
agent, which does nothing else, reads the cancellation. `python benchmarks/sessions.py --help`.
"""

import argparse
import asyncio
import gc
import json
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event
from time import monotonic, perf_counter
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parent))

from turns import HERE, PORT, Client, resident_mb, server

SESSIONS: Final = 200
DELAY_MS: Final = 50
TURNS: Final = "/v1/projects/default/sessions/{}/turns"
AGENT: Final = """
import json, sys, time

def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")
    sys.stdout.flush()

prompt = None
for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        send(id=number, result={"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []})
    elif method == "session/new":
        send(id=number, result={"sessionId": f"agent-{time.monotonic_ns()}"})
    elif method == "session/prompt":
        prompt = number
        said = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hm."}}
        send(method="session/update", params={"sessionId": message["params"]["sessionId"],
             "update": said})
    elif method == "session/cancel":
        with open(sys.argv[1], "a") as noted:
            noted.write(f"{time.monotonic()}\\n")
        send(id=prompt, result={"stopReason": "cancelled"})
    elif number is not None:
        send(id=number, result={})
"""


def settings(folder: Path, name: str, definition: Mapping[str, Any]) -> dict[str, str]:
    """Return variables of a server whose default harness is this one."""
    lines = [f"[harnesses.{name}]"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in definition.items()]
    file = folder / "settings.toml"
    file.write_text("\n".join([f'default_harness = "{name}"', *lines]))
    return {"TURNLOG_CONFIG": str(file)}


async def talk(session_id: str, until: float, took: list[float], failed: list[str]) -> None:
    """Send one turn after the other to a session, on a connection of its own.

    By hand: a client library would take more of the two cores than the server does.
    """
    said = json.dumps({"messages": [{"role": "user", "content": f"delay: {DELAY_MS} hello"}]})
    request = (
        f"POST {TURNS.format(session_id)} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(said)}\r\n\r\n{said}"
    ).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
    while monotonic() < until:
        began = perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        body = await reader.readexactly(length)
        took.append((perf_counter() - began) * 1_000)
        if b" 200 " not in head or b'"status":"completed"' not in body:
            failed.append(session_id)
    writer.close()


async def at_once(sessions: Sequence[str], seconds: float) -> tuple[list[float], list[str]]:
    """Return how long turns took when these sessions are talked to at once, and what failed."""
    took: list[float] = []
    failed: list[str] = []
    until = monotonic() + seconds
    await asyncio.gather(*(talk(each, until, took, failed) for each in sessions))
    return took, failed


def throughput(seconds: float, processes: int) -> None:
    """Measure turns of many sessions at once, and what an idle session takes."""
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        demo = {
            "command": [sys.executable, "-m", "infrastructure.demo_agent"],
            "sessions_per_process": SESSIONS // processes,
        }
        more = settings(folder, "many", demo) | {
            "TURNLOG_POOL_CAPACITY": str(SESSIONS),
            "TURNLOG_POOL_IDLE_TTL_S": "3600",
            "PYTHONPATH": str(HERE),
        }
        with server("acp", **more) as (client, pid):
            before = resident_mb(pid)
            names = [f"s{number}" for number in range(SESSIONS)]
            for name in names:
                client.ask("POST", "/sessions", {"session_id": name})
                client.turn(name, "hello")
            parked = resident_mb(pid)
            print(f"| {SESSIONS} sessions, {processes} processes, turns of {DELAY_MS} ms | | | | |")
            print("|---|---|---|---|---|")
            print("| talked to at once | turns a second | median ms more | p99 ms more | failed |")
            for many in (1, 4, 16, SESSIONS):
                began = monotonic()
                took, failed = asyncio.run(at_once(names[:many], seconds))
                elapsed = monotonic() - began
                more_ms = sorted(each - DELAY_MS for each in took)
                median, p99 = statistics.median(more_ms), more_ms[int(len(more_ms) * 0.99)]
                rate = len(took) / elapsed
                print(f"| {many} | {rate:.0f} | {median:.1f} | {p99:.1f} | {len(failed)} |")
            again = Client()  # the other one was silent for long
            for name in names:
                again.ask("DELETE", f"/pool/{name}")
            idle = resident_mb(pid)
        each = 1024 / SESSIONS
        print(
            f"\nServer memory a session: {(parked - before) * each:.1f} KiB with its first turn and"
        )
        print(f"a parked seat; {(idle - before) * each:.1f} KiB once all seats were let go.\n")


def interrupts(rounds: int) -> None:
    """Measure from the request of an interrupt to the agent's reading of it."""
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        noted = folder / "noted"
        agent = folder / "agent.py"
        agent.write_text(AGENT)
        more = settings(folder, "deaf", {"command": [sys.executable, str(agent), str(noted)]})
        took: list[float] = []
        answered: list[float] = []
        with server("acp", **more) as (client, _):
            client.ask("POST", "/sessions", {"session_id": "s"})
            for number in range(rounds):
                began = running(client, f"round {number}")
                asked = monotonic()
                client.ask("POST", "/sessions/s/interrupt", {})
                answered.append((monotonic() - asked) * 1_000)
                while noted.read_text().count("\n") <= number if noted.exists() else True:
                    Event().wait(0.001)
                took.append((float(noted.read_text().split()[number]) - asked) * 1_000)
                over(client, began)
        print("| from the request of an interrupt until | median ms | p99 ms |")
        print("|---|---|---|")
        for name, values in (("the agent reads it", took), ("it is answered", answered)):
            ordered = sorted(values)
            p99 = ordered[int(len(ordered) * 0.99)]
            print(f"| {name} | {statistics.median(ordered):.2f} | {p99:.2f} |")
        print()


def running(client: Client, text: str) -> str:
    """Begin a turn; return its id once its agent said something."""
    body = {"messages": [{"role": "user", "content": text}], "on_busy": "queue"}
    headers = {"Prefer": "respond-async"}
    began: str = client.ask("POST", "/sessions/s/turns", body, headers)["turn_id"]
    while not client.ask("GET", "/pool")["process"]["busy"]:
        Event().wait(0.002)
    Event().wait(0.3)  # the agent was prompted by now
    return began


def over(client: Client, turn_id: str) -> None:
    """Wait until a turn is over."""
    while client.ask("GET", f"/sessions/s/turns/{turn_id}")["status"] == "running":
        Event().wait(0.002)


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=100)
    given = parser.parse_args()
    gc.disable()
    interrupts(given.rounds)
    throughput(given.seconds, given.processes)


if __name__ == "__main__":
    main()
