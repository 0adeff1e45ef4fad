"""What did each prompt use, however an agent counts?"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from infrastructure.harness.acp.conversation import AcpHarness
from infrastructure.harness.port import Used
from tests.infrastructure.harness.stage import harness, play, puppet

pytestmark = pytest.mark.anyio


def counted(read: int, written: int, **more: int) -> Mapping[str, Any]:
    """Return tokens as an agent tells them."""
    return {"usage": {"inputTokens": read, "outputTokens": written, **more}}


async def used(agent: AcpHarness, *steps: Mapping[str, Any], **answer: object) -> Used | None:
    """Return what a prompt used that is answered so."""
    ended, _ = await play(agent, *steps, {"end": {"result": {"stopReason": "end_turn", **answer}}})
    return ended.used


async def test_an_agent_that_counts_all_of_its_session_is_told_what_each_prompt_used(
    tmp_path: Path,
) -> None:
    async with harness(tmp_path, puppet(usage="session")) as agent:
        told = [
            await used(agent, **counted(100, 10, cachedReadTokens=5)),
            await used(agent),
            await used(agent, **counted(250, 30, cachedReadTokens=5)),
            await used(agent, **counted(40, 4)),
        ]

    assert told == [
        Used(model="puppet", input_tokens=100, output_tokens=10, cache_read_tokens=5),
        None,
        Used(model="puppet", input_tokens=150, output_tokens=20, cache_read_tokens=0),
        Used(model="puppet", input_tokens=40, output_tokens=4),
    ]


async def test_what_is_told_in_passing_is_added_up_unless_the_answer_tells_it(
    tmp_path: Path,
) -> None:
    nothing = {"type": "text", "text": ""}
    passing = [
        {
            "update": {
                "sessionUpdate": "agent_message_chunk",
                "content": nothing,
                "_meta": counted(read, 10, thoughtTokens=1),
            }
        }
        for read in (100, 200)
    ]

    async with harness(tmp_path, puppet()) as agent:
        told = [
            await used(agent, *passing),
            await used(agent),
            await used(agent, *passing, **counted(290, 20)),
        ]

    assert told == [
        Used(model="puppet", input_tokens=300, output_tokens=20),
        None,
        Used(model="puppet", input_tokens=290, output_tokens=20),
    ]
