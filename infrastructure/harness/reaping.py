"""Which processes did a server leave behind that was killed, and how do they end?

Each server writes one record, before it starts anything, and gives its id to all that it starts
in a variable that their own children inherit. Whoever starts later ends what carries the id of a
server that is gone, and nothing else: whatever has no such mark, or one of a server that lives
or that cannot be judged from here, is left alone.
"""

import asyncio
import json
import logging
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

from infrastructure.harness import process_table
from infrastructure.harness.process_table import look_up, running, started_with

MARK: Final = "TURNLOG_HARNESS"
_LOST: Final = ".lost"
_PATIENCE_S: Final = 2.0
_POLL_S: Final = 0.02
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One server, as its children are marked with it.

    Attributes:
        record: Where it is on record; None if it could not be, so that nobody can reap for it.
    """

    instance_id: str
    record: Path | None

    @property
    def variables(self) -> dict[str, str]:
        """Return what marks a process as one of this server's."""
        return {MARK: self.instance_id}

    def release(self) -> None:
        """Forget the server: all that it started has ended."""
        if self.record is not None:
            _remove(self.record)


def register(state: Path) -> Instance:
    """Put a new server, this process, on record in the folder `state`."""
    instance_id = uuid4().hex
    own = look_up(os.getpid())
    space = process_table.namespace()
    if own is None or space is None:
        return Instance(instance_id=instance_id, record=None)
    record = _folder(state) / f"{instance_id}.json"
    said = {"pid": own.pid, "started": own.started, "namespace": space}
    try:
        record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside = record.with_suffix(".new")
        beside.write_text(json.dumps(said))
        beside.replace(record)
    except OSError:
        _log.warning("%s cannot be written: a crash may leave harnesses behind", record.parent)
        return Instance(instance_id=instance_id, record=None)
    return Instance(instance_id=instance_id, record=record)


def lost(state: Path) -> Sequence[str]:
    """Return the ids of servers on record in `state` that are known to live no more.

    They are noted, so that whoever takes this up may be killed too: until `taken_up`.
    """
    found = {record.stem for record in _records(state) if _is_gone(record)}
    for instance_id in found:
        try:
            _note(state, instance_id).touch(mode=0o600)
        except OSError:
            _log.warning("%s cannot be written", _folder(state))
    return sorted(found | {note.stem for note in _folder(state).glob(f"*{_LOST}")})


def taken_up(state: Path, instance_id: str) -> None:
    """Forget a server of which nothing is left to be taken up."""
    _remove(_note(state, instance_id))


def kill_marked(instance_id: str) -> None:
    """Kill what a server started, without waiting for anything."""
    _signal(_marked(instance_id), signal.SIGKILL)


async def reap(state: Path) -> int:
    """End what servers on record in `state` left behind; return how many processes that were."""
    ended = 0
    for record in _records(state):
        if not _is_gone(record):
            continue
        left = _marked(record.stem)
        ended += len(left)
        if await _end(left, record.stem):
            _remove(record)
    if ended:
        _log.warning("ended %d processes that a killed server had left behind", ended)
    return ended


def _records(state: Path) -> Sequence[Path]:
    try:
        return sorted(_folder(state).glob("*.json"))
    except OSError:
        return ()


def _is_gone(record: Path) -> bool:
    """Tell whether the server of a record is known to live no more."""
    try:
        said = json.loads(record.read_bytes())
        pid, started, space = int(said["pid"]), said["started"], said["namespace"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    if space is None or space != process_table.namespace():
        return _is_of_an_earlier_start(space)
    found = look_up(pid)
    return found is None or found.started != started


def _is_of_an_earlier_start(space: object) -> bool:
    """Tell whether the machine has been started anew since: then nothing is left to end."""
    now = process_table.namespace()
    if now is None or not isinstance(space, str):
        return False
    boot, _, place = space.partition(" ")
    boot_now, _, place_now = now.partition(" ")
    return boot != boot_now and place == place_now


def _marked(instance_id: str) -> list[int]:
    variable = f"{MARK}={instance_id}".encode()
    return [found.pid for found in running() if started_with(found.pid, variable)]


async def _end(pids: Sequence[int], instance_id: str) -> bool:
    """End processes, politely first; tell whether they are gone."""
    left = list(pids)
    for number in (signal.SIGTERM, signal.SIGKILL):
        _signal(left, number)
        deadline = asyncio.get_running_loop().time() + _PATIENCE_S
        while left and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(_POLL_S)
            left = _marked(instance_id)
    return not left


def _signal(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def _folder(state: Path) -> Path:
    return state / "servers"


def _note(state: Path, instance_id: str) -> Path:
    return _folder(state) / f"{instance_id}{_LOST}"


def _remove(record: Path) -> None:
    try:
        record.unlink(missing_ok=True)
    except OSError:
        _log.warning("%s cannot be removed", record)
