"""Answering: a person or a program decides what waits, from anywhere, at any time."""

from typing import Annotated, Any, Final
from uuid import uuid4

from fastapi import APIRouter, Path, Request, Response
from pydantic import Field, StrictStr
from sqlalchemy import Connection

from api.body import Body, RawBody, json_of, read_body
from api.dependencies import From, Log, ProjectId, Session
from api.gate_shapes import decision_shape
from api.recovering import recovered
from api.refused import refused
from api.routes.hosted_turns import MEDIA, continuation, hosting_of
from api.shapes import Shape
from api.writing import replay_headers
from domain.dispatch.kinds import Shape as Carries
from domain.dispatch.outcomes import Refuse
from domain.events.gate import Verdict
from domain.raw_json import dumped
from domain.refusals import Refusal
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.hosting.answers import answers_of_body, decisions
from infrastructure.hosting.asking import Ask
from infrastructure.hosting.hosts import Hosting
from infrastructure.hosting.took import Took
from infrastructure.reading.approvals import gate, named_gate
from infrastructure.reading.sessions import session_head

router = APIRouter(prefix="/v1/projects/{project_id}", tags=["approvals"])
_EXAMPLE: Final = {"verdict": "approved"}

GateName = Annotated[str, Path(description="The gate's id; below a session an alias too.")]


class DecisionBody(Body):
    """What is decided: a permission is approved or denied, a question answered or denied."""

    verdict: Verdict
    option_id: Annotated[
        StrictStr | None, Field(description="One of the gate's own options, if one is meant.")
    ] = None
    arguments: Annotated[
        Any, Field(description="The call's arguments as edited; an object, or text.")
    ] = None
    answer: Annotated[Any, Field(description="What a question is answered; any JSON.")] = None
    message: Annotated[
        StrictStr | None, Field(description="Words for the model, as why something is denied.")
    ] = None
    on_behalf_of: Annotated[
        StrictStr | None, Field(description="Whose decision it is, if a program tells of it.")
    ] = None


@router.post("/approvals/{gate_id}", status_code=202, openapi_extra=json_of(DecisionBody, _EXAMPLE))
async def decide(
    request: Request, project_id: ProjectId, log: Log, caller: From, gate_id: GateName
) -> Response:
    """Answer a gate of any session of the project, by its `gate_id`.

    The decision is durable when the answer leaves, whatever runs or does not: `continuation` says
    whether the turn goes on with it (`started`), waits for other gates (`pending`), is another
    program's to go on with (`external`), or cannot go on now (`blocked`; it is tried again). The
    same decision again gets the same answer, another one 409 with the first. Nothing that answers
    nothing disturbs the session.
    """
    body = await read_body(request)
    body.valid(DecisionBody)
    await recovered(request, log)
    found = await log.read(lambda connection: gate(connection, project_id, gate_id))
    target = Target(project_id=project_id, session_id=found.session_id)
    return await _decided(log, hosting_of(request), target, gate_id, body, caller)


@router.post(
    "/sessions/{session_id}/approvals/{gate_id}",
    status_code=202,
    openapi_extra=json_of(DecisionBody, _EXAMPLE),
)
async def decide_in_session(
    request: Request, target: Session, log: Log, caller: From, gate_id: GateName
) -> Response:
    """Answer a gate of this session, by its `gate_id`, its `permission_id` or its `tool_call_id`.

    An alias that more than one open gate has is 409 `ambiguous-gate`. Else as for the project.
    """
    body = await read_body(request)
    body.valid(DecisionBody)
    await recovered(request, log)
    return await _decided(log, hosting_of(request), target, gate_id, body, caller)


async def _decided(
    log: Turnlog, hosting: Hosting, target: Target, name: str, body: RawBody, caller: Caller
) -> Response:
    try:
        took = await _taken(log, hosting, target, name, body, caller)
    except Refusal as refusal:
        if refusal.at[:2] == ("answers", 0):
            refusal.at = refusal.at[2:]  # the body is the one answer
        raise
    done, decision = took.dispatched, took.decision
    if done is not None and isinstance(decision, Refuse):
        raise await log.read(lambda connection: refused(connection, target, done, decision))
    shape: Shape = {
        "decision": await log.read(lambda connection: _decision(connection, target, name)),
        "continuation": continuation(took),
    }
    headers = replay_headers(replayed=took.replayed)
    return Response(dumped(shape), status_code=202, media_type=MEDIA, headers=headers)


async def _taken(
    log: Turnlog, hosting: Hosting, target: Target, name: str, body: RawBody, caller: Caller
) -> Took:
    said = body.value if isinstance(body.value, dict) else {}
    given = answers_of_body([{"gate": name, **said}])
    answers = await log.read(lambda connection: decisions(connection, target, given))
    ask = Ask(
        shape=Carries(kind="answer"),
        turn_id=uuid4().hex,
        owner=hosting.owner,
        hosted=True,
        answers=answers,
    )
    return await hosting.take(target, ask, caller)


def _decision(connection: Connection, target: Target, name: str) -> Shape:
    key, _, _ = session_head(connection, target)
    return decision_shape(named_gate(connection, target.project_id, key, name))
