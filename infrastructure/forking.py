"""How does a session begin with the history of another?

By one fact of its own: what it shares is neither copied nor changed, however long it is. It is read
where it stands, up to the version at which the fork left it.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from sqlalchemy import Connection

from domain.commands import ForkSession
from domain.events import ForkPoint, SessionForked
from domain.events.session import TitleBy
from domain.fields import check_id, check_title
from domain.forking import AT_FORK, beginning, fork_version
from domain.refusals import InvalidValue, NoSuchSession, Refusal, SessionExists, VersionMoved
from domain.state import GONE, Head, State
from infrastructure.command_handler import Caller, CommandHandler, Target
from infrastructure.fork_records import records_of
from infrastructure.lineages import NOBODY, Lineage, forked_from, lineage_of
from infrastructure.lookup import find_head, look_up
from infrastructure.reading.facts import fact_at
from infrastructure.reading.past import past_state
from infrastructure.runner import Attempt
from infrastructure.stored_stream import Stream, stream_of
from infrastructure.title_numbers import next_title


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkRequest:
    """What is asked for.

    Attributes:
        session_id: The fork's id.
        at, at_turn: The last version, or turn, that it shares; the newest version if neither is
            given.
        title: The fork's title; one with a number if none is given.
        expected_version: The version that the session has to be at.
    """

    session_id: str
    at: int | None = None
    at_turn: str | None = None
    title: str | None = None
    expected_version: int | None = None


class _Found(NamedTuple):
    """Where a fork begins, and whether it is there."""

    state: State
    stream: Stream
    lineage: Lineage
    is_there: bool


def fork(
    handler: CommandHandler,
    attempt: Attempt,
    target: Target,
    request: ForkRequest,
    caller: Caller,
) -> bool:
    """Fork a session; tell whether the fork is new. The same again leaves it as it is.

    Raises:
        NoSuchSession: there is nothing to fork, or it is deleted.
        VersionMoved: it is not where the caller believes it to be.
        SessionExists: the id is taken by something else.
        Refusal: as `domain.forking.fork_version` and `domain.decide_history.decide_fork` say.
        Contended: another writer came first.
    """
    check_id(request.session_id, "session_id")
    check_title(request.title, "title")
    key, state = handler.state(attempt, target)
    try:
        found = _find(attempt.connection, target, key, state.head, request)
    except Refusal:
        handler.check_current(attempt, target, state.head)
        raise
    handler.check_current(attempt, target, state.head)
    if found.is_there:
        return False
    lineage = forked_from(found.stream.key, found.stream.last, found.state.head, found.lineage)
    title, title_by = _title(attempt.connection, target, state.head, request)
    command = ForkSession(
        parent=ForkPoint(
            session_id=found.stream.session_id,
            version=found.stream.last,
            hash=found.state.head.hash.hex(),
        ),
        depth=len(lineage),
        title=title,
        title_by=title_by,
    )
    handler.carry_out(
        attempt,
        Target(project_id=target.project_id, session_id=request.session_id),
        [command],
        caller=caller,
        known=(None, beginning(found.state)),
        lineage=lineage,
    )
    return True


def _find(
    connection: Connection, target: Target, key: int | None, head: Head, request: ForkRequest
) -> _Found:
    if key is None or head.status in GONE:
        raise NoSuchSession
    if request.expected_version not in {None, head.version}:
        raise VersionMoved(request.expected_version or 0, head.version)
    version = fork_version(records_of(connection, key, head), head, request.at, request.at_turn)
    shared = lineage_of(connection, key) if head.base_version else NOBODY
    owners = [ancestor for ancestor in shared if version <= ancestor.version]
    stream = replace(stream_of(connection, owners[-1].key if owners else key), last=version)
    if _is_there(connection, target.project_id, stream, request):
        return _Found(State(), stream, NOBODY, is_there=True)
    if version == head.version:
        state = look_up(connection, key, State(head=head), AT_FORK)
    else:
        state = past_state(connection, stream, head, shared[len(owners) :])
    if state.head.version != version:
        raise InvalidValue("the log has lost this version", "at")
    return _Found(state, stream, shared[len(owners) :], is_there=False)


def _is_there(
    connection: Connection, project_id: str, stream: Stream, request: ForkRequest
) -> bool:
    """Tell whether the fork is there already.

    Raises:
        SessionExists: another session has its id.
    """
    key, state = find_head(connection, project_id, request.session_id)
    if key is None:
        return False
    head = state.head
    fact = fact_at(connection, key, head.base_version + 1)
    if head.status in GONE or not isinstance(fact, SessionForked):
        raise SessionExists
    anywhere = request.at is None and request.at_turn is None
    same_place = anywhere or fact.parent.version == stream.last
    given = fact.title if fact.title_by == "person" else None
    if (fact.parent.session_id, given) != (stream.session_id, request.title) or not same_place:
        raise SessionExists
    return True


def _title(
    connection: Connection, target: Target, head: Head, request: ForkRequest
) -> tuple[str | None, TitleBy | None]:
    if request.title is not None:
        return request.title, "person"
    if head.title is None:
        return None, None
    return next_title(connection, target.project_id, head.title), "fork"
