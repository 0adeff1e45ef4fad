"""Does a new server end what a killed one left behind, and nothing else?"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from infrastructure.harness import process_table, processes, reaping
from infrastructure.harness.process_table import look_up
from infrastructure.harness.processes import Process, spawn
from infrastructure.harness.reaping import Instance, reap, register
from tests.infrastructure.harness.stage import START, harnesses, puppet, report, until

pytestmark = pytest.mark.anyio

SERVER = """
import asyncio, os, sys
from pathlib import Path
from tests.infrastructure.harness.stage import START, harnesses, play, puppet, report

async def serve():
    async with harnesses(Path(sys.argv[1]), puppet(how={"deaf": True})) as opened:
        agent = await opened.start(START)
        _, ear = await play(agent, {"child": "quiet"})
        pid, _ = await report(agent, "process")
        print(pid, ear.said, flush=True)
        await asyncio.Event().wait()

asyncio.run(serve())
"""
STUBBORN = (
    "import signal\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "print(1, flush=True)\n"
    "signal.pause()\n"
)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PATIENCE_S", 0.3)
    monkeypatch.setattr(reaping, "_PATIENCE_S", 0.3)


async def stubborn(tmp_path: Path, **variables: str) -> Process:
    """Start a process that does not listen to TERM."""
    process = await spawn([sys.executable, "-c", STUBBORN], variables, str(tmp_path))
    await process.lines.next()
    return process


def records(state: Path) -> list[Path]:
    return sorted(state.glob("servers/*.json"))


def record_of(instance: Instance, **changed: object) -> None:
    """Change what is on record of a server."""
    assert instance.record is not None
    said = json.loads(instance.record.read_text())
    instance.record.write_text(json.dumps(said | changed))


async def test_what_a_killed_server_left_behind_is_ended_by_the_next(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    server = await spawn([sys.executable, "-c", SERVER, str(tmp_path)], environment, str(tmp_path))
    left = [int(pid) for pid in (await server.lines.next() or b"").split()]
    os.kill(server.pid, signal.SIGKILL)
    await until(lambda: look_up(server.pid) is None)
    orphans = [look_up(pid) is not None for pid in left]
    kept = records(tmp_path)

    ended = await reap(tmp_path)
    await server.end()

    assert orphans == [True, True]
    assert ended == 2
    assert [look_up(pid) for pid in left] == [None, None]
    assert len(kept) == 1
    assert records(tmp_path) == []


async def test_only_the_marked_children_of_the_dead_are_ended(tmp_path: Path) -> None:
    dead, alive = register(tmp_path), register(tmp_path)
    record_of(dead, started=1)
    theirs = await stubborn(tmp_path, **dead.variables)
    others = [
        await stubborn(tmp_path, **alive.variables),
        await stubborn(tmp_path),
        await stubborn(tmp_path, TURNLOG_HARNESS="of another folder"),
        await stubborn(tmp_path, NOT_TURNLOG_HARNESS=dead.instance_id),
    ]

    ended = await reap(tmp_path)
    await until(lambda: not theirs.alive)
    left = [each.alive for each in others]
    await asyncio.gather(*(each.end() for each in (theirs, *others)))

    assert ended == 1
    assert left == [True] * 4
    assert records(tmp_path) == [alive.record]


async def test_a_server_that_ends_properly_leaves_no_record(tmp_path: Path) -> None:
    async with harnesses(tmp_path, puppet()) as opened:
        await opened.start(START)
        while_it_runs = len(records(tmp_path))

    assert (while_it_runs, records(tmp_path)) == (1, [])


async def test_a_server_in_another_namespace_is_not_judged(tmp_path: Path) -> None:
    instance = register(tmp_path)
    boot, _, _ = (process_table.namespace() or "").partition(" ")
    record_of(instance, started=1, namespace=f"{boot} pid:[1]")
    process = await stubborn(tmp_path, **instance.variables)

    ended = await reap(tmp_path)
    left = process.alive
    await process.end()

    assert (ended, left, records(tmp_path)) == (0, True, [instance.record])


async def test_after_a_new_start_of_the_machine_only_the_record_is_left_to_remove(
    tmp_path: Path,
) -> None:
    instance = register(tmp_path)
    _, _, place = (process_table.namespace() or "").partition(" ")
    record_of(instance, namespace=f"an-earlier-start {place}")

    assert (await reap(tmp_path), records(tmp_path)) == (0, [])


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"pid":"x","started":1,"namespace":"n"}'])
async def test_a_record_that_says_nothing_ends_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "servers").mkdir()
    (tmp_path / "servers" / "x.json").write_text(text)

    assert await reap(tmp_path) == 0
    assert len(records(tmp_path)) == 1


async def test_without_a_table_of_processes_nothing_is_known_and_everything_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = tmp_path / "none"
    monkeypatch.setattr(process_table.running, "__defaults__", (nowhere,))
    monkeypatch.setattr(process_table.look_up, "__defaults__", (nowhere,))
    monkeypatch.setattr(process_table.namespace, "__defaults__", (nowhere,))
    other = Instance(instance_id="other", record=None)

    async with harnesses(tmp_path, puppet()) as opened:
        pid, _ = await report(await opened.start(START), "process")
    process = await stubborn(tmp_path, **other.variables)
    ended = await reap(tmp_path)
    left = process.alive
    await process.end()

    assert (ended, left, records(tmp_path)) == (0, True, [])
    for gone in (pid, process.pid):
        with pytest.raises(ProcessLookupError):
            os.kill(gone, 0)


async def test_a_folder_that_cannot_be_written_costs_only_the_reaping(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "servers").write_text("a file")

    async with harnesses(tmp_path, puppet()) as opened:
        assert (await opened.start(START)).alive

    assert len(caplog.records) == 1
