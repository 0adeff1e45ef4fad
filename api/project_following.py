"""How does a runner or a gateway follow everything that happens in a project?

As one follows a session, but by position: never a fact before one that a late commit could still
precede, never a fact of another project. Woken at once by this process's own commits.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from api.errors import UNREACHABLE, unreachable
from api.following import HEARTBEAT_S, LOOK_S, PAGE, RETRY_MS, frame
from api.session_shapes import event_json
from domain.raw_json import dumped
from infrastructure.arrivals import whole
from infrastructure.composition import Turnlog
from infrastructure.mapper import StoredFact
from infrastructure.reading.whole_log import Found, log_page


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a client follows: after which position, and of which types if it names any.

    Attributes:
        watermark: Once this is reached, the client has all that was there when it came.
    """

    project_id: str
    types: Sequence[str]
    start: int
    watermark: int


async def follow_project(
    log: Turnlog, wanted: Wanted, gone: Callable[[], Awaitable[bool]]
) -> AsyncIterator[bytes]:
    """Yield frames: each event after the start once, `synced` when the watermark is reached."""
    yield f"retry: {RETRY_MS}\n\n".encode()
    seen = wanted.start
    synced = False
    quiet = 0.0
    with log.arrivals.listen(whole(wanted.project_id)) as arrivals:
        while not log.stopping.is_set():
            try:
                page, seen = await log.read(_after(wanted, seen))
            except UNREACHABLE as error:
                yield frame("error", unreachable(error).body())
                return
            if page:
                yield b"".join(project_frame(found.stored) for found in page)
                quiet = 0.0
            if not synced and seen >= wanted.watermark:
                synced = True
                yield frame("synced", dumped({"position": str(wanted.watermark)}))
            if len(page) == PAGE:
                continue
            if await gone():
                return
            quiet += await arrivals.wait(LOOK_S)
            if quiet >= HEARTBEAT_S:
                quiet = 0.0
                yield b": still here\n\n"
    yield frame("goaway", b'{"reason":"shutting-down"}')


def project_frame(stored: StoredFact) -> bytes:
    """Return a durable frame: its id is the position that the client goes on from."""
    session = dumped({"session_id": stored.envelope.session_id})
    return frame("event", session[:-1] + b"," + event_json(stored)[1:], stored.position)


def _after(wanted: Wanted, seen: int) -> Callable[[Connection], tuple[list[Found], int]]:
    return lambda connection: log_page(
        connection, after=seen, limit=PAGE, types=wanted.types, project_id=wanted.project_id
    )
