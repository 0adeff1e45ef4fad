"""Sessions that were forked from each other, and what the log says of each."""

from collections.abc import Sequence
from dataclasses import replace

from domain import commands as c
from domain import events as e
from domain.decided import fact
from domain.keys import keys_of
from domain.recorded import Recorded
from domain.state import State
from infrastructure.ancestry import folded_to
from infrastructure.command_handler import Target
from infrastructure.forking import ForkRequest, fork
from infrastructure.serialization import encode
from infrastructure.stored_stream import find_stream
from tests.domain.test_laws import Step
from tests.infrastructure.writing import NOBODY, SECOND, Store, target


def forked(  # noqa: PLR0913 - what a fork can be asked for
    store: Store,
    session_id: str,
    child: str,
    *,
    at: int | None = None,
    at_turn: str | None = None,
    title: str | None = None,
    project_id: str = "default",
) -> bool:
    """Fork a session; tell whether the fork is new."""
    store.clock.at += SECOND
    request = ForkRequest(session_id=child, at=at, at_turn=at_turn, title=title)
    where = target(session_id, project_id)
    return store.runner.run(lambda attempt: fork(store.handler, attempt, where, request, NOBODY))


def asked(store: Store, session_id: str, *commands: c.SessionCommand) -> Sequence[Recorded]:
    """Have commands carried out."""
    return carried_out(store, target(session_id), Step(commands=commands, producer=None))


def carried_out(store: Store, where: Target, step: Step) -> Sequence[Recorded]:
    """Carry a step out; only batches come from a producer, as in the program."""
    is_batch = isinstance(step.commands[0], c.BeginBatch)
    commands = [_stored(command) for command in step.commands]
    store.clock.at += SECOND
    return store.runner.run(
        lambda attempt: store.handler.carry_out(
            attempt,
            where,
            commands,
            keys_of(commands),
            caller=NOBODY,
            producer=step.producer if is_batch else None,
            batch=len(commands) - 1 if is_batch else None,
        )
    ).facts


def _stored(command: c.SessionCommand) -> c.SessionCommand:
    """Return the command with the JSON that its event would have come in."""
    if not isinstance(command, c.Record):
        return command
    proposal = command.proposal
    return replace(command, proposal=replace(proposal, body=encode(fact(proposal.event))))


def whole(
    store: Store, session_id: str, project_id: str = "default", at: int | None = None
) -> State:
    """Return a session as all its facts make it, shared and own; as it is, or was at a version."""
    with store.database.read() as connection:
        stream = find_stream(connection, project_id, session_id)
        return folded_to(connection, stream if at is None else replace(stream, last=at))


def own_gates(step: Step, session_id: str) -> Step:
    """Return a step whose gates get ids that no other session of the project gives."""
    return replace(
        step, commands=tuple(_own_gate(command, session_id) for command in step.commands)
    )


def _own_gate(command: c.SessionCommand, session_id: str) -> c.SessionCommand:
    if not isinstance(command, c.Record) or not isinstance(command.proposal.event, e.GateOpened):
        return command
    event = command.proposal.event
    named = replace(event, gate_id=f"{event.gate_id}-{session_id}")
    return replace(command, proposal=replace(command.proposal, event=named))
