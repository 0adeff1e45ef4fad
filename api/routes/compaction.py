"""How does a summary take the place of the messages that it was made of?"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Request, Response
from pydantic import Field, StrictInt, StrictStr
from sqlalchemy import Connection

from api.body import Body, json_of, read_body
from api.compacting import given, summed_shape
from api.dependencies import ExpectedVersion, From, Log, Session
from api.errors import retry
from api.history_bodies import HeadBody
from api.moved_once import Asked, moved_once
from api.problems import Flaw, ProblemError
from api.recovering import recovered
from api.routes.hosted_turns import hosting_of
from api.runnable import begins_a_run
from api.shapes import Shape, readiness_headers
from api.turn_answers import standing_of
from api.views import MEDIA
from api.writing import Key, Once, replay_headers
from domain import commands as c
from domain.raw_json import dumped
from domain.refusals import CompactionInterrupted
from domain.restarts import SHUTDOWN
from infrastructure.command_handler import Target
from infrastructure.composition import Turnlog
from infrastructure.hosting import compacting, compaction
from infrastructure.hosting.compacting_plan import WorkspaceMissing
from infrastructure.reading.moment import moment

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}", tags=["history"])
MOST_KEPT: Final = 1_000
_OF_GIVEN: Final = ("through_message_id", "since_version")
_OF_MADE: Final = ("keep_turns", "instructions")
_SAID: Final[dict[int | str, dict[str, Any]]] = {
    202: {
        "description": "It is being made; the session's stream tells how it goes.",
        "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/CompactionTaken"}}},
    },
}


class CompactBody(Body):
    """A summary and the last message that it covers; or how one is to be made."""

    summary: Annotated[
        StrictStr | None,
        Field(
            pattern=r"\S",
            description="What the model sees instead. Without it a harness here makes one.",
        ),
    ] = None
    through_message_id: Annotated[
        StrictStr | None,
        Field(description="The last message that it covers; what follows is kept."),
    ] = None
    since_version: Annotated[
        StrictInt | None,
        Field(
            ge=1,
            description=(
                "The watermark: the version that the summary was made of. A summary that covers "
                "a message that came, or grew, later is refused."
            ),
        ),
    ] = None
    keep_turns: Annotated[
        StrictInt | None,
        Field(
            ge=0,
            le=MOST_KEPT,
            description="So many of the newest turns stay word for word; 1 if it is not said.",
        ),
    ] = None
    instructions: Annotated[
        StrictStr | None,
        Field(
            pattern=r"\S",
            max_length=10_000,
            description="What the summary that is to be made should mind besides.",
        ),
    ] = None
    head: HeadBody | None = None


@router.post(
    "/compact",
    responses=_SAID,
    openapi_extra=json_of(
        CompactBody, {"summary": "They fixed the build.", "through_message_id": "turn-1:4"}
    ),
)
@begins_a_run
async def compact(
    request: Request,
    target: Session,
    log: Log,
    caller: From,
    version: ExpectedVersion,
    key: Key,
    prefer: Annotated[str, Header(description="`respond-async` for an answer at once.")] = "",
) -> Response:
    """Have a summary stand for the messages up to one, between turns.

    The model sees the summary and what follows; the display goes on to show what it stands for, as
    `archived`, and `fingerprint` stays as it is. A call and its result are never split. A rewind to
    a place before the summary brings back what it stands for. Within a turn the runner itself
    records `history-compacted`.

    Without `summary` a new harness of this server makes one of all but the newest turns; nothing is
    changed until it has. Meanwhile no turn runs: it is 409 `compacting`. With `Prefer:
    respond-async` the answer is 202 at once.
    """
    body = await read_body(request)
    wanted = body.valid(CompactBody)
    claim = None if wanted.head is None else wanted.head.claim()
    if wanted.summary is not None:
        through = _given(wanted)
        command = c.Compact(
            summary=wanted.summary,
            through_message_id=through,
            since_version=wanted.since_version,
            claim=claim,
        )
        asked = Asked(request=request, body=body, key=key)
        answer, headers = await moved_once(
            log, target, asked, given(log, target, command, caller, version)
        )
        return Response(answer, media_type=MEDIA, headers=dict(headers))
    _check_made(wanted)
    await recovered(request, log)
    here = hosting_of(request).launching.compacting
    made = compaction.Request(
        target=target,
        caller=caller,
        keep_turns=1 if wanted.keep_turns is None else wanted.keep_turns,
        instructions=wanted.instructions,
        claim=claim,
        expected_version=version,
        once=Once(project_id=target.project_id, key=key, request=request, body=body.raw).named(),
        answer=lambda done, used: dumped(summed_shape(done, used)),
    )
    return await _made(log, here, made, at_once="respond-async" in prefer)


async def _made(
    log: Turnlog, here: compacting.Compacting, made: compaction.Request, *, at_once: bool
) -> Response:
    """Return what becomes of a summary that is made here, when it is there or at once."""
    target, replayed = made.target, False
    try:
        one = await here.begin(made)
    except compaction.Before as before:
        replayed = True
        if before.answer is not None:
            return await _again(log, target, before.answer)
        running = here.of(target)
        if running is None or running.wanted.compaction_id != before.compaction_id:
            return await _taken(log, target, before.compaction_id, replay_headers(replayed=True))
        one = running
    except compaction.ShuttingDown:
        raise retry("shutting-down", "the server is stopping") from None
    except compaction.TooMany:
        raise retry("pool-full", "as many histories are summed up as may be at once") from None
    except WorkspaceMissing:
        detail = "the session's workspace is gone"
        raise ProblemError("workspace-missing", detail) from None
    again = replay_headers(replayed=replayed)
    if at_once:
        headers = {"Preference-Applied": "respond-async", **again}
        return await _taken(log, target, one.wanted.compaction_id, headers)
    try:
        summed = await one.wait()
    except CompactionInterrupted as interrupted:
        if interrupted.reason == SHUTDOWN:
            raise retry("shutting-down", "the server is stopping") from None
        raise
    done = summed.compacted
    headers = {**readiness_headers(done.readiness, done.head), **again}
    return Response(summed.answer, media_type=MEDIA, headers=headers)


async def _again(log: Turnlog, target: Target, answer: bytes) -> Response:
    """Return the first answer, and where the session stands now."""

    def look(connection: Connection) -> dict[str, str]:
        return dict(standing_of(log, moment(connection, target))[1])

    headers = {**await log.read(look), **replay_headers(replayed=True)}
    return Response(answer, media_type=MEDIA, headers=headers)


async def _taken(
    log: Turnlog, target: Target, compaction_id: str | None, headers: Mapping[str, str]
) -> Response:
    """Return that the summary is being made, and where the session stands."""
    shape: Shape = {"compaction_id": compaction_id, "status": "compacting"}

    def look(connection: Connection) -> tuple[bytes, dict[str, str]]:
        standing, told = standing_of(log, moment(connection, target))
        return dumped(shape | standing), dict(told)

    said, told = await log.read(look)
    return Response(said, status_code=202, media_type=MEDIA, headers={**told, **headers})


def _given(wanted: CompactBody) -> str:
    """Return the last message that a summary that is given covers.

    Raises:
        ProblemError: it is not said, or something is that is of a summary that is to be made.
    """
    if wanted.through_message_id is None:
        raise _flaw("through_message_id", "a summary says up to which message it was made of")
    for name in _OF_MADE:
        if getattr(wanted, name) is not None:
            raise _flaw(name, "this is for a summary that is to be made")
    return wanted.through_message_id


def _check_made(wanted: CompactBody) -> None:
    """Raise a problem if something is said that is of a summary that is given."""
    for name in _OF_GIVEN:
        if getattr(wanted, name) is not None:
            raise _flaw("summary", f"it is missing: {name} is of a summary that is given")


def _flaw(name: str, detail: str) -> ProblemError:
    return ProblemError("invalid-value", detail, flaws=[Flaw(detail, (name,))])
