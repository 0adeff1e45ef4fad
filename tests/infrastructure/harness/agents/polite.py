"""An agent on the library's own agent side: it remembers, asks, and answers with what it knows."""

import asyncio
from typing import Any, cast
from uuid import uuid4

import acp
from acp.interfaces import Client
from acp.schema import (
    AgentCapabilities,
    ElicitationFormSessionMode,
    ElicitationSchema,
    InitializeResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    TextContentBlock,
    ToolCallUpdate,
    Usage,
)


class Polite:
    def __init__(self) -> None:
        self.heard: dict[str, list[str]] = {}
        self.client: Client | None = None

    def on_connect(self, conn: Client) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:  # noqa: ANN401 - the library's
        return InitializeResponse(
            protocol_version=protocol_version, agent_capabilities=AgentCapabilities()
        )

    async def new_session(self, **_: Any) -> NewSessionResponse:  # noqa: ANN401 - the library's
        session_id = uuid4().hex
        self.heard[session_id] = []
        return NewSessionResponse(session_id=session_id)

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:  # noqa: ANN401 - the library's
        assert self.client is not None
        words = "".join(block.text for block in prompt if isinstance(block, TextContentBlock))
        self.heard[session_id].append(words)
        if words == "ask":
            words = await self.ask(session_id)
        elif words == "form":
            words = await self.form(session_id)
        elif words == "all":
            words = ",".join(self.heard[session_id])
        await self.client.session_update(
            session_id=session_id, update=acp.update_agent_message(acp.text_block(words))
        )
        return PromptResponse(
            stop_reason="end_turn", usage=Usage(total_tokens=3, input_tokens=2, output_tokens=1)
        )

    async def ask(self, session_id: str) -> str:
        assert self.client is not None
        answer = await self.client.request_permission(
            session_id=session_id,
            tool_call=ToolCallUpdate(tool_call_id="c", title="work", raw_input={"n": 1}),
            options=[
                PermissionOption(option_id="y", name="Yes", kind="allow_once"),
                PermissionOption(option_id="n", name="No", kind="reject_once"),
            ],
        )
        return str(getattr(answer.outcome, "option_id", answer.outcome.outcome))

    async def form(self, session_id: str) -> str:
        assert self.client is not None
        schema = ElicitationSchema.model_validate({"properties": {"colour": {"type": "string"}}})
        answer = await self.client.create_elicitation(
            message="Which?",
            mode=ElicitationFormSessionMode(session_id=session_id, requested_schema=schema),
        )
        return str(getattr(answer, "content", None))


if __name__ == "__main__":
    asyncio.run(acp.run_agent(cast("acp.Agent", Polite()), use_unstable_protocol=True))
