"""What does the database say of questions that wait, and how is one answered there?

A decision is recorded by the rule of the REST interface, and given to nobody: whoever runs the turn
finds it in the log.
"""

from collections.abc import Sequence
from typing import Final
from uuid import uuid4

from sqlalchemy import Connection

from api.cli.failures import Failure
from api.cli.wanted import DecisionWanted
from api.gate_shapes import decision_shape, gate_shape
from domain.dispatch.kinds import Shape
from domain.dispatch.outcomes import Deliver, Refuse
from domain.raw_json import dumped
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.hosting.answers import answers_of_body, decisions
from infrastructure.hosting.asking import Ask
from infrastructure.hosting.became import Dispatched, Means, Request
from infrastructure.hosting.beginning import begin
from infrastructure.hosting.carrying import NewSeat
from infrastructure.reading.approvals import GateQuery, gate, gates
from infrastructure.reading.sessions import session_head

LOCAL: Final = Caller(actor="local")
_OWNER: Final = "command-line"
"""Keeps no harness, so that no turn goes on here."""


def stored_approvals(
    log: Turnlog, project_id: str, session_id: str | None, limit: int
) -> Sequence[bytes]:
    """Return what waits for an answer, the oldest first."""

    def look(connection: Connection) -> list[bytes]:
        key = None
        if session_id is not None:
            target = Target(project_id=project_id, session_id=session_id)
            key, _, _ = session_head(connection, target)
        query = GateQuery(project_id=project_id, session_key=key, ascending=True, limit=limit)
        return [dumped(gate_shape(found)) for found in gates(connection, query)]

    return log.read_now(look)


def stored_approval(log: Turnlog, project_id: str, gate_id: str) -> bytes:
    """Return one gate."""
    return log.read_now(
        lambda connection: dumped(gate_shape(gate(connection, project_id, gate_id)))
    )


def stored_decision(log: Turnlog, project_id: str, gate_id: str, wanted: DecisionWanted) -> bytes:
    """Record what is decided; return that, and who goes on with the turn."""
    found = log.read_now(lambda connection: gate(connection, project_id, gate_id))
    target = Target(project_id=project_id, session_id=found.session_id)
    given = {"gate": gate_id, **wanted.members()}
    answers = log.read_now(
        lambda connection: decisions(connection, target, answers_of_body([given]))
    )
    ask = Ask(
        shape=Shape(kind="answer"),
        turn_id=uuid4().hex,
        owner=_OWNER,
        hosted=True,
        answers=answers,
    )
    means = Means(new=NewSeat(seat_id=uuid4().hex), only_warm=True)
    done = log.runner.run(
        lambda attempt: begin(
            Request(
                handler=log.handler,
                attempt=attempt,
                target=target,
                ask=ask,
                means=means,
                caller=LOCAL,
            )
        )
    )
    if isinstance(done.decision, Refuse):
        raise Failure(done.decision.code, done.decision.detail)
    shown = log.read_now(lambda connection: decision_shape(gate(connection, project_id, gate_id)))
    going = {"status": _status(done), "turn_id": done.turn_id}
    return dumped({"decision": shown, "continuation": going})


def _status(done: Dispatched) -> str:
    """Return how the turn goes on; what would be started here waits for a server."""
    if done.deferred or not isinstance(done.decision, Deliver):
        return "pending"
    return done.decision.continuation
