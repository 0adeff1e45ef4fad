"""How much passes between turnlog and an agent besides what has to be said?"""

from pathlib import Path

import pytest

from tests.infrastructure.harness.stage import harness, play, puppet, report

pytestmark = pytest.mark.anyio


async def test_a_prompt_costs_one_message_however_many_came_before(tmp_path: Path) -> None:
    async with harness(tmp_path, puppet()) as agent:
        for _ in range(3):
            await play(agent, {"say": "a"}, {"say": "b"})
        received = await report(agent, "received")

    assert received == ["initialize", "session/new", *["session/prompt"] * 4]
