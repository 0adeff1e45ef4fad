"""Sessions: open, list, read, change, restore; how they go is told in `deleting`."""

from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from typing import Annotated, Final, Literal
from uuid import uuid4

from fastapi import APIRouter, Query, Request, Response

from api.body import json_of, read_body
from api.dependencies import (
    ExpectedVersion,
    From,
    KnownTags,
    Log,
    ProjectId,
    Session,
    is_known,
)
from api.paging import DEFAULT_LIMIT, Cursor, Limit, Order, cursor, place_of, whole
from api.problems import Flaw, ProblemError
from api.session_bodies import (
    OpenBody,
    PatchBody,
    change_commands,
    open_command,
    opened_alike,
)
from api.session_shapes import session_shape
from api.shapes import Shape, readiness_headers
from api.views import time_in_query
from api.writing import Key, Once, Written, once, replay_headers
from domain import commands as c
from domain.canonical import canonical
from domain.identifiers import ID, ID_RULE, is_id, is_line
from domain.json_text import raw_members
from domain.raw_json import RawJson, dumped, without_raw
from domain.readiness import readiness
from domain.refusals import SessionExists
from domain.state import GONE, Head
from domain.titles import stands
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.deleting import restore
from infrastructure.idempotency import Kept
from infrastructure.reading.sessions import (
    ANY_PARENT,
    SessionQuery,
    StatusFilter,
    session,
    sessions,
)
from infrastructure.runner import Attempt
from infrastructure.spawning import placed

router = APIRouter(prefix="/v1/projects/{project_id}/sessions", tags=["sessions"])
MEDIA: Final = "application/json"
_CREATED: Final = 201
NO_PARENT: Final = "-"  # no session is called so


@router.post(
    "",
    status_code=201,
    openapi_extra=json_of(OpenBody, {"session_id": "chat-1", "title": "A first session"}),
    responses={200: {"description": "The same session was opened before with the same body."}},
)
async def open_session(
    request: Request, project_id: ProjectId, log: Log, caller: From, key: Key
) -> Response:
    """Open a session. The same id and body again answer 200; another body answers 409."""
    body = await read_body(request)
    fields = body.valid(OpenBody)
    if fields.session_id is not None and not is_id(fields.session_id):
        raise ProblemError("invalid-value", ID_RULE, flaws=[Flaw(ID_RULE, ("session_id",))])
    target = Target(project_id=project_id, session_id=fields.session_id or uuid4().hex)
    command = open_command(fields, raw_members(body.raw))
    identity = Once(project_id=project_id, key=key, request=request, body=body.raw)
    return await made_once(
        log, identity, target, lambda attempt: _open(log, attempt, target, command, caller)
    )


@router.get("")
async def list_sessions(
    project_id: ProjectId,
    log: Log,
    limit: Limit = DEFAULT_LIMIT,
    page: Annotated[Cursor, Query(alias="cursor")] = None,
    order: Order = "desc",
    status: Annotated[StatusFilter, Query(description="Which sessions.")] = "open",
    parent: Annotated[
        str | None,
        Query(
            pattern=f"^({NO_PARENT}|{ID.pattern})$",
            description=f"Children of this session only; `{NO_PARENT}`: without a parent.",
        ),
    ] = None,
    include: Annotated[
        Literal["subagents"] | None,
        Query(description="Sessions of sub-agents too, whatever their parent."),
    ] = None,
    forked_from: Annotated[
        str | None,
        Query(pattern=f"^{ID.pattern}$", description="Forks of this session only."),
    ] = None,
    title: Annotated[
        str | None, Query(max_length=200, description="Part of the title; A to Z in any case.")
    ] = None,
    updated_since: Annotated[str | None, Query(description="RFC 3339.")] = None,
    pinned: Annotated[
        bool | None, Query(description="Only those that are pinned, or only those that are not.")
    ] = None,
) -> Response:
    """List sessions, newest activity first; those of sub-agents only if asked for."""
    anybodys = ANY_PARENT if include == "subagents" else None
    query = SessionQuery(
        project_id=project_id,
        status=status,
        pinned=pinned,
        parent={NO_PARENT: None, None: anybodys}.get(parent, parent),
        forked_from=forked_from,
        title=_line(title),
        updated_since=time_in_query(updated_since, "updated_since"),
        ascending=order == "asc",
    )
    parameters = {"route": "sessions", "query": astuple(query)}
    after = None if page is None else place_of(page, parameters, 2)
    asked = replace(
        query,
        after=None if after is None else (whole(after[0]), whole(after[1])),
        limit=limit + 1,
    )
    found, known_after = await log.read(
        lambda connection: (sessions(connection, asked), log.known_after(connection)),
        long=query.title is not None,
    )
    shown = found[:limit]
    policy = log.policy(known_after)
    items = [
        session_shape(
            view,
            readiness(view.head, view.open_turn, policy, view.agreed_in_a_row),
            whole=False,
        )
        for _, view in shown
    ]
    following = (
        cursor([shown[-1][1].head.updated_at, shown[-1][0]], parameters)
        if len(found) > limit
        else None
    )
    return Response(dumped({"items": items, "next_cursor": following}), media_type=MEDIA)


@router.get("/{session_id}")
async def read_session(target: Session, log: Log, known: KnownTags) -> Response:
    """Read a session: its title, status, head, configuration, and where its turn stands."""
    answer = await session_answer(log, target, status=200)
    if is_known(answer.headers["ETag"], known):
        return Response(status_code=304, headers={"ETag": answer.headers["ETag"]})
    return answer


@router.patch("/{session_id}", openapi_extra=json_of(PatchBody, {"title": "A better title"}))
async def change_session(
    request: Request, target: Session, log: Log, caller: From, version: ExpectedVersion
) -> Response:
    """Rename, configure, archive, unarchive, pin or unpin a session, or have it take turns again.

    All or nothing. What is left out stays; a configuration is replaced whole. What changes nothing
    is not recorded. `"title_by": "hook"` proposes a title: it never takes the place of one that a
    person, an import or a fork gave, and `title_applied` says whether it stands.
    """
    body = await read_body(request)
    steps = change_commands(body)
    head = await log.write(lambda attempt: _change(log, attempt, target, steps, version, caller))
    renamed = next((step for step in steps if isinstance(step, c.RenameSession)), None)
    told: Shape = {} if renamed is None else {"title_applied": stands(renamed, head)}
    return await session_answer(log, target, status=200, told=told)


@router.post("/{session_id}/restore")
async def restore_session(
    request: Request, target: Session, log: Log, caller: From, key: Key
) -> Response:
    """Bring a deleted session back, while it is not purged.

    Its gates stay withdrawn and its inputs recalled; its next turn is cold.
    """
    body = await read_body(request)

    def write(attempt: Attempt) -> tuple[None, Written]:
        restore(log.handler, attempt, target, caller)
        return None, Written(status=200)

    identity = Once(project_id=target.project_id, key=key, request=request, body=body.raw)
    _, replayed = await once(log, identity, write, lambda _, __: None)
    answer = await session_answer(log, target, status=200)
    answer.headers.update(replay_headers(replayed=replayed))
    return answer


def _open(
    log: Turnlog, attempt: Attempt, target: Target, command: c.OpenSession, caller: Caller
) -> bool:
    """Open the session; tell whether it is new."""
    known = log.handler.state(attempt, target)
    if known[0] is None:
        command = placed(
            attempt.connection,
            target.project_id,
            target.session_id,
            command,
            log.handler.spawning_tools,
        )
    try:
        return log.handler.carry_out(attempt, target, [command], caller=caller, known=known).created
    except SessionExists:
        opened = log.log.first(attempt.connection, target.project_id, target.session_id)
        _, now = log.handler.state(attempt, target)
        if now.head.status in GONE or not opened_alike(command, opened):
            raise
        return False


def _change(
    log: Turnlog,
    attempt: Attempt,
    target: Target,
    steps: Sequence[c.SessionCommand],
    version: int | None,
    caller: Caller,
) -> Head:
    changing = [step for step in steps if not _is_so(attempt, target, step)]
    begin = c.BeginBatch(expected_version=version, events=len(changing))
    return log.handler.carry_out(attempt, target, [begin, *changing], caller=caller).head


def _is_so(attempt: Attempt, target: Target, step: c.SessionCommand) -> bool:
    """Tell whether the session is configured so already; of the rest the rules know it."""
    if not isinstance(step, c.ConfigureSession):
        return False
    config = session(attempt.connection, target).config
    return canonical(without_raw(config)) == canonical(without_raw(step.config))


async def session_answer(
    log: Turnlog, target: Target, *, status: int, told: Shape | None = None
) -> Response:
    """Return a session as `GET` shows it, with what else is `told` of a change."""
    view, known_after = await log.read(
        lambda connection: (session(connection, target), log.known_after(connection))
    )
    judged = readiness(view.head, view.open_turn, log.policy(known_after), view.agreed_in_a_row)
    return Response(
        dumped(session_shape(view, judged) | (told or {})),
        status_code=status,
        media_type=MEDIA,
        headers=dict(readiness_headers(judged, view.head)),
    )


async def made_once(
    log: Turnlog, identity: Once, target: Target, make: Callable[[Attempt], bool]
) -> Response:
    """Return the session that `make` makes, which tells if it is new; or that made before."""

    def write(attempt: Attempt) -> tuple[tuple[Target, bool], Written]:
        created = make(attempt)
        result = dumped({"session_id": target.session_id})
        return (target, created), Written(status=_CREATED if created else 200, result=result)

    def again(_: Attempt, kept: Kept) -> tuple[Target, bool]:
        return _kept(target.project_id, kept), kept.status == _CREATED

    (made, created), replayed = await once(log, identity, write, again)
    answer = await session_answer(log, made, status=_CREATED if created else 200)
    answer.headers.update(replay_headers(replayed=replayed))
    answer.headers["Location"] = f"/v1/projects/{made.project_id}/sessions/{made.session_id}"
    return answer


def _kept(project_id: str, kept: Kept) -> Target:
    """Return the session that a request made when it came first."""
    found = without_raw(RawJson(kept.result))
    assert isinstance(found, dict)  # noqa: S101 - written by whoever made it
    return Target(project_id=project_id, session_id=str(found["session_id"]))


def _line(title: str | None) -> str | None:
    if title is not None and not is_line(title):
        raise _flaw("a title has no control characters but tab and newline", "title")
    return title


def _flaw(detail: str, name: str) -> ProblemError:
    return ProblemError("invalid-value", detail, flaws=[Flaw(detail, ("query", name))])
