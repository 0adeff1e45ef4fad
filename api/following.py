"""How does a client follow a session live, without a gap and without a copy?

What is there is read page by page, then the client is told that it is up to date, then what comes:
woken at once by this process's own commits, and by looking now and then for those of others.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from sqlalchemy import Connection

from api.errors import UNREACHABLE, unreachable
from api.session_shapes import event_json
from infrastructure.composition import Turnlog
from infrastructure.lineages import Lineage
from infrastructure.mapper import StoredFact
from infrastructure.reading.events import history

PAGE: Final = 200
LOOK_S: Final = 0.25
HEARTBEAT_S: Final = 15.0
RETRY_MS: Final = 1_000


async def follow(
    log: Turnlog,
    stream: tuple[str, str, int],
    lineage: Lineage,
    *,
    start: int,
    watermark: int,
    gone: Callable[[], Awaitable[bool]],
) -> AsyncIterator[bytes]:
    """Yield frames: each event after version `start` once, `synced` when `watermark` is reached."""
    yield f"retry: {RETRY_MS}\n\n".encode()
    seen = start
    synced = False
    quiet = 0.0
    with log.arrivals.listen(stream[:2]) as arrivals:
        while not log.stopping.is_set():
            try:
                page = await log.read(_after(stream, lineage, seen))
            except UNREACHABLE as error:
                yield frame("error", unreachable(error).body())
                return
            if page:
                yield b"".join(map(event_frame, page))
                seen = page[-1].envelope.version
                quiet = 0.0
            # A log that lost its newest fact never comes to the watermark, only to its end.
            if not synced and (seen >= watermark or len(page) < PAGE):
                synced = True
                yield frame("synced", f'{{"version":{watermark}}}'.encode())
            if len(page) == PAGE:
                continue
            if await gone():
                return
            waited = await arrivals.wait(LOOK_S)
            quiet += waited
            if quiet >= HEARTBEAT_S:
                quiet = 0.0
                yield b": still here\n\n"
    yield frame("goaway", b'{"reason":"shutting-down"}')


def event_frame(stored: StoredFact) -> bytes:
    """Return a durable frame: its id is the version that the client goes on from."""
    return frame("event", event_json(stored), stored.envelope.version)


def frame(name: str, data: bytes, id_: int | None = None) -> bytes:
    """Return one server-sent event; `id_` is where a client goes on from."""
    # Our JSON holds no raw line feed; a carriage return in it would end a line all the same.
    place = b"" if id_ is None else f"id: {id_}\n".encode()
    lines = data.replace(b"\r", b"\n").split(b"\n")
    return (
        place
        + f"event: {name}\n".encode()
        + b"".join(b"data: " + line + b"\n" for line in lines)
        + b"\n"
    )


def _after(
    stream: tuple[str, str, int], lineage: Lineage, seen: int
) -> Callable[[Connection], list[StoredFact]]:
    return lambda connection: history(connection, stream, lineage, after=seen, limit=PAGE)
