"""How does a runner or a gateway follow everything that happens in a project?

As one follows a session, but by position: never a fact before one that a late commit could still
precede, never a fact of another project. Who follows the same types shares what is read.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from api import following
from api.errors import UNREACHABLE, unreachable
from api.following import PAGE, PAGE_BYTES, RETRY, STILL_HERE, after, frame, goaway, waiting
from api.session_shapes import event_json
from domain.raw_json import dumped
from infrastructure.arrivals import Listener, whole
from infrastructure.composition import Turnlog
from infrastructure.feeds import Feed, Page, Piece, Read, together
from infrastructure.lanes.facts import lane_of
from infrastructure.mapper import StoredFact
from infrastructure.reading.whole_log import log_page, visible_through


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


async def follow_project(log: Turnlog, wanted: Wanted) -> AsyncGenerator[bytes]:
    """Yield frames: each event after the start once, `synced` when the watermark is reached."""
    yield RETRY
    name = whole(wanted.project_id)
    key = ("project", wanted.project_id, *wanted.types)
    with log.feeds.join(key, name, _reader(log, wanted)) as (feed, woken):
        try:
            async for told in _frames(log, wanted, feed, woken):
                yield told
        except UNREACHABLE as error:
            yield frame("error", unreachable(error).body())


async def _frames(
    log: Turnlog, wanted: Wanted, feed: Feed, woken: Listener
) -> AsyncGenerator[bytes]:
    await feed.looked()
    seen = wanted.start
    synced = False
    quiet = 0.0
    while not log.stopping.is_set():
        feed.check()
        page = await after(feed, seen)
        seen = max(seen, feed.place if page is None else page.through)
        if page is not None and page.frames:
            yield page.frames
            quiet = 0.0
        if not synced and seen >= wanted.watermark:
            synced = True
            if not wanted.types or "gate-opened" in wanted.types:
                yield await waiting(log, wanted.project_id)
            yield frame("synced", dumped({"position": str(wanted.watermark)}))
        if page is None:
            quiet += await woken.wait(max(following.HEARTBEAT_S - quiet, 0.0))
            if quiet >= following.HEARTBEAT_S:
                quiet = 0.0
                yield STILL_HERE
    yield goaway("shutting-down")


def project_frame(stored: StoredFact) -> bytes:
    """Return a durable frame: its id is the position that the client goes on from.

    A fact is a session's, or a lane's.
    """
    stream = stored.envelope.session_id
    lane = lane_of(stream)
    whose = dumped({"session_id": stream} if lane is None else {"lane_id": lane})
    return frame("event", whose[:-1] + b"," + event_json(stored)[1:], stored.position)


def _reader(log: Turnlog, wanted: Wanted) -> Read:
    """Return what reads a page of a project and puts it into frames."""

    def look(connection: Connection, seen: int | None) -> Page:
        if seen is None:
            newest = visible_through(connection)
            return Page(after=newest, through=newest)
        found, through = log_page(
            connection,
            after=seen,
            limit=PAGE,
            size=PAGE_BYTES,
            types=wanted.types,
            project_id=wanted.project_id,
            addressed=True,
        )
        pieces = [Piece(each.stored.position, project_frame(each.stored)) for each in found]
        return Page(
            after=seen,
            through=through,
            pieces=pieces,
            frames=together(pieces),
            more=bool(found) and through == found[-1].stored.position,
        )

    return lambda seen: log.read(lambda connection: look(connection, seen))
