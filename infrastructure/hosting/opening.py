"""How is what runs turns here put together, and ended?"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from hashlib import sha256
from typing import Final
from uuid import uuid4

from domain.canonical import canonical
from domain.json_text import JsonValue  # noqa: TC001 - it is annotated with at run time
from domain.raw_json import dumped
from infrastructure.command_handler import Target
from infrastructure.composition import Turnlog
from infrastructure.harness.acp.harnesses import harnesses_of
from infrastructure.harness.definitions import Definition
from infrastructure.harness.port import Harnesses
from infrastructure.harness.reaping import lost, reap, taken_up
from infrastructure.hosting.attending import Attending
from infrastructure.hosting.attending_places import HOST
from infrastructure.hosting.configured import Configurations
from infrastructure.hosting.hosts import Hosting
from infrastructure.hosting.launching import Launching
from infrastructure.hosting.recovery import Recovery, nothing
from infrastructure.hosting.running import Told
from infrastructure.hosting.steered import Read

_LOGGER: Final = logging.getLogger("turnlog")


@asynccontextmanager
async def hosting(
    log: Turnlog,
    read: Read,
    harnesses: Harnesses | None = None,
    *,
    attends: bool = True,
) -> AsyncGenerator[Hosting]:
    """Give what runs turns, until the server stops; `harnesses` in place of the settings' own.

    One that does not attend looks after nothing between requests.
    """
    settings, left = log.settings, dict[str, str]()
    owner, opened = host(uuid4().hex), harnesses
    if opened is None:
        left = {host(each): each for each in lost(settings.state_folder())}
        started = harnesses_of(
            settings.harnesses, default=settings.default_harness, state=settings.state_folder()
        )
        owner, opened = host(started.instance_id), started

    def show(target: Target, turn_id: str, delta: Told) -> None:
        name = (target.project_id, target.session_id)
        log.deltas.send(name, 0, turn_id, [dumped(delta)])

    configurations = Configurations(lambda name: identity(log, name))
    launching = Launching(log, opened, configurations, show, owner)
    found = Hosting(log, launching, configurations, read)

    def settled(owner: str) -> None:
        taken_up(settings.state_folder(), left[owner])

    if attends:
        reaps = partial(reap, settings.state_folder()) if harnesses is None else nothing
        found.recovery = Recovery(log, list(left), reaps)
    attending = Attending(log, found, list(left), settled)
    rounds = asyncio.get_running_loop().create_task(attending.rounds()) if attends else None
    if attends:
        for sentence in settings.passed_over:
            _LOGGER.warning("%s", sentence)
        launching.here.pressure.begin()
    log.live_pool = launching.pool
    try:
        yield found
    finally:
        if rounds is not None:
            rounds.cancel()
        log.live_pool = None
        await launching.close()


def host(instance_id: str) -> str:
    """Return what a server is called as the owner of seats and leases."""
    return f"{HOST}{instance_id}"


def identity(log: Turnlog, name: str | None) -> str | None:
    """Return a digest of what a definition says but for the values of its variables."""
    known = log.settings.harnesses.get(name or log.settings.default_harness)
    return None if known is None else _digest(known)


def _digest(known: Definition) -> str:
    said: dict[str, JsonValue] = {
        "command": [*known.command],
        "environment": [*sorted(known.environment)],
        "folder": known.folder,
        "config": known.config,
    }
    return sha256(canonical(said)).hexdigest()
