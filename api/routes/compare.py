"""Compare: is the history that a client holds the one that the log has, and where not first?"""

from asyncio import to_thread
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field
from sqlalchemy import Connection

from api.body import SHORT, Body, RawBody, json_of, read_body
from api.dependencies import Log, Session
from api.problems import Flaw, ProblemError
from api.shapes import Shape, head_shape, readiness_headers, readiness_shape
from api.views import MEDIA
from api.writing import Key, Once, Written, once, replay_headers
from domain.raw_json import dumped
from domain.readiness import readiness
from infrastructure.agreement import count
from infrastructure.command_handler import Target
from infrastructure.composition import Turnlog
from infrastructure.reading.comparing import compared, completed_history
from infrastructure.reading.moment import Moment, moment
from infrastructure.runner import Attempt
from projections.comparing.comparison import Comparison
from projections.comparing.differences import Difference
from projections.comparing.fingerprints import fingerprint_of, reference_fingerprint_of
from projections.comparing.forms import form_of, read_history
from projections.comparing.told import Form, Told, Unreadable

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}", tags=["agreement"])


class CompareBody(Body):
    """A client's full history, oldest first; the newest message may be the next input."""

    messages: Annotated[
        list[Any],
        Field(
            description="As the client sends them; leading system and developer messages are "
            "configuration, and not compared."
        ),
    ]
    format: Annotated[
        Form | None,
        Field(description="The form of the messages; told by their shape if it is absent."),
    ] = None


@router.post(
    "/compare",
    openapi_extra=json_of(
        CompareBody,
        {
            "messages": [
                {"role": "user", "content": "What is 2 + 2?"},
                {"role": "assistant", "content": "It is 4."},
                {"role": "user", "content": "And 3 + 3?"},
            ]
        },
    ),
)
async def compare_history(
    request: Request,
    target: Session,
    log: Log,
    key: Key,
    v1: Annotated[bool, Query(description="The reference's fingerprint too.")] = False,  # noqa: FBT002
) -> Response:
    """Compare a client's full history with the session, and count what came of it.

    `agrees` is true if it is the same conversation: what the agent said may be shown otherwise, and
    a stretch of ours up to its end is a `window`. `difference` is the first one that diverges, else
    the first at all: `index` and `message_id` are ours, `pointer` leads into the request. Nothing
    that was said is repeated.
    """
    body = await read_body(request)
    fields = body.valid(CompareBody)
    told, form = _told(body, fields)

    def look(connection: Connection) -> tuple[Comparison, Moment, Sequence[Told]]:
        found = moment(connection, target)
        theirs = completed_history(connection, target.project_id, told)
        return compared(connection, found, theirs, form), found, theirs

    if len(body.raw) <= SHORT:
        comparison, found, theirs = await log.read(look, long=True)
        shape = _shape(comparison, theirs, v1=v1)
    else:
        comparison, found, theirs = await to_thread(log.read_now, look)
        shape = await to_thread(_shape, comparison, theirs, v1=v1)

    def write(attempt: Attempt) -> tuple[tuple[bytes, dict[str, str]], Written]:
        answer = _counted(log, attempt, target, found, comparison, shape)
        return answer, Written(status=200, result=answer[0])

    identity = Once(project_id=target.project_id, key=key, request=request, body=body.raw)
    (answer, headers), replayed = await once(
        log, identity, write, lambda _, kept: (kept.result, {})
    )
    return Response(answer, media_type=MEDIA, headers=headers | replay_headers(replayed=replayed))


def _told(body: RawBody, fields: CompareBody) -> tuple[list[Told], Form]:
    messages = body.value.get("messages") if isinstance(body.value, dict) else None
    assert isinstance(messages, list)  # noqa: S101 - the model says so
    form = fields.format or form_of(messages)
    try:
        return read_history(messages, form), form
    except Unreadable as error:
        detail = f"{error.detail}, as `{form}` has it"
        flaw = Flaw(detail, ("messages", *error.at))
        raise ProblemError("invalid-value", detail, flaws=[flaw]) from None


def _counted(
    log: Turnlog,
    attempt: Attempt,
    target: Target,
    found: Moment,
    comparison: Comparison,
    shape: Shape,
) -> tuple[bytes, dict[str, str]]:
    """Count the comparison; the session may be ready by that."""
    agreements = count(
        attempt.connection,
        project_id=target.project_id,
        key=found.key,
        version=found.head.version,
        now=log.now(),
        comparison=comparison,
    )
    policy = log.policy(found.known_after)
    judged = readiness(found.head, found.open_turn, policy, agreements)
    told = shape | {
        "consecutive_agreements": agreements,
        "through_version": found.through,
        "head": head_shape(found.head),
        "readiness": readiness_shape(judged, found.head),
    }
    return dumped(told), dict(readiness_headers(judged, found.head))


def _shape(comparison: Comparison, theirs: Sequence[Told], *, v1: bool) -> Shape:
    conversation = theirs[:-1] if comparison.next_input else theirs
    shape: Shape = {
        "agrees": comparison.agrees,
        "differences": dict(comparison.differences),
        "common_prefix": comparison.common_prefix,
        "next_input": comparison.next_input,
        "fingerprint": fingerprint_of(conversation),
    }
    if comparison.difference is not None:
        shape["difference"] = _difference(comparison.difference)
    if v1:
        shape["history_v1"] = reference_fingerprint_of(conversation)
    return shape


def _difference(difference: Difference) -> Shape:
    ours, theirs = difference.ours, difference.theirs
    return {
        "kind": difference.kind,
        "diverges": difference.diverges,
        "index": None if ours is None else ours.index,
        "message_id": None if ours is None else ours.message_id,
        "client_index": None if theirs is None else theirs.index,
        "client_message_id": None if theirs is None else theirs.message_id,
        "pointer": None if theirs is None else f"/messages{theirs.pointer}",
    }
