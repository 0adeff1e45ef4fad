"""Is everything gone that a harness was, however it ends, and is a dead one noticed?"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from infrastructure.harness import processes
from infrastructure.harness.acp.conversation import AcpHarness
from infrastructure.harness.definitions import Definition
from infrastructure.harness.port import HarnessFailed, Start
from infrastructure.harness.process_table import look_up
from infrastructure.harness.processes import spawn
from tests.infrastructure.harness.stage import (
    START,
    WAIT_S,
    Ear,
    harness,
    harnesses,
    play,
    puppet,
    report,
    steps,
    until,
)

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PATIENCE_S", 0.3)


async def child_of(agent: AcpHarness, kind: str = "quiet") -> int:
    """Have an agent start a child that does not listen to TERM; return its id."""
    _, ear = await play(agent, {"child": kind})
    return int(ear.said)


async def test_an_agent_works_in_its_folder_in_a_session_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNLOG_DATABASE_URL", "secret")
    monkeypatch.setenv("WANTED", "yes")
    folder = tmp_path / "work"
    folder.mkdir()
    definition = puppet(folder=str(folder), inherit=("WANTED", "MISSING"), environment={"A": "b"})

    async with harness(tmp_path, definition) as agent:
        environment = await report(agent, "environment")
        here = await report(agent, "folder")
        pid, session = await report(agent, "process")
        new = await report(agent, "new")

    assert here == environment["PWD"] == new["cwd"] == str(folder)
    assert pid == session
    assert (environment["A"], environment["WANTED"]) == ("b", "yes")
    assert len(environment["TURNLOG_HARNESS"]) == 32
    assert "TURNLOG_DATABASE_URL" not in environment
    assert "MISSING" not in environment


async def test_a_session_says_where_to_work_and_each_project_has_a_folder_otherwise(
    tmp_path: Path,
) -> None:
    own = tmp_path / "own"
    own.mkdir()

    async with harnesses(tmp_path, puppet()) as opened:
        given = await opened.start(Start(project_id="p", session_id="a", workspace=str(own)))
        made = await opened.start(Start(project_id="p", session_id="b"))

        assert await report(given, "folder") == str(own)
        assert await report(made, "folder") == str(tmp_path / "work" / "p")


async def test_closing_ends_an_agent_that_listens_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "PATIENCE_S", WAIT_S)

    async with harness(tmp_path, puppet()) as agent:
        pid, _ = await report(agent, "process")
        await agent.close()
        await agent.close()

        assert look_up(pid) is None
        assert not agent.alive


@pytest.mark.parametrize("kind", ["quiet", "holds"])
async def test_children_that_ignore_term_are_gone_too(tmp_path: Path, kind: str) -> None:
    async with harness(tmp_path, puppet(how={"deaf": True})) as agent:
        pid, _ = await report(agent, "process")
        child = await child_of(agent, kind)
        await agent.close()

    assert (look_up(pid), look_up(child)) == (None, None)


@pytest.mark.parametrize("kind", ["quiet", "holds"])
async def test_children_of_an_agent_that_ended_by_itself_are_gone_too(
    tmp_path: Path, kind: str
) -> None:
    async with harness(tmp_path, puppet()) as agent:
        child = await child_of(agent, kind)
        with pytest.raises(HarnessFailed) as failed:
            await play(agent, {"say": "a"}, {"exit": 0})
        await until(lambda: look_up(child) is None)

        assert failed.value.code == "process-died"
        assert failed.value.received
        assert not agent.alive


async def test_a_child_in_a_group_of_its_own_is_gone_too(tmp_path: Path) -> None:
    script = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "pid = os.fork()\n"
        "if pid == 0: os.setpgid(0, 0)\n"
        "print(os.getpid(), flush=True)\n"
        "signal.pause()\n"
    )
    environment = {"PATH": os.environ["PATH"]}

    process = await spawn([sys.executable, "-c", script], environment, str(tmp_path))
    pids = [int(await process.lines.next() or b""), int(await process.lines.next() or b"")]
    await process.end()

    assert [look_up(pid) for pid in pids] == [None, None]


@pytest.mark.parametrize("how", ["killed", "exited"])
async def test_a_dead_agent_is_noticed_between_prompts(tmp_path: Path, how: str) -> None:
    async with harness(tmp_path, puppet()) as agent:
        pid, _ = await report(agent, "process")
        if how == "killed":
            os.kill(pid, signal.SIGKILL)
        else:
            await play(agent, {"later": 0.3})
        await until(lambda: not agent.alive)
        with pytest.raises(HarnessFailed) as failed:
            await play(agent, {"say": "a"})

    assert (failed.value.code, failed.value.received) == ("process-died", False)


async def test_a_prompt_that_waits_when_its_agent_is_killed_fails_at_once(tmp_path: Path) -> None:
    async with harness(tmp_path, puppet()) as agent:
        pid, _ = await report(agent, "process")
        await child_of(agent, "holds")
        playing = asyncio.create_task(agent.prompt(steps({"hang": True}), Ear()))
        await asyncio.sleep(0)
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(WAIT_S):
            with pytest.raises(HarnessFailed) as failed:
                await playing

    assert (failed.value.code, failed.value.received) == ("process-died", False)


async def test_what_an_agent_said_last_is_told_before_its_death(tmp_path: Path) -> None:
    async with harness(tmp_path, puppet()) as agent:
        ear = Ear()
        with pytest.raises(HarnessFailed):
            await play(agent, {"burst": 500}, {"exit": 1}, ear=ear)

    assert ear.said == "".join(map(str, range(500)))


async def test_an_agent_that_closes_its_output_is_dead(tmp_path: Path) -> None:
    async with harness(tmp_path, puppet()) as agent:
        with pytest.raises(HarnessFailed) as failed:
            await play(agent, {"close_output": True}, {"hang": True})

        assert failed.value.code == "process-died"
        assert not agent.alive


async def test_closing_during_a_prompt_ends_it(tmp_path: Path) -> None:
    async with harness(tmp_path, puppet()) as agent:
        ear = Ear()
        playing = asyncio.create_task(play(agent, {"say": "a"}, {"hang": True}, ear=ear))
        await ear.until(lambda: ear.said == "a")
        await agent.close()
        with pytest.raises(HarnessFailed) as failed:
            await playing

    assert (failed.value.code, failed.value.received) == ("process-died", True)


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        (Definition(name="x", command=("/no/such/program",)), "No such file"),
        (Definition(name="x", command=(str(Path(__file__)),)), "Permission denied"),
        (Definition(name="x", command=(sys.executable, "-c", "")), "ended while it was started"),
        (Definition(name="x", command=("cat",)), "ended|another version|error"),
        (puppet(how={"init": "exit"}), "ended while it was started"),
        (puppet(how={"init": "error"}), "initialize with error -32000"),
        (puppet(how={"init": {"protocolVersion": 9}}), "another version"),
        (puppet(how={"new": "exit"}), "ended while it was started"),
        (puppet(how={"new": "error"}), "session/new with error -32000"),
        (puppet(how={"new": {"sessionId": ""}}), "gave no new session"),
        (puppet(folder="/no/such/folder"), "its folder is not there"),
    ],
)
async def test_an_agent_that_cannot_be_started_says_why_and_leaves_nothing(
    tmp_path: Path, definition: Definition, words: str
) -> None:
    async with harnesses(tmp_path, definition) as opened:
        with pytest.raises(HarnessFailed, match=words) as failed:
            await opened.start(START)

    assert failed.value.code == "start-failed"
    assert "secret" not in str(failed.value)


async def test_only_what_is_defined_can_be_started_and_nothing_once_all_is_closed(
    tmp_path: Path,
) -> None:
    async with harnesses(tmp_path, puppet()) as opened:
        with pytest.raises(HarnessFailed, match="no harness of this name"):
            await opened.start(Start(project_id="p", session_id="s", harness="other"))
        harness = await opened.start(START)
        await opened.close()
        with pytest.raises(HarnessFailed, match="being ended"):
            await opened.start(START)
        assert not harness.alive


async def test_an_agent_that_asks_for_it_is_authenticated(tmp_path: Path) -> None:
    async with harness(tmp_path, puppet(authenticate="key")) as agent:
        found = await report(agent, "authenticated")

    assert json.dumps(found) == '"key"'
