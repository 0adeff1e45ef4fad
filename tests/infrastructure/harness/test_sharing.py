"""Which conversations share a process, and when does it end?"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infrastructure.harness.acp.conversation import AcpHarness
from infrastructure.harness.port import HarnessFailed, Start
from infrastructure.harness.process_table import look_up
from tests.infrastructure.harness.stage import Ear, harnesses, play, puppet, report

pytestmark = pytest.mark.anyio

CLOSES: Mapping[str, Any] = {"capabilities": {"sessionCapabilities": {"close": {}}}}


def session(number: int, project: str = "p") -> Start:
    return Start(project_id=project, session_id=f"s{number}")


async def pid_of(agent: AcpHarness) -> int:
    pid, _ = await report(agent, "process")
    return int(pid)


async def test_a_process_holds_as_many_conversations_as_it_may(tmp_path: Path) -> None:
    async with harnesses(tmp_path, puppet(sessions=2)) as opened:
        agents = await asyncio.gather(*(opened.start(session(n)) for n in range(5)))
        pids = [await pid_of(agent) for agent in agents]

        assert sorted(pids.count(pid) for pid in set(pids)) == [1, 2, 2]
        assert opened.processes() == 3


async def test_projects_do_not_share_a_process(tmp_path: Path) -> None:
    async with harnesses(tmp_path, puppet(sessions=9)) as opened:
        one = await opened.start(session(1, "p"))
        other = await opened.start(session(1, "q"))

        assert await pid_of(one) != await pid_of(other)


async def test_conversations_of_one_process_run_at_once_and_hear_only_themselves(
    tmp_path: Path,
) -> None:
    async with harnesses(tmp_path, puppet(sessions=2)) as opened:
        one = await opened.start(session(1))
        other = await opened.start(session(2))
        ear = Ear()
        waiting = asyncio.create_task(play(one, {"say": "a"}, {"wait_cancel": True}, ear=ear))
        await ear.until(lambda: ear.said == "a")
        _, heard = await play(other, {"burst": 50})
        await one.cancel()
        await waiting

    assert ear.said == "a"
    assert heard.said == "".join(map(str, range(50)))


async def test_ending_one_conversation_leaves_the_others_and_the_last_ends_the_process(
    tmp_path: Path,
) -> None:
    async with harnesses(tmp_path, puppet(how=CLOSES, sessions=2)) as opened:
        one = await opened.start(session(1))
        other = await opened.start(session(2))
        pid = await pid_of(one)
        await one.close()

        assert await report(other, "closed") == ["s1"]
        assert not one.alive
        third = await opened.start(session(3))
        assert await pid_of(third) == pid

        await other.close()
        await third.close()
        assert look_up(pid) is None
        assert opened.processes() == 0


async def test_the_death_of_a_process_is_that_of_each_of_its_conversations(
    tmp_path: Path,
) -> None:
    async with harnesses(tmp_path, puppet(sessions=2)) as opened:
        one = await opened.start(session(1))
        other = await opened.start(session(2))
        ear = Ear()
        waiting = asyncio.create_task(play(other, {"say": "a"}, {"hang": True}, ear=ear))
        await ear.until(lambda: ear.said == "a")
        for agent in (play(one, {"exit": 1}), waiting):
            with pytest.raises(HarnessFailed) as failed:
                await agent
            assert failed.value.code == "process-died"
        assert not one.alive
        assert not other.alive
        again = await opened.start(session(1))
        assert again.alive


async def test_starting_a_session_again_and_again_leaves_one_process(tmp_path: Path) -> None:
    async with harnesses(tmp_path, puppet()) as opened:
        agents = [await opened.start(session(1)) for _ in range(4)]

        assert [agent.alive for agent in agents] == [False] * 3 + [True]
        assert opened.processes() == 1


async def test_starting_a_session_many_times_at_once_leaves_one_process(tmp_path: Path) -> None:
    async with harnesses(tmp_path, puppet()) as opened:
        agents = await asyncio.gather(*(opened.start(session(1)) for _ in range(4)))

        assert sum(agent.alive for agent in agents) == 1


async def test_a_start_that_nobody_waits_for_any_more_leaves_nothing(tmp_path: Path) -> None:
    async with harnesses(tmp_path, puppet(how={"new": "hang"})) as opened:
        starting = asyncio.create_task(opened.start(session(1)))
        done, _ = await asyncio.wait({starting}, timeout=0.5)
        assert not done
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting


@pytest.mark.parametrize("how", [{"init": "hang"}, {"new": "hang"}])
async def test_a_start_while_all_is_closed_fails(tmp_path: Path, how: Mapping[str, Any]) -> None:
    async with harnesses(tmp_path, puppet(how=how)) as opened:
        starting = asyncio.create_task(opened.start(session(1)))
        await asyncio.wait({starting}, timeout=0.3)
        await opened.close()
        with pytest.raises(HarnessFailed) as failed:
            await starting

    assert failed.value.code == "start-failed"


async def test_an_agent_that_gives_two_sessions_one_name_is_not_believed(tmp_path: Path) -> None:
    async with harnesses(tmp_path, puppet(how={"new": {"sessionId": "s1"}}, sessions=2)) as opened:
        first = await opened.start(session(1))
        with pytest.raises(HarnessFailed, match="no new session"):
            await opened.start(session(2))
        assert first.alive


async def test_a_session_has_one_harness_but_for_one_beside_it(tmp_path: Path) -> None:
    async with harnesses(tmp_path, puppet(sessions=1)) as opened:
        first = await opened.start(session(1))
        beside = await opened.start(replace(session(1), beside=True))
        assert await pid_of(first) != await pid_of(beside)

        second = await opened.start(session(1))

        assert (first.alive, beside.alive, second.alive) == (False, True, True)
