"""What does a fork in the database itself answer, as the REST interface would?"""

from typing import Final
from uuid import uuid4

from api.cli.wanted import ForkWanted
from api.lineage_shapes import lineage_shape
from domain.raw_json import dumped
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.forking import ForkRequest, fork
from infrastructure.reading.lineages import ancestors, children
from infrastructure.reading.sessions import session_head

LOCAL: Final = Caller(actor="local")
CHILDREN: Final = 200


def stored_fork(log: Turnlog, target: Target, wanted: ForkWanted) -> str:
    """Fork a session; return the fork's id."""
    request = ForkRequest(
        session_id=wanted.session_id or uuid4().hex,
        at=wanted.at,
        at_turn=wanted.at_turn,
        title=wanted.title,
    )
    log.runner.run(lambda attempt: fork(log.handler, attempt, target, request, LOCAL))
    return request.session_id


def stored_lineage(log: Turnlog, target: Target) -> bytes:
    """Return a session's family."""
    _, head, __ = log.read_now(lambda connection: session_head(connection, target))
    older = log.read_now(lambda connection: ancestors(connection, target))
    found = log.read_now(lambda connection: children(connection, target, None, CHILDREN + 1))
    more = "more" if len(found) > CHILDREN else None
    return dumped(lineage_shape(older, found[:CHILDREN], more, head))
