"""Which agents run on this machine for turnlog, and which conversations does each hold?

A process holds as many conversations as its definition allows, of one project and in one folder,
and ends with its last. A session has one harness: starting another ends the one before, unless it
is to live beside it.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final

from infrastructure.harness.acp.conversation import AcpHarness
from infrastructure.harness.acp.link import Link
from infrastructure.harness.acp.places import Kind, Places
from infrastructure.harness.acp.sessions import begin
from infrastructure.harness.definitions import Definition
from infrastructure.harness.port import HarnessFailed, Start
from infrastructure.harness.reaping import Instance, reap, register

_WORK: Final = "work"
_ENDING: Final = "the server is being ended"


class AcpHarnesses:
    """All agents of one server; see `open_harnesses`."""

    def __init__(
        self,
        definitions: Mapping[str, Definition],
        *,
        default: str,
        state: Path,
        instance: Instance,
    ) -> None:
        """Start what `definitions` say, marked as children of `instance`."""
        self._definitions = definitions
        self._default = default
        self._state = state.absolute()
        self._instance = instance
        self._places = Places()
        self._held: dict[tuple[str, str, int], AcpHarness] = {}
        self._besides = count(1)
        self._closed = False

    @property
    def instance_id(self) -> str:
        """Return what the server is called in its record, and in the marks of its processes."""
        return self._instance.instance_id

    async def start(self, start: Start) -> AcpHarness:
        """Return a conversation that waits for its first prompt, and knows the seed.

        Raises:
            HarnessFailed: none can be started.
        """
        definition = self._definition(start)
        place = next(self._besides) if start.beside else 0
        key = (start.project_id, start.session_id, place)
        earlier = self._held.pop(key, None)
        if earlier is not None:
            await earlier.close()
        folder = self._folder(start, definition)
        try:
            async with asyncio.timeout(definition.timeouts.start_s):
                harness = await self._started(start, definition, folder, key)
        except TimeoutError:
            detail = f"{definition.name} was not ready in time"
            raise HarnessFailed("start-timeout", detail) from None
        earlier = self._held.get(key)
        self._held[key] = harness
        if earlier is not None:
            await earlier.close()
        return harness

    async def close(self) -> None:
        """End everything that was started."""
        self._closed = True
        await asyncio.gather(*(harness.close() for harness in list(self._held.values())))
        await self._places.close()
        self._instance.release()

    def processes(self) -> int:
        """Return how many processes run, or are being started or ended."""
        return self._places.count()

    async def _started(
        self, start: Start, definition: Definition, folder: str, key: tuple[str, str, int]
    ) -> AcpHarness:
        kind = Kind(start.project_id, definition.name, folder)
        place = self._places.take(
            kind,
            definition.sessions_per_process,
            lambda: Link.open(definition, folder, self._instance.variables),
        )

        async def leave(harness: AcpHarness) -> None:
            if self._held.get(key) is harness:
                del self._held[key]
            await self._places.give_back(place)

        try:
            link = await asyncio.shield(place.opening)
            return await begin(link, start, folder, leave)
        except BaseException:
            self._places.give_back_soon(place)
            if place.opening.cancelled():
                raise HarnessFailed("start-failed", _ENDING) from None
            raise

    def _definition(self, start: Start) -> Definition:
        if self._closed:
            raise HarnessFailed("start-failed", _ENDING)
        name = self._default if start.harness is None else start.harness
        definition = self._definitions.get(name)
        if definition is None:
            raise HarnessFailed("start-failed", "no harness of this name is defined")
        return definition

    def _folder(self, start: Start, definition: Definition) -> str:
        """Return where to work; unless somebody says where, each project has a folder."""
        given = start.workspace or definition.folder
        path = self._state / _WORK / start.project_id if given is None else Path(given)
        if given is None:
            with suppress(OSError):
                path.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.is_absolute() or not path.is_dir():
            raise HarnessFailed("start-failed", f"{definition.name}: its folder is not there")
        return str(path)


async def open_harnesses(
    definitions: Mapping[str, Definition], *, default: str, state: Path
) -> AcpHarnesses:
    """End what killed servers left behind on this machine, and return what starts harnesses."""
    await reap(state)
    return harnesses_of(definitions, default=default, state=state)


def harnesses_of(
    definitions: Mapping[str, Definition], *, default: str, state: Path
) -> AcpHarnesses:
    """Return what starts harnesses; what killed servers left is for the caller to end before."""
    return AcpHarnesses(definitions, default=default, state=state, instance=register(state))
