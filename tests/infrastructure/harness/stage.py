"""What tests of agents need: agents that follow a script, and someone who listens."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from domain.json_text import JsonValue
from infrastructure.harness.acp.conversation import AcpHarness
from infrastructure.harness.acp.harnesses import AcpHarnesses, open_harnesses
from infrastructure.harness.definitions import Definition, Timeouts
from infrastructure.harness.port import (
    Asked,
    CallAnnounced,
    CallEnded,
    Ended,
    Noted,
    Prompt,
    Said,
    Start,
    Update,
)

AGENTS = Path(__file__).with_name("agents")
TIMEOUTS = Timeouts(start_s=60, first_output_s=60, idle_s=60, total_s=180)
WAIT_S = 60
Step: TypeAlias = Mapping[str, Any]
OPTIONS: list[JsonValue] = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


@dataclass
class Ear:
    """Whoever listens: keeps what it hears, and answers as it is told."""

    heard: list[Update | Asked] = field(default_factory=list[Update | Asked])
    on_update: Callable[[Update], Awaitable[None]] | None = None
    on_asked: Callable[[Asked], Awaitable[None]] | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def updated(self, update: Update) -> None:
        self.heard.append(update)
        self.news.set()
        if self.on_update is not None:
            await self.on_update(update)

    async def asked(self, asked: Asked) -> None:
        self.heard.append(asked)
        self.news.set()
        if self.on_asked is not None:
            await self.on_asked(asked)

    @property
    def said(self) -> str:
        return "".join(update.text for update in self.heard if isinstance(update, Said))

    @property
    def calls(self) -> list[CallAnnounced | CallEnded]:
        return [each for each in self.heard if isinstance(each, CallAnnounced | CallEnded)]

    @property
    def questions(self) -> list[Asked]:
        return [each for each in self.heard if isinstance(each, Asked)]

    @property
    def notes(self) -> list[Noted]:
        return [each for each in self.heard if isinstance(each, Noted)]

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT_S):
            while not condition():
                self.news.clear()
                await self.news.wait()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that nobody tells."""
    async with asyncio.timeout(WAIT_S):
        while not condition():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)  # what is waited for has other processes to do it


def puppet(
    name: str = "puppet",
    *,
    how: Mapping[str, Any] | None = None,
    timeouts: Timeouts = TIMEOUTS,
    sessions: int = 1,
    **more: Any,  # noqa: ANN401 - whatever else a definition has
) -> Definition:
    return Definition(
        name=name,
        command=(sys.executable, "-u", str(AGENTS / "puppet.py")),
        environment={"PUPPET": json.dumps(how or {}), **more.pop("environment", {})},
        timeouts=timeouts,
        sessions_per_process=sessions,
        **more,
    )


@asynccontextmanager
async def harnesses(state: Path, *definitions: Definition) -> AsyncGenerator[AcpHarnesses]:
    """Have harnesses of these definitions; all have ended afterwards."""
    found = {definition.name: definition for definition in definitions}
    opened = await open_harnesses(found, default=definitions[0].name, state=state)
    try:
        yield opened
    finally:
        await opened.close()
        assert opened.processes() == 0


@asynccontextmanager
async def harness(
    state: Path, definition: Definition, start: Start | None = None
) -> AsyncGenerator[AcpHarness]:
    """Have one conversation."""
    async with harnesses(state, definition) as opened:
        yield await opened.start(start or START)


START = Start(project_id="p", session_id="s")


def steps(*script: Step) -> Prompt:
    """Return a prompt that has a puppet do these steps."""
    return Prompt(parts=({"type": "text", "text": json.dumps(script)},))


async def play(harness: AcpHarness, *script: Step, ear: Ear | None = None) -> tuple[Ended, Ear]:
    """Have a puppet do these steps; return how that ended and what was heard."""
    listener = ear or Ear()
    async with asyncio.timeout(WAIT_S):
        return await harness.prompt(steps(*script), listener), listener


async def report(harness: AcpHarness, what: str) -> Any:  # noqa: ANN401 - whatever it reports
    """Return what a puppet says about itself."""
    _, ear = await play(harness, {"report": what})
    return json.loads(ear.said)
