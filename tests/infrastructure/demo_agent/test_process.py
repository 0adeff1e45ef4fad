"""The agent's process speaks ACP as the library has it, and fails only when it is asked to."""

import asyncio
import json
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from acp import RequestError
from acp.client.connection import ClientSideConnection
from acp.schema import (
    AcceptElicitationResponse,
    BlobResourceContents,
    DeclineElicitationResponse,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextResourceContents,
)

from tests.infrastructure.demo_agent.client import Person, agent, prompt

Case = Callable[[ClientSideConnection, Person, asyncio.subprocess.Process], Awaitable[None]]
LONGEST_S = 60


def run(case: Case, **variables: str) -> None:
    async def whole() -> None:
        async with asyncio.timeout(LONGEST_S), agent(**variables) as (connection, person, process):
            await case(connection, person, process)

    asyncio.run(whole())


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def _runs(pid: str) -> bool:
    return Path(f"/proc/{pid}").exists()


async def new(connection: ClientSideConnection, **meta: object) -> str:
    return (await connection.new_session("/", None, None, **meta)).session_id


def test_it_says_what_it_can() -> None:
    async def case(connection: ClientSideConnection, _: Person, __: object) -> None:
        answer = await connection.initialize(protocol_version=1)
        assert answer.model_dump(by_alias=True, exclude_none=True)["agentCapabilities"] == {
            "loadSession": False,
            "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
            "mcpCapabilities": {"http": False, "sse": False, "acp": False},
            "sessionCapabilities": {"close": {}},
            "auth": {},
            "_meta": dict.fromkeys(
                (f"turnlog.dev/{name}" for name in ("history", "recorded", "steer", "asides")), True
            ),
        }

    run(case)


def test_it_hides_the_extension_where_it_is_told_to() -> None:
    async def case(connection: ClientSideConnection, person: Person, _: object) -> None:
        answer = await connection.initialize(protocol_version=1)
        assert answer.agent_capabilities is not None
        assert answer.agent_capabilities.field_meta is None
        assert answer.agent_capabilities.load_session
        said = {"role": "user", "parts": [{"type": "text", "text": "remember a=b"}]}
        session = await new(connection, **{"turnlog.dev/history": [said]})
        await prompt(connection, session, "what is a?")
        assert person.text == "I do not know a."

    run(case, TURNLOG_DEMO_PLAIN="1", TURNLOG_DEMO_LOAD="1")


def test_what_it_says_has_an_id_and_what_it_used() -> None:
    async def case(connection: ClientSideConnection, person: Person, _: object) -> None:
        session = await new(connection)
        answer = await prompt(connection, session, "hello")
        assert person.updates == [
            {
                "sessionUpdate": "agent_message_chunk",
                "content": {"type": "text", "text": 'Message 1: you said "hello".'},
                "messageId": "msg-1-5",
            }
        ]
        usage = {"totalTokens": 10, "inputTokens": 2, "outputTokens": 8}
        assert answer == {"stopReason": "end_turn", "usage": usage}

    run(case)


def test_a_call_has_its_name_arguments_and_result() -> None:
    async def case(connection: ClientSideConnection, person: Person, _: object) -> None:
        await prompt(connection, await new(connection), 'tool: add {"a":2,"b":3}')
        assert person.updates[:2] == [
            {
                "sessionUpdate": "tool_call",
                "toolCallId": "call-1-23-1",
                "title": "add",
                "kind": "other",
                "status": "pending",
                "rawInput": {"a": 2, "b": 3},
                "_meta": {"turnlog.dev/tool": "add"},
            },
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "call-1-23-1",
                "title": "add",
                "status": "completed",
                "content": [{"type": "content", "content": {"type": "text", "text": '{"sum": 5}'}}],
                "rawOutput": {"sum": 5},
            },
        ]

    run(case)


@pytest.mark.parametrize(
    ("option", "edited", "text", "stop"),
    [
        ("allow_once", None, 'echo gave {"x":1}.', "end_turn"),
        ("allow_always", None, 'echo gave {"x":1}.', "end_turn"),
        ("allow_once", {"x": 2}, 'echo gave {"x":2}.', "end_turn"),
        ("reject_once", None, "echo was denied.", "end_turn"),
        (None, None, "", "cancelled"),
    ],
)
@pytest.mark.parametrize("word", ["ask", "ask-unannounced"])
def test_a_permission_is_asked_and_heeded(
    word: str, option: str | None, edited: dict[str, object] | None, text: str, stop: str
) -> None:
    async def case(connection: ClientSideConnection, person: Person, _: object) -> None:
        person.permission, person.edited = option, edited
        answer = await prompt(connection, await new(connection), word + ': echo {"x":1}')
        [asked] = person.asked
        assert (asked["title"], asked["rawInput"]) == ("echo", {"x": 1})
        assert any(u["sessionUpdate"] == "tool_call" for u in person.updates) == (word == "ask")
        assert (person.text, answer["stopReason"]) == (text, stop)

    run(case)


def test_two_permissions_are_asked_before_either_is_answered() -> None:
    async def case(connection: ClientSideConnection, person: Person, _: object) -> None:
        person.holds.clear()
        session = await new(connection)
        running = asyncio.create_task(prompt(connection, session, "ask: echo; echo"))
        await person.until(2)
        person.holds.set()
        await running
        assert person.text == "echo gave {}. echo gave {}."

    run(case)


def test_a_question_is_a_form_with_one_text() -> None:
    async def case(connection: ClientSideConnection, person: Person, _: object) -> None:
        session = await new(connection)
        person.elicitation = AcceptElicitationResponse(action="accept", content={"answer": "blue"})
        await prompt(connection, session, "question: Which colour?")
        assert person.asked[0]["message"] == "Which colour?"
        assert person.asked[0]["toolCallId"] == person.updates[0]["toolCallId"]
        assert person.text == 'You answered "blue".'
        person.elicitation = DeclineElicitationResponse(action="decline")
        await prompt(connection, session, "question: Which colour?")
        assert person.text.endswith("You did not want to answer.")

    run(case)


def test_the_tool_server_is_one_process_that_ends_with_the_agent() -> None:
    async def case(
        connection: ClientSideConnection, person: Person, process: asyncio.subprocess.Process
    ) -> None:
        one, other = await new(connection), await new(connection)
        await asyncio.gather(
            prompt(connection, one, 'mcp: add {"a":2,"b":3}'),
            prompt(connection, other, "mcp: fail; read_note {}"),
        )
        assert 'mcp.add gave {"sum":5}.' in person.text
        assert "mcp.read_note failed" in person.text
        [child] = _children(process.pid)
        assert process.stdin is not None
        process.stdin.close()
        assert await process.wait() == 0
        assert not _runs(child)

    run(case)


def test_files_are_remembered_by_their_digest(tmp_path: Path) -> None:
    record = tmp_path / "record"
    digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

    async def case(connection: ClientSideConnection, _: Person, __: object) -> None:
        session = await new(connection, **{"turnlog.dev/session": "label"})
        await connection.prompt(
            session_id=session,
            prompt=[
                ImageContentBlock(type="image", data="dGVzdA==", mime_type="image/png"),
                EmbeddedResourceContentBlock(
                    type="resource",
                    resource=BlobResourceContents(uri="file:///a", blob="dGVzdA=="),
                ),
                EmbeddedResourceContentBlock(
                    type="resource",
                    resource=TextResourceContents(
                        uri="file:///b", text="test", mime_type="text/plain"
                    ),
                ),
                ResourceContentBlock(
                    type="resource_link",
                    uri="turnlog:f",
                    name="f",
                    field_meta={"turnlog.dev/attachment_id": "f"},
                ),
                ResourceContentBlock(type="resource_link", uri="https://example.org/x", name="x"),
            ],
        )

    run(case, TURNLOG_DEMO_RECORD=str(record))
    assert json.loads(record.read_bytes()) == {
        "session": "label",
        "messages": [
            {
                "role": "user",
                "parts": [
                    {"type": "attachment", "sha256": digest, "media_type": "image/png"},
                    {"type": "attachment", "sha256": digest},
                    {"type": "attachment", "sha256": digest, "media_type": "text/plain"},
                    {"type": "attachment", "attachment_id": "f"},
                    {"type": "attachment", "attachment_id": "https://example.org/x"},
                ],
            }
        ],
    }


def test_calls_are_noted_as_they_were_made(tmp_path: Path) -> None:
    calls = tmp_path / "calls"

    async def case(connection: ClientSideConnection, person: Person, _: object) -> None:
        person.edited = {"x": 2}
        await prompt(connection, await new(connection), 'ask: echo {"x":1}')

    run(case, TURNLOG_DEMO_CALLS=str(calls))
    [line] = calls.read_text().splitlines()
    assert json.loads(line) == {
        "session": "/",
        "tool_call_id": "call-1-17-1",
        "name": "echo",
        "arguments": {"x": 2},
    }


def test_a_seeded_call_that_was_decided_is_made_without_asking() -> None:
    async def case(connection: ClientSideConnection, person: Person, _: object) -> None:
        call = {"type": "tool_call", "tool_call_id": "c", "name": "echo", "arguments": {"x": 1}}
        seed = [
            {"role": "user", "parts": [{"type": "text", "text": 'ask: echo {"x":1}'}]},
            {"role": "assistant", "parts": [call]},
        ]
        session = await new(connection, **{"turnlog.dev/history": seed})
        decided = {"tool_call_id": "c", "name": "echo", "arguments": {"x": 9}}
        await prompt(
            connection, session, "", **{"turnlog.dev/resume": [{**decided, "verdict": "approved"}]}
        )
        assert person.asked == []
        assert [u.get("rawOutput") for u in person.updates] == [{"x": 9}, None]
        assert person.text == 'echo gave {"x":9}.'

    run(case)


def test_a_seeded_call_that_nobody_decided_is_asked_for_again() -> None:
    async def case(connection: ClientSideConnection, person: Person, _: object) -> None:
        call = {"type": "tool_call", "tool_call_id": "c", "name": "echo", "arguments": {"x": 1}}
        seed = [
            {"role": "user", "parts": [{"type": "text", "text": 'ask: echo {"x":1}'}]},
            {"role": "assistant", "parts": [call]},
        ]
        session = await new(connection, **{"turnlog.dev/history": seed})
        await prompt(connection, session, "")
        assert [asked["toolCallId"] for asked in person.asked] == ["c"]
        assert person.text == 'echo gave {"x":1}.'

    run(case)


@pytest.mark.parametrize("text", ["tool: wait", "delay: 60000 tool: echo", "late-tool"])
def test_a_cancelled_prompt_ends_as_cancelled(text: str) -> None:
    async def case(connection: ClientSideConnection, person: Person, _: object) -> None:
        session = await new(connection)
        running = asyncio.create_task(prompt(connection, session, f"think: hm\n{text}"))
        await person.until(1, "agent_thought_chunk")
        if "delay" not in text:
            await person.until(1, "tool_call")
        await connection.cancel(session_id=session)
        assert (await running)["stopReason"] == "cancelled"
        ends = [u for u in person.updates if u["sessionUpdate"] == "tool_call_update"]
        assert [u["status"] for u in ends] == (["failed"] if text == "tool: wait" else [])
        await prompt(connection, session, "hello")
        ends = [u for u in person.updates if u["sessionUpdate"] == "tool_call_update"]
        assert [u.get("rawOutput") for u in ends if u["status"] == "completed"] == (
            [{"late": True}] if text == "late-tool" else []
        )

    run(case)


def test_sessions_that_it_does_not_know_are_errors() -> None:
    async def case(connection: ClientSideConnection, _: Person, __: object) -> None:
        with pytest.raises(RequestError, match="unknown session") as failed:
            await connection.load_session(cwd="/", session_id="demo-1")
        assert failed.value.code == -32002
        session = await new(connection)
        await connection.load_session(cwd="/", session_id=session)
        await connection.close_session(session_id=session)
        await connection.cancel(session_id=session)
        for asking in (
            prompt(connection, session, "hello"),
            connection.close_session(session_id=session),
            connection.load_session(cwd="/", session_id=session),
        ):
            with pytest.raises(RequestError, match="unknown session"):
                await asking

    run(case)


def test_what_it_cannot_do_is_an_error() -> None:
    async def case(connection: ClientSideConnection, person: Person, _: object) -> None:
        with pytest.raises(RequestError, match="no such method"):
            await connection.list_sessions()
        session = await new(connection)
        image = ImageContentBlock(type="image", data="!", mime_type="image/png")
        with pytest.raises(RequestError, match="base64"):
            await connection.prompt(session_id=session, prompt=[image])
        running = asyncio.create_task(prompt(connection, session, "tool: wait"))
        await person.until(1, "tool_call")
        with pytest.raises(RequestError, match="runs already"):
            await prompt(connection, session, "hello")
        await connection.cancel(session_id=session)
        await running

    run(case)


def test_it_fails_a_prompt_when_it_is_asked_to() -> None:
    async def case(connection: ClientSideConnection, person: Person, _: object) -> None:
        session = await new(connection)
        with pytest.raises(RequestError, match="asked to fail") as failed:
            await prompt(connection, session, "fail: error")
        assert failed.value.code == -32603
        await prompt(connection, session, "hello")
        assert person.text == 'Message 2: you said "hello".'

    run(case)


def test_it_dies_when_it_is_asked_to() -> None:
    async def case(
        connection: ClientSideConnection, _: Person, process: asyncio.subprocess.Process
    ) -> None:
        session = await new(connection)
        with pytest.raises(ConnectionError):
            await prompt(connection, session, "fail: die")
        assert await process.wait() == 70

    run(case)


def test_it_is_deaf_when_it_hangs_and_ends_with_its_input_all_the_same() -> None:
    async def case(
        connection: ClientSideConnection, person: Person, process: asyncio.subprocess.Process
    ) -> None:
        session = await new(connection)
        running = asyncio.create_task(prompt(connection, session, "think: hm\nfail: hang"))
        await person.until(1, "agent_thought_chunk")
        await connection.cancel(session_id=session)
        other = await new(connection)
        await prompt(connection, other, "hello")
        assert not running.done()
        assert process.stdin is not None
        process.stdin.close()
        with pytest.raises(ConnectionError):
            await running
        assert await process.wait() == 0

    run(case)


def test_noise_comes_beside_what_it_says() -> None:
    async def case(connection: ClientSideConnection, person: Person, _: object) -> None:
        session = await new(connection)
        for kind in ("garbage", "bigline", "stderr"):
            await prompt(connection, session, f"fail: {kind}")
            assert person.text.endswith(f"I went on after {kind}.")
        [(method, params)] = person.extensions
        assert method == "turnlog.dev/filler"
        assert len(params["filler"]) == 10 * 2**20

    run(case)


def test_it_ends_at_once_when_it_is_told_to() -> None:
    async def case(
        _: ClientSideConnection, __: Person, process: asyncio.subprocess.Process
    ) -> None:
        process.terminate()
        assert await process.wait() == -signal.SIGTERM

    run(case, TURNLOG_DEMO_MEMORY_MB="1", TURNLOG_DEMO_START_MS="1")


def test_lines_that_are_no_message_are_skipped() -> None:
    async def case(
        connection: ClientSideConnection, person: Person, process: asyncio.subprocess.Process
    ) -> None:
        assert process.stdin is not None
        process.stdin.write(b"no message\n[1]\n17\n" + b"[" * 100_000 + b'\n{"id":77,"result":1}\n')
        await prompt(connection, await new(connection), "hello")
        assert person.text == 'Message 1: you said "hello".'

    run(case)
