"""What does every route take: the log, the project, the session, the caller, the preconditions?

All of it is told without waiting, by coroutines: for a plain function FastAPI would go to a thread.
"""

import re
from typing import Annotated, Final

from fastapi import Depends, Header, Path, Request
from pydantic import JsonValue

from api.errors import retry
from api.problems import Flaw, ProblemError
from domain.identifiers import ID, ID_RULE, is_id
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog

LOCAL: Final = "local"
_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_AN_ID: Final[dict[str, JsonValue]] = {"pattern": f"^{ID.pattern}$"}
_ETAG: Final = re.compile(r'"(0|[1-9][0-9]{0,9})"')


async def the_log(request: Request) -> Turnlog:
    """Return the log that the application serves.

    Raises:
        ProblemError: the server is stopping.
    """
    log: Turnlog | None = request.app.state.turnlog
    if log is None or log.stopping.is_set():
        raise retry("shutting-down", "the server is stopping")
    return log


def _id(value: str, name: str) -> str:
    if not is_id(value):
        raise ProblemError("invalid-value", ID_RULE, flaws=[Flaw(ID_RULE, ("path", name))])
    return value


async def the_project(
    project_id: Annotated[
        str, Path(description="The tenant; `default` when embedded.", json_schema_extra=_AN_ID)
    ],
) -> str:
    """Return the project of the path."""
    return _id(project_id, "project_id")


async def the_session(
    project_id: Annotated[str, Depends(the_project)],
    session_id: Annotated[
        str, Path(description="The session's id, compared bytewise.", json_schema_extra=_AN_ID)
    ],
) -> Target:
    """Return the session of the path."""
    return Target(project_id=project_id, session_id=_id(session_id, "session_id"))


async def the_producer(
    producer_id: Annotated[str, Path(description="The producer's id.", json_schema_extra=_AN_ID)],
) -> str:
    """Return the producer of the path."""
    return _id(producer_id, "producer_id")


async def the_caller(
    traceparent: Annotated[
        str | None, Header(description="W3C trace context; its trace id is recorded.")
    ] = None,
) -> Caller:
    """Return who asks. Without keys, everybody on this machine is the same."""
    match = _TRACEPARENT.fullmatch(traceparent or "")
    return Caller(actor=LOCAL, trace_id=match.group(1) if match else None)


async def expected_version(
    if_match: Annotated[
        str | None, Header(description='`"<version>"`: write only if it is at this version.')
    ] = None,
) -> int | None:
    """Return the version that what is written to must be at, if the caller says."""
    if if_match is None or if_match == "*":
        return None
    match = _ETAG.fullmatch(if_match)
    if match is None:
        detail = 'If-Match is one strong tag, "<version>", or *'
        raise ProblemError("invalid-header", detail)
    return int(match.group(1))


async def known_tags(
    if_none_match: Annotated[
        str | None, Header(description='`"<version>"`: answer 304 if it is at this version.')
    ] = None,
) -> frozenset[str]:
    """Return the tags that the caller holds an answer for."""
    return frozenset(tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(","))


def is_known(tag: str, known: frozenset[str]) -> bool:
    """Tell whether the caller holds the answer of this tag; `*` is any."""
    return tag in known or "*" in known


Log = Annotated[Turnlog, Depends(the_log)]
ProjectId = Annotated[str, Depends(the_project)]
Session = Annotated[Target, Depends(the_session)]
ProducerId = Annotated[str, Depends(the_producer)]
From = Annotated[Caller, Depends(the_caller)]
ExpectedVersion = Annotated[int | None, Depends(expected_version)]
KnownTags = Annotated[frozenset[str], Depends(known_tags)]
