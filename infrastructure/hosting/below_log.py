"""How does what a hosted agent's sub-agents do get into their sessions?

Each has a session of its own below that of the agent. They hold no lease: their turns are part of
the agent's turn, and end with it at the latest.
"""

from collections.abc import Sequence
from typing import Final

from domain import commands as c
from domain import events as e
from domain.decided import fact
from domain.events.session import Parent
from domain.keys import keys_of
from domain.messages import Message
from domain.refusals import NoSuchSession, Refusal, SessionExists, SessionIsArchived
from domain.registry import NAMES
from domain.state import GONE
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.hosting.below_port import Beginning, Begun, NotTaken
from infrastructure.hosting.journal import UNREACHABLE
from infrastructure.proposing import proposal_of
from infrastructure.runner import Attempt
from infrastructure.serialization import encode
from infrastructure.spawning import placed
from infrastructure.subagents import children_of


class SessionsBelow:
    """The log, as a hosted turn writes to the sessions below its own."""

    def __init__(self, log: Turnlog, target: Target, caller: Caller) -> None:
        """Take the agent's session; the caller is whoever asked for its turn."""
        self._log: Final = log
        self._target: Final = target
        self._caller: Final = caller

    async def begin(self, beginning: Beginning) -> Begun:
        """See `below_port.BelowLog.begin`."""

        def write(attempt: Attempt) -> Begun:
            handler, target = self._log.handler, self._of(beginning.session_id)
            key, state = handler.state(attempt, target)
            steps: list[c.SessionCommand] = []
            call_id = state.head.parent_call_id
            if key is None:
                opening = placed(
                    attempt.connection,
                    target.project_id,
                    target.session_id,
                    _opening(beginning),
                    handler.spawning_tools,
                )
                assert opening.parent is not None  # noqa: S101 - it is a sub-agent's
                call_id = opening.parent.tool_call_id
                steps.append(opening)
            elif state.head.status in GONE:
                raise NoSuchSession
            elif state.head.parent_session_id != beginning.parent_id:
                raise SessionExists
            elif state.head.status == "archived":
                raise SessionIsArchived
            elif state.head.turn_id is not None:
                return Begun(turn_id=state.head.turn_id, call_id=call_id)
            steps.append(_start(beginning, beginning.call_id or call_id))
            wanted = keys_of(steps)
            known = (key, state) if key is None else handler.state(attempt, target, wanted)
            handler.carry_out(attempt, target, steps, caller=self._caller, known=known)
            return Begun(turn_id=beginning.turn_id, call_id=beginning.call_id or call_id)

        try:
            return await self._log.write(write)
        except (Refusal, *UNREACHABLE) as error:
            raise _not_taken(error) from error

    async def record(self, session_id: str, events: Sequence[e.SessionEvent]) -> None:
        """See `below_port.BelowLog.record`."""
        steps = [_step(event) for event in events]
        wanted, target = keys_of(steps), self._of(session_id)

        def write(attempt: Attempt) -> None:
            self._log.handler.carry_out(attempt, target, steps, wanted, caller=self._caller)

        try:
            await self._log.write(write)
        except (Refusal, *UNREACHABLE) as error:
            raise _not_taken(error) from error

    async def stop_rest(self, reason: str, by: str | None) -> None:
        """See `below_port.BelowLog.stop_rest`."""

        def write(attempt: Attempt) -> None:
            project_id, session_id = self._target.project_id, self._target.session_id
            for child in children_of(attempt.connection, project_id, session_id):
                if child.turn_id is not None:
                    stop = c.InterruptTurn(turn_id=child.turn_id, reason=reason, by=by)
                    self._log.handler.carry_out(
                        attempt,
                        self._of(child.session_id),
                        [stop],
                        keys_of([stop]),
                        caller=self._caller,
                    )

        try:
            await self._log.write(write)
        except (Refusal, *UNREACHABLE) as error:
            raise _not_taken(error) from error

    def _of(self, session_id: str) -> Target:
        return Target(project_id=self._target.project_id, session_id=session_id)


def _opening(beginning: Beginning) -> c.OpenSession:
    return c.OpenSession(
        parent=Parent(
            session_id=beginning.parent_id,
            agent_id=beginning.agent_id,
            tool_call_id=beginning.call_id,
        )
    )


def _start(beginning: Beginning, call_id: str | None) -> c.Record:
    """Return the beginning of a turn: with what its call says, else with nothing that was said."""
    prompt = None if call_id is None else beginning.prompts.get(call_id)
    said = () if prompt is None else (Message(role="user", content=prompt),)
    return _step(e.TurnStarted(turn_id=beginning.turn_id, messages=said), imported=not said)


def _step(event: e.SessionEvent, *, imported: bool = False) -> c.Record:
    return c.Record(
        proposal=proposal_of(NAMES[type(event)], encode(fact(event))), imported=imported
    )


def _not_taken(error: Exception) -> NotTaken:
    return NotTaken(type(error).__name__, for_good=isinstance(error, Refusal))
