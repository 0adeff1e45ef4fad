"""How does a client follow a session live, without a gap and without a copy?

What is there is read page by page, then the client is told that it is up to date, then what comes:
woken at once by this process's own commits, and by looking now and then for those of others. What
is not stored is shown too, while one is there to see it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Final

from sqlalchemy import Connection

from api.errors import UNREACHABLE, unreachable
from api.session_shapes import event_json
from domain.raw_json import dumped
from infrastructure.composition import Turnlog
from infrastructure.deltas import Delta, Inbox
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
    name = stream[:2]
    with (
        log.arrivals.listen(name) as arrivals,
        log.deltas.listen(name, arrivals.nudge) as inbox,
    ):
        while not log.stopping.is_set():
            due = inbox.newest()
            try:
                page = await log.read(_after(stream, lineage, seen))
            except UNREACHABLE as error:
                yield frame("error", unreachable(error).body())
                return
            if page:
                yield b"".join(_among(inbox, page))
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
            waited = 0.0
            shown = max(seen, due)  # of a log that lost its newest fact no event comes before it
            while waited < LOOK_S and not arrivals.has_grown() and inbox.newest() <= shown:
                if deltas := inbox.take(shown):
                    yield b"".join(map(delta_frame, deltas))
                    quiet = 0.0
                waited += await arrivals.wait(LOOK_S - waited)
            quiet += waited
            if quiet >= HEARTBEAT_S:
                quiet = 0.0
                yield b": still here\n\n"
    yield frame("goaway", b'{"reason":"shutting-down"}')


def _among(inbox: Inbox, page: Sequence[StoredFact]) -> Iterator[bytes]:
    """Yield the frames of a page, and each delta after the event that it was sent after."""
    for stored in page:
        yield from map(delta_frame, inbox.take(stored.envelope.version - 1))
        yield event_frame(stored)


def delta_frame(delta: Delta) -> bytes:
    """Return a frame without an id: a client goes on from the last event."""
    lost = b"" if not delta.lost else b',"lost":%d' % delta.lost
    turn_id = dumped(delta.turn_id)
    return frame("delta", b'{"turn_id":%b,"delta":%b%b}' % (turn_id, delta.data, lost))


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
