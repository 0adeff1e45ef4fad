"""Is an agent understood that speaks by the library's own agent side?"""

import sys
from pathlib import Path

import pytest

from infrastructure.harness.acp.conversation import AcpHarness
from infrastructure.harness.definitions import Definition
from infrastructure.harness.port import Answer, Asked, CallAnnounced, Prompt, Said, Used
from tests.infrastructure.harness.stage import AGENTS, TIMEOUTS, Ear, harness

pytestmark = pytest.mark.anyio

POLITE = Definition(
    name="polite", command=(sys.executable, str(AGENTS / "polite.py")), timeouts=TIMEOUTS
)


def saying(words: str) -> Prompt:
    return Prompt(parts=({"type": "text", "text": words},))


def answering(agent: AcpHarness, answer: Answer) -> Ear:
    async def answer_it(asked: Asked) -> None:
        assert await agent.answer(asked.permission_id, answer)

    return Ear(on_asked=answer_it)


async def test_an_agent_of_the_library_remembers_and_tells_its_tokens(tmp_path: Path) -> None:
    async with harness(tmp_path, POLITE) as agent:
        await agent.prompt(saying("one"), Ear())
        ear = Ear()
        ended = await agent.prompt(saying("all"), ear)

    assert ear.heard == [Said(voice="text", text="one,all")]
    assert ended.used == Used(model="polite", input_tokens=2, output_tokens=1)


async def test_an_agent_of_the_library_asks_and_is_answered(tmp_path: Path) -> None:
    async with harness(tmp_path, POLITE) as agent:
        ear = answering(agent, Answer(verdict="denied"))
        await agent.prompt(saying("ask"), ear)
        form = answering(agent, Answer(verdict="answered", answer={"colour": "red"}))
        await agent.prompt(saying("form"), form)

    assert ear.heard[0] == CallAnnounced(tool_call_id="c", name="work", arguments={"n": 1})
    assert ear.said == "n"
    assert form.said == "{'colour': 'red'}"
