"""Events: append as a producer, page the log, read one, follow it live."""

from asyncio import to_thread
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from sqlalchemy import Connection

from api.batches import AppendBody, batch_request
from api.body import SHORT, json_of, read_body
from api.dependencies import ExpectedVersion, From, Log, Session
from api.examples import TURN_BATCH
from api.following import follow
from api.going_back import rewound_with, with_target
from api.live_answer import LiveAnswer
from api.paging import DEFAULT_LIMIT, KEY, Cursor, Limit, Order, cursor, place_of, whole
from api.problems import Flaw, ProblemError
from api.session_shapes import event_json
from api.shapes import Shape, head_shape, readiness_headers, readiness_shape
from api.writing import Key, Once, Written, once, replay_headers
from domain.identifiers import is_id
from domain.raw_json import RawJson, dumped
from domain.readiness import Readiness, readiness
from domain.registry import KINDS
from domain.state import Head
from infrastructure.agreement import agreed_in_a_row
from infrastructure.appending import BatchAnswer, append_batch
from infrastructure.command_handler import Target
from infrastructure.hosting.hosts import Hosting
from infrastructure.idempotency import Kept
from infrastructure.lineages import Lineage, lineage
from infrastructure.mapper import StoredFact, recorded_of
from infrastructure.pool.seats import SeatKey
from infrastructure.reading.events import NEWEST_VERSION, facts, history
from infrastructure.reading.moment import moment
from infrastructure.reading.sessions import session_head
from infrastructure.runner import Attempt

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}", tags=["events"])
MEDIA: Final = "application/json"
NOTHING: Final[Shape] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    body: bytes
    head: Head
    readiness: Readiness
    replayed: bool
    rewound: Shape


@router.post("/events", status_code=201, openapi_extra=json_of(AppendBody, TURN_BATCH))
async def append_events(
    request: Request,
    target: Session,
    log: Log,
    caller: From,
    version: ExpectedVersion,
    key: Key,
) -> Response:
    """Append a batch as a producer: all of it, or a problem that says where it is wrong.

    The answer leaves after the commit. The same batch again gets the first answer's events. With
    `rewind` the last turns go out of sight in the same commit, before the events: to edit what was
    said and to have it answered anew is one request, and nothing goes if nothing could begin. With
    `lease_s` a turn that starts is leased: from then on only a batch with the `fence` of the answer
    writes to it, which renews the lease; when nobody renews it, the turn is interrupted.
    """
    body = await read_body(request)
    if len(body.raw) <= SHORT:
        batch = batch_request(body, version)
    else:  # to take files and long texts out takes its time, in which others are served
        batch = await to_thread(batch_request, body, version)

    def write(attempt: Attempt) -> tuple[_Answer, Written]:
        taken = append_batch(log.handler, attempt, target, batch, caller)
        rewound = rewound_with(taken.appended.facts) if batch.rewind else NOTHING
        answer = _answer(taken, rewound)
        written = Written(
            status=201,
            first_version=taken.appended.facts[0].version,
            last_version=taken.appended.facts[-1].version,
            result=b"{}" if key is None else dumped(_standing(taken)),
        )
        return answer, written

    def again(attempt: Attempt, kept: Kept) -> _Answer:
        key, head, turn = session_head(attempt.connection, target)
        policy = log.handler.policy(attempt)
        stored = _kept_facts(attempt.connection, target, key, kept)
        return _Answer(
            body=_replayed(stored, kept),
            rewound=rewound_with(map(recorded_of, stored)) if batch.rewind else NOTHING,
            head=head,
            readiness=readiness(
                head,
                turn,
                policy,
                agreed_in_a_row(attempt.connection, key) if policy.require_agreement else 0,
            ),
            replayed=True,
        )

    identity = Once(project_id=target.project_id, key=key, request=request, body=body.raw)
    answer, _ = await once(log, identity, write, again)
    headers = dict(readiness_headers(answer.readiness, answer.head))
    told = answer.body
    if answer.rewound:
        rewound = dumped(answer.rewound)
        rewound = await log.read(lambda connection: with_target(connection, target, rewound))
        told = b'%b,"rewind":%b}' % (told[:-1], rewound)
    return Response(
        told,
        status_code=201,
        media_type=MEDIA,
        headers=headers | replay_headers(replayed=answer.replayed),
    )


@router.get("/events")
async def page_events(
    target: Session,
    log: Log,
    after: Annotated[
        int | None,
        Query(ge=0, le=NEWEST_VERSION, description="Exclusive: events beyond this version."),
    ] = None,
    before: Annotated[
        int | None,
        Query(ge=1, le=NEWEST_VERSION, description="Exclusive: events before this version."),
    ] = None,
    limit: Limit = DEFAULT_LIMIT,
    page: Annotated[Cursor, Query(alias="cursor")] = None,
    order: Order = "asc",
    types: Annotated[
        str | None, Query(max_length=1_000, description="Only these types, separated by commas.")
    ] = None,
) -> Response:
    """Page through a session's events, each exactly as it was recorded.

    Of a fork, its own, unless `after` or `before` asks for what it shares.
    """
    wanted = wanted_types(types)
    parameters: Shape = {
        "route": "events",
        "target": [target.project_id, target.session_id],
        "order": order,
        "types": wanted,
    }
    given = _bounds(after, before, page, parameters, order)

    def look(connection: Connection) -> tuple[Head, Readiness, list[StoredFact], _Bounds]:
        found = moment(connection, target)
        bounds = given
        if page is None and after is None and before is None:
            bounds = _Bounds(found.head.base_version)
        if after is not None and after > found.head.version:
            raise _ahead(after, found.head)
        policy = log.policy(found.known_after)
        judged = readiness(found.head, found.open_turn, policy, found.agreements)
        stored = history(
            connection,
            (target.project_id, target.session_id, found.key),
            found.lineage,
            after=bounds.after,
            before=bounds.before,
            limit=limit + 1,
            types=wanted,
            descending=order == "desc",
        )
        return found.head, judged, stored, bounds

    head, judged, stored, bounds = await log.read(look, long=bool(wanted))
    shown = stored[:limit]
    following = (
        cursor([shown[-1].envelope.version, bounds.beyond(order)], parameters)
        if len(stored) > limit
        else None
    )
    items = b"[" + b",".join(map(event_json, shown)) + b"]"
    body = dumped(
        {
            "items": RawJson(items),
            "next_cursor": following,
            "head": head_shape(head),
            "through_version": head.version,
        }
    )
    return Response(body, media_type=MEDIA, headers=dict(readiness_headers(judged, head)))


@router.get("/events/stream", response_class=StreamingResponse)
async def stream_events(
    request: Request,
    target: Session,
    log: Log,
    after: Annotated[
        int | None,
        Query(
            ge=0,
            le=NEWEST_VERSION,
            description="Exclusive; default: everything, of a fork what is its own.",
        ),
    ] = None,
    last_event_id: Annotated[
        str | None,
        Header(
            description="The version that the client saw last; with `after`, the later one counts."
        ),
    ] = None,
) -> StreamingResponse:
    """Follow a session live: server-sent events, `id` = version, exactly once and in order.

    Frames: `event` (durable); `state` (what the session does: `status`, `turn_id`, `queued`) and a
    `gate` for each that waits for an answer, then `synced` once, when everything that was there at
    the start has been sent; `state` again whenever it is another; `delta` (not stored, without an
    id: `turn_id` and a chunk of what it does, as its runner sends it); `error` (a problem);
    `goaway` last, with its `reason`: `shutting-down`, `session-deleted`, or `slow-reader` for who
    does not read for half a minute, and goes on from its last event. A comment every 15 seconds.
    """
    # A browser that reconnects asks for the same address again, `after` and all, with a header
    # that has come further since.
    asked = max(_last_event_id(last_event_id), after or 0)

    def look(connection: Connection) -> tuple[int, int, int, Lineage]:
        key, head, _ = session_head(connection, target)
        if asked > head.version:
            raise _ahead(asked, head)
        unbounded = after is None and last_event_id is None
        start = head.base_version if unbounded else asked
        return start, key, head.version, lineage(connection, key, head)

    start, key, watermark, shared = await log.read(look)
    stream = (target.project_id, target.session_id, key)

    def deleting() -> bool:
        return _deletes(request.app.state.hosting, target)

    return LiveAnswer(
        follow(log, stream, shared, start=start, watermark=watermark, deleting=deleting)
    )


@router.get("/events/{version}")
async def read_event(
    target: Session,
    log: Log,
    version: Annotated[int, Path(ge=1, le=NEWEST_VERSION, description="The event's version.")],
) -> Response:
    """Read one event. Events never change, so the answer can be kept for ever."""

    def look(connection: Connection) -> list[StoredFact]:
        key, head, _ = session_head(connection, target)
        stream = (target.project_id, target.session_id, key)
        shared = lineage(connection, key, head)
        return history(connection, stream, shared, after=version - 1, limit=1)

    found = await log.read(look)
    if not found or found[0].envelope.version != version:
        raise ProblemError("no-such-event", f"the session has no version {version}")
    headers = {"ETag": f'"{found[0].hash.hex()}"', "Cache-Control": "private, immutable"}
    return Response(event_json(found[0]), media_type=MEDIA, headers=headers)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Between which versions a page lies, both exclusive."""

    after: int
    before: int | None = None

    def beyond(self, order: Order) -> int:
        """Return the bound that a page's cursor keeps besides where the page ended; 0 for none."""
        return self.before or 0 if order == "asc" else self.after


def _bounds(
    after: int | None,
    before: int | None,
    page: str | None,
    parameters: Mapping[str, object],
    order: Order,
) -> _Bounds:
    if page is None:
        return _Bounds(after or 0, before)
    if after is not None or before is not None:
        raise ProblemError("invalid-cursor", "a cursor goes without `after` and `before`")
    last, beyond = (whole(token, KEY) for token in place_of(page, parameters, 2))
    return _Bounds(last, beyond or None) if order == "asc" else _Bounds(beyond, last)


def _answer(taken: BatchAnswer, rewound: Shape) -> _Answer:
    appended = taken.appended
    events = [
        {"id": fact.envelope.event_id, "version": fact.version, "hash": fact.hash.hex()}
        | _minted(fact.event)
        for fact in appended.proposed
    ]
    return _Answer(
        body=dumped({"events": events} | _standing(taken)),
        rewound=rewound,
        head=appended.head,
        readiness=appended.readiness,
        replayed=taken.replayed,
    )


def _minted(event: object) -> Shape:
    gate_id = getattr(event, "gate_id", None)
    return {} if gate_id is None else {"gate_id": gate_id}


def _standing(taken: BatchAnswer) -> Shape:
    appended = taken.appended
    standing: Shape = {
        "head": head_shape(appended.head),
        "readiness": readiness_shape(appended.readiness, appended.head),
    }
    return standing if taken.fence is None else standing | {"fence": taken.fence}


def _kept_facts(
    connection: Connection, target: Target, key: int, kept: Kept
) -> Sequence[StoredFact]:
    first, last = kept.first_version or 1, kept.last_version or 0
    stream = (target.project_id, target.session_id, key)
    return facts(connection, stream, after=first - 1, limit=last - first + 1)


def _replayed(stored: Sequence[StoredFact], kept: Kept) -> bytes:
    """Rebuild the first answer: the events from the log, where the session stood as kept."""
    events: Sequence[Shape] = [
        {
            "id": fact.envelope.event_id,
            "version": fact.envelope.version,
            "hash": fact.hash.hex(),
        }
        | _gate_id(fact)
        for fact in stored
        if fact.envelope.producer is not None
    ]
    head = dumped({"events": events})
    return head[:-1] + b"," + kept.result[1:]


def _gate_id(fact: StoredFact) -> Shape:
    return _minted(recorded_of(fact).event)


def wanted_types(types: str | None) -> Sequence[str]:
    """Return the event types of a query.

    Raises:
        ProblemError: one cannot be the name of a type.
    """
    wanted = tuple(sorted({name.strip() for name in (types or "").split(",") if name.strip()}))
    if any(name not in KINDS and not is_id(name) for name in wanted):
        detail = "types are names of event types, separated by commas"
        raise ProblemError("invalid-value", detail, flaws=[Flaw(detail, ("query", "types"))])
    return wanted


def _deletes(hosting: Hosting | None, target: Target) -> bool:
    """Tell whether the session is about to be deleted here."""
    seat = SeatKey(target.project_id, target.session_id)
    return hosting is not None and hosting.launching.here.deletions.covers(seat)


def _last_event_id(header: str | None) -> int:
    if header is None or header == "":
        return 0
    if not (header.isascii() and header.isdigit() and len(header) < 10):  # noqa: PLR2004
        raise ProblemError("invalid-header", "Last-Event-ID is the version that came last")
    return int(header)


def _ahead(after: int, head: Head) -> ProblemError:
    detail = f"version {after} lies beyond the session's {head.version}"
    return ProblemError("cursor-ahead-of-log", detail, extra={"current_version": head.version})
