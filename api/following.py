"""How does a client follow a session live, without a gap and without a copy?

What is there is read page by page, then the client is told where the session stands, which gates
wait, and that it is up to date; then what comes, which is read and put into frames once for all who
follow. What is not stored is shown too, while one is there to see it.
"""

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from typing import Final

from sqlalchemy import Connection

from api.errors import UNREACHABLE, unreachable
from api.gate_shapes import gate_shape
from api.session_shapes import event_json
from domain.raw_json import dumped
from infrastructure.arrivals import Listener
from infrastructure.composition import Turnlog
from infrastructure.deltas import Delta, Inbox
from infrastructure.feeds import Feed, Page, Piece, Read, together
from infrastructure.lineages import Lineage
from infrastructure.mapper import StoredFact
from infrastructure.reading.approvals import GateQuery, gates
from infrastructure.reading.events import Stream, history
from infrastructure.reading.standing import Standing, fitting, newest_version, standing

PAGE: Final = 200
PAGE_BYTES: Final = 256 * 1024
"""A page has at most so many events, and so many bytes of what they say, or one event."""
GATES: Final = 200
HEARTBEAT_S: Final = 15.0
RETRY_MS: Final = 1_000
RETRY: Final = f"retry: {RETRY_MS}\n\n".encode()
STILL_HERE: Final = b": still here\n\n"


def nobody_deletes() -> bool:
    """Tell that the session is not about to be deleted here."""
    return False


async def follow(
    log: Turnlog,
    stream: Stream,
    lineage: Lineage,
    *,
    start: int,
    watermark: int,
    deleting: Callable[[], bool] = nobody_deletes,
) -> AsyncGenerator[bytes]:
    """Yield frames: each event after version `start` once; `synced` after those of now."""
    yield RETRY
    name = stream[:2]
    read = _reader(log, stream, lineage, deleting)
    with (
        log.feeds.join(("session", *name), name, read) as (feed, woken),
        log.deltas.listen(name, woken.nudge) as inbox,
    ):
        follower = _Follower(log, stream, feed, woken, inbox, start)
        try:
            async for told in follower.frames(watermark):
                yield told
        except UNREACHABLE as error:
            yield frame("error", unreachable(error).body())


class _Follower:
    """One who follows, and how far it is."""

    def __init__(
        self,
        log: Turnlog,
        stream: Stream,
        feed: Feed,
        woken: Listener,
        inbox: Inbox,
        seen: int,
    ) -> None:
        self._log: Final = log
        self._stream: Final = stream
        self._feed: Final = feed
        self._woken: Final = woken
        self._inbox: Final = inbox
        self._seen = seen
        self._sought = 0
        self._shown = b""

    async def frames(self, watermark: int) -> AsyncGenerator[bytes]:
        """Yield what there is, then that it was all, then what comes."""
        feed = self._feed
        # Whoever comes is counted in first, and then told where the session stands.
        await feed.looked()
        due, state = feed.place, feed.state
        synced = False
        quiet = 0.0
        while not self._log.stopping.is_set():
            feed.check()
            page = await after(feed, self._seen)
            told = b"" if page is None else b"".join(self._among(page))
            self._seen = max(self._seen, feed.place if page is None else page.through)
            if told:
                yield told
                quiet = 0.0
            if not synced and (page is None or self._seen >= due):
                synced = True
                self._shown = state
                project_id, _, key = self._stream
                yield state + await waiting(self._log, project_id, key)
                yield frame("synced", b'{"version":%d}' % watermark)
            if synced and feed.state != self._shown and self._seen >= feed.state_place:
                self._shown = feed.state
                yield self._shown
            if page is not None:
                continue
            if feed.last:
                yield feed.last
                return
            if deltas := await self._deltas():
                yield deltas
                quiet = 0.0
            elif deltas is not None:
                quiet += await self._woken.wait(max(HEARTBEAT_S - quiet, 0.0))
                if quiet >= HEARTBEAT_S:
                    quiet = 0.0
                    yield STILL_HERE
        yield goaway("shutting-down")

    def _among(self, page: Page) -> Iterator[bytes]:
        """Yield the frames of a page, and each delta after the event that it was sent after."""
        if self._inbox.is_empty():
            yield page.frames
            return
        for piece in page.pieces:
            yield from map(delta_frame, self._inbox.take(piece.place - 1))
            yield piece.frame

    async def _deltas(self) -> bytes | None:
        """Return the deltas that may be shown now; None if their event has been looked for first.

        Of a log that lost its newest fact no event comes before them.
        """
        newest = self._inbox.newest()
        if newest > max(self._seen, self._sought):
            await self._feed.looked()
            self._sought = newest
            return None
        return b"".join(map(delta_frame, self._inbox.take(max(self._seen, self._sought))))


async def waiting(log: Turnlog, project_id: str, session_key: int | None = None) -> bytes:
    """Return a frame for each gate that waits for an answer, as the inbox shows it."""
    query = GateQuery(project_id=project_id, session_key=session_key, ascending=True, limit=GATES)
    found = await log.read(lambda connection: gates(connection, query))
    return b"".join(frame("gate", dumped(gate_shape(each))) for each in found)


async def after(feed: Feed, seen: int) -> Page | None:
    """Return what is after a place: of what is kept for all, or else read for this one alone."""
    floor = feed.floor
    if seen >= floor:
        return feed.after(seen)
    page = await feed.read(seen)
    return page if page.more else page._replace(through=max(page.through, floor))


def _reader(log: Turnlog, stream: Stream, lineage: Lineage, deleting: Callable[[], bool]) -> Read:
    """Return what reads a page of a session and puts it into frames."""

    def look(connection: Connection, seen: int | None) -> Page:
        found = standing(connection, stream[2], log.now())
        if found is not None and deleting():
            found = found._replace(doing="deleting")
        state = b"" if found is None else state_frame(stream[1], found)
        last = goaway("session-deleted") if found is not None and found.gone else b""
        stored: Sequence[StoredFact] = ()
        most = 0
        if seen is None:
            seen = newest_version(connection, stream[2], lineage)
        elif found is None or found.version != seen:
            most = fitting(connection, stream, lineage, after=seen, most=PAGE, size=PAGE_BYTES)
            stored = history(connection, stream, lineage, after=seen, limit=most)
        pieces = [Piece(each.envelope.version, event_frame(each)) for each in stored]
        return Page(
            after=seen,
            through=pieces[-1].place if pieces else seen,
            pieces=pieces,
            frames=together(pieces),
            more=0 < most == len(pieces),
            state=state,
            last=last,
        )

    return lambda seen: log.read(lambda connection: look(connection, seen))


def state_frame(session_id: str, found: Standing) -> bytes:
    """Return a frame that says what a session does."""
    turn = {} if found.turn_id is None else {"turn_id": found.turn_id}
    shape = {"session_id": session_id, "status": found.doing, **turn, "queued": found.queued}
    return frame("state", dumped(shape))


def goaway(reason: str) -> bytes:
    """Return the last frame of a stream that did not fail."""
    return frame("goaway", dumped({"reason": reason}))


def delta_frame(delta: Delta) -> bytes:
    """Return a frame without an id: a client goes on from the last event."""
    if delta.lost:
        return _delta(delta, b',"lost":%d' % delta.lost)
    if not delta.shared:
        delta.shared.append(_delta(delta, b""))
    return delta.shared[0]


def _delta(delta: Delta, lost: bytes) -> bytes:
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
