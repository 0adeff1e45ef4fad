"""A client of the agent's process, made with the library that turnlog itself speaks ACP with."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from acp import spawn_agent_process
from acp.client.connection import ClientSideConnection
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    CancelElicitationResponse,
    DeclineElicitationResponse,
    DeniedOutcome,
    ElicitationFormSessionMode,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallUpdate,
)
from pydantic import BaseModel

from infrastructure.demo_agent.launching import command, environment

if TYPE_CHECKING:
    from acp.interfaces import Client

ElicitationResponse = (
    AcceptElicitationResponse | DeclineElicitationResponse | CancelElicitationResponse
)


class Person:
    """Keeps what the agent tells, and answers each request with what it was given to say."""

    def __init__(self) -> None:
        self.updates: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.extensions: list[tuple[str, dict[str, Any]]] = []
        self.permission: str | None = "allow_once"
        self.edited: Mapping[str, object] | None = None
        self.elicitation: ElicitationResponse = CancelElicitationResponse(action="cancel")
        self.holds = asyncio.Event()
        self.holds.set()
        self._changed = asyncio.Event()

    async def session_update(self, session_id: str, update: BaseModel, **_: object) -> None:
        assert session_id
        self._note(self.updates, update)

    async def request_permission(
        self,
        session_id: str,
        tool_call: ToolCallUpdate,
        options: list[PermissionOption],
        **_: object,
    ) -> RequestPermissionResponse:
        assert session_id
        assert [option.option_id for option in options] == [
            "allow_once",
            "allow_always",
            "reject_once",
        ]
        self._note(self.asked, tool_call)
        await self.holds.wait()
        if self.permission is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        meta = None if self.edited is None else {"turnlog.dev/arguments": dict(self.edited)}
        outcome = AllowedOutcome(outcome="selected", option_id=self.permission)
        return RequestPermissionResponse(outcome=outcome, field_meta=meta)

    async def create_elicitation(
        self, message: str, mode: object, **_: object
    ) -> ElicitationResponse:
        assert isinstance(mode, ElicitationFormSessionMode)
        self._note(self.asked, mode)
        self.asked[-1]["message"] = message
        return self.elicitation

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        self.extensions.append((method, params))

    async def until(self, count: int, kind: str | None = None) -> None:
        """Wait for so many updates (of a kind), or without a kind for so many requests."""
        while (
            len(self.asked)
            if kind is None
            else sum(update["sessionUpdate"] == kind for update in self.updates)
        ) < count:
            self._changed.clear()
            await self._changed.wait()

    @property
    def text(self) -> str:
        return "".join(
            update["content"]["text"]
            for update in self.updates
            if update["sessionUpdate"] == "agent_message_chunk"
        )

    def _note(self, where: list[dict[str, Any]], what: BaseModel) -> None:
        where.append(what.model_dump(mode="json", by_alias=True, exclude_none=True))
        self._changed.set()


@asynccontextmanager
async def agent(
    **variables: str,
) -> AsyncGenerator[tuple[ClientSideConnection, Person, asyncio.subprocess.Process]]:
    """Start the agent's process, initialized, with these variables besides."""
    person = Person()
    async with spawn_agent_process(
        cast("Client", person),
        *command(),
        env={**environment(), **variables},
        transport_kwargs={"limit": 64 * 2**20, "stderr": asyncio.subprocess.DEVNULL},
        use_unstable_protocol=True,
    ) as (connection, process):
        await connection.initialize(protocol_version=1)
        yield connection, person, process


async def prompt(
    connection: ClientSideConnection, session_id: str, text: str, **meta: object
) -> dict[str, Any]:
    """Say `text`, or nothing if it is empty; return the response."""
    blocks: Sequence[Any] = [{"type": "text", "text": text}] if text else []
    answer = await connection.prompt(session_id=session_id, prompt=[*blocks], **meta)
    return answer.model_dump(mode="json", by_alias=True, exclude_none=True)
