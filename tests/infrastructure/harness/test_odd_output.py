"""What does an agent get away with that writes more, less or other things than it should?"""

import json
from pathlib import Path

import pytest

from infrastructure.harness.acp.wire import read
from infrastructure.harness.lines import Lines
from infrastructure.harness.port import HarnessFailed, Said
from tests.infrastructure.harness.stage import Ear, harness, play, puppet

pytestmark = pytest.mark.anyio

SAID = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}


def update_line(update: object, session_id: str = "s1") -> str:
    params = {"sessionId": session_id, "update": update}
    return json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params})


@pytest.mark.parametrize(
    "line",
    [
        "Starting the agent ...",
        "",
        "{",
        "[]",
        "3",
        '"text"',
        "[" * 100_000,
        "{" * 100_000,
        '{"jsonrpc":"2.0"}',
        '{"id":[1],"result":1}',
        '{"id":true,"result":1}',
        '{"id":0.0,"result":1}',
        '{"id":77,"result":{}}',
        '{"id":"77","error":{}}',
        '{"id":null,"error":{"code":-32700}}',
        '{"method":7}',
        '{"method":"session/update"}',
        '{"method":"session/update","params":[]}',
        '{"method":"session/update","params":{"sessionId":"s1"}}',
        '{"method":"_agent/extension","params":{}}',
        '{"method":"no/such/thing","params":null}',
        update_line([]),
        update_line({}),
        update_line({"sessionUpdate": 3}),
        update_line({"sessionUpdate": "tool_call"}),
        update_line({"sessionUpdate": "tool_call", "toolCallId": 3}),
        update_line({"sessionUpdate": "agent_message_chunk"}),
        update_line({"sessionUpdate": "agent_message_chunk", "content": "x"}),
        update_line({"sessionUpdate": "agent_message_chunk", "content": {"type": "text"}}),
        update_line(SAID, "of nobody"),
    ],
)
async def test_a_line_that_means_nothing_costs_nothing(tmp_path: Path, line: str) -> None:
    async with harness(tmp_path, puppet(how={"noise": line})) as agent:
        ended, ear = await play(agent, {"raw": line}, {"say": "on"})
        assert agent.alive

    assert ended.stop_reason == "completed"
    assert ear.heard == [Said(voice="text", text="on")]


async def test_a_request_that_means_nothing_is_answered(tmp_path: Path) -> None:
    async with harness(tmp_path, puppet()) as agent:
        _, ask = await play(agent, {"request": {}, "method": "session/request_permission"})
        _, form = await play(agent, {"request": {}, "method": "elicitation/create"})
        _, other = await play(agent, {"request": {}, "method": "terminal/create"})

    assert json.loads(ask.said) == {"outcome": {"outcome": "cancelled"}}
    assert json.loads(form.said) == {"action": "cancel"}
    assert json.loads(other.said)["code"] == -32601


async def test_a_line_of_ten_megabytes_is_one_update(tmp_path: Path) -> None:
    async with harness(tmp_path, puppet()) as agent:
        _, ear = await play(agent, {"big": 10_000_000}, {"say": "y"})

    assert len(ear.said) == 10_000_001


async def test_a_line_without_an_end_ends_the_agent(tmp_path: Path) -> None:
    async with harness(tmp_path, puppet()) as agent:
        with pytest.raises(HarnessFailed) as failed:
            await play(agent, {"say": "a"}, {"endless": True})
        assert not agent.alive

    assert failed.value.code == "output-too-long"
    assert failed.value.received


async def test_a_flood_of_errors_does_not_hold_an_agent_up(tmp_path: Path) -> None:
    async with harness(tmp_path, puppet()) as agent:
        ended, ear = await play(agent, {"stderr": 2_000_000}, {"say": "on"})

        assert len(agent.last_errors()) == 16 * 1024
    assert (ended.stop_reason, ear.said) == ("completed", "on")


async def test_nothing_that_an_agent_writes_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    odd = update_line({"sessionUpdate": "secret", "content": "secret"})

    async with harness(tmp_path, puppet(how={"noise": "secret {"})) as agent:
        await play(agent, {"raw": odd}, {"raw": "secret"}, {"stderr": 10})
        with pytest.raises(HarnessFailed):
            await play(agent, {"end": {"error": {"code": 1, "message": "secret"}}})
        with pytest.raises(HarnessFailed):
            await play(agent, {"raw": "secret"}, {"exit": 3})

    assert caplog.records == []


async def test_a_slow_listener_holds_a_fast_agent_back(tmp_path: Path) -> None:
    async with harness(tmp_path, puppet()) as agent:
        _, ear = await play(agent, *({"big": 3_000_000} for _ in range(8)), ear=Ear())

    assert len(ear.said) == 24_000_000


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b'{"method":"m","n":NaN}', None),
        (b'{"method":"m","n":1e999}', None),
        (b'{"method":"m","n":"a\\ud83d"}', "a\N{REPLACEMENT CHARACTER}"),
        (b'{"method":"m","n":"\\ud83d\\ude00"}', "\U0001f600"),
        (b'{"method":"m","n":"\xff"}', "\N{REPLACEMENT CHARACTER}"),
        (b'{"method":"m","n":1,"n":2}', 2),
        (b' \t{"method":"m","n":[{"\\udc00":[1.5]}]}\r', [{"\N{REPLACEMENT CHARACTER}": [1.5]}]),
    ],
)
def test_what_json_cannot_say_is_made_into_what_it_can(line: bytes, value: object) -> None:
    message = read(line)

    assert message is not None
    assert message["n"] == value


@pytest.mark.parametrize(
    "line",
    [
        b'{"method":"m","n":' + b"9" * 5000 + b"}",
        b'{"method":"m","n":' + b"[" * 900 + b"]" * 900 + b"}",
    ],
)
def test_what_cannot_be_kept_is_no_message(line: bytes) -> None:
    assert read(line) is None


def test_an_error_that_is_no_object_is_an_error() -> None:
    assert read(b'{"id":1,"error":"x"}') == {"id": 1, "error": {}}


class Tap:
    """A pipe that knows whether it is paused."""

    def __init__(self) -> None:
        self.paused = False

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


async def test_a_pipe_is_paused_while_nobody_takes_its_lines() -> None:
    lines, tap = Lines(), Tap()
    lines.read_from(tap)

    lines.feed(b"x" * 1_000_000 + b"\n" + b"y" * 1_000_000 + b"\nrest")
    paused = tap.paused
    first = await lines.next()

    assert (paused, tap.paused, len(first or b"")) == (True, False, 1_000_000)


async def test_lines_may_come_in_any_pieces_and_the_last_may_lack_its_end() -> None:
    lines = Lines()

    for piece in (b"a", b"b\n", b"\n\nc", b"\nd", b""):
        lines.feed(piece)
    lines.end()
    lines.feed(b"late\n")

    assert [await lines.next() for _ in range(4)] == [b"ab", b"c", b"d", None]


@pytest.mark.parametrize("data", [b"a\n12345678\nb\n", b"a\n123456789"])
async def test_a_line_over_the_limit_is_the_last_that_is_looked_at(data: bytes) -> None:
    lines = Lines(longest=7)

    lines.feed(data)

    assert [await lines.next(), await lines.next()] == [b"a", None]
    assert lines.too_long
