"""What becomes of words that are for others, and that the model is to see all the same?

A turn of their own in which nothing runs: it starts with them and is over, in one commit. While a
turn runs, or something waits, they wait in line as any input does.
"""

from collections.abc import Sequence
from typing import Final
from uuid import uuid4

from domain import commands as c
from domain import events as e
from domain.json_text import dump
from domain.keys import keys_of
from domain.raw_json import RawJson
from domain.refusals import (
    InvalidValue,
    MessageExists,
    NoSuchSession,
    SessionIsArchived,
    SessionIsSuspended,
    TurnInProgress,
)
from domain.restarts import NOT_ADDRESSED
from domain.state import GONE, State
from infrastructure import runs
from infrastructure.command_handler import Appended, Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.hosting.asking import Ask
from infrastructure.hosting.before import CameBefore, kept_as, turn_of_same
from infrastructure.hosting.took import Took
from infrastructure.idempotency import IdempotencyKey, claim, keep
from infrastructure.proposing import proposal_of
from infrastructure.runner import Attempt


class Overhearing:
    """What records words that no harness is told."""

    def __init__(self, log: Turnlog) -> None:
        """Take the log."""
        self._log: Final = log

    async def take(
        self,
        target: Target,
        ask: Ask,
        caller: Caller,
        request: bytes = b"null",
        once: IdempotencyKey | None = None,
    ) -> Took:
        """Record what was said, now or in line; what was said before is not said again.

        Raises:
            CameBefore: it came under that key already.
            MessageExists: other words came under the message's id.
            Refusal: a rule of the log forbids it; nothing is recorded.
        """
        queue_id = uuid4().hex
        try:
            waits = await self._log.write(
                lambda attempt: self._write(attempt, target, ask, caller, (queue_id, request), once)
            )
        except MessageExists as exists:
            message_id = exists.message_id
            again = await self._log.read(
                lambda connection: turn_of_same(connection, target, ask, message_id)
            )
            if again is None:
                raise
            return Took(dispatched=None, again=again, replayed=True)
        if waits:
            return Took(dispatched=None, queue_id=queue_id)
        return Took(dispatched=None, again=ask.turn_id)

    def _write(
        self,
        attempt: Attempt,
        target: Target,
        ask: Ask,
        caller: Caller,
        waiting: tuple[str, bytes],
        once: IdempotencyKey | None,
    ) -> bool:
        """Record it; tell whether it waits."""
        kept = None if once is None else claim(attempt.connection, once, self._log.now())
        if kept is not None:
            raise CameBefore(kept)
        steps, queued = _said(ask), _queued(ask, *waiting)
        key, state = self._log.handler.state(attempt, target, keys_of([*steps, queued]))
        _check(state, ask)
        busy = self._in_the_way(attempt, key, state)
        if ask.queue_id is not None and busy is not None:
            raise TurnInProgress(busy)
        waits = ask.queue_id is None and (busy is not None or state.head.queued > 0)
        done: Appended = self._log.handler.carry_out(
            attempt, target, [queued] if waits else steps, caller=caller, known=(key, state)
        )
        if once is not None:
            keep(attempt.connection, once, kept_as(done, None if waits else ask.turn_id))
        return waits

    def _in_the_way(self, attempt: Attempt, key: int | None, state: State) -> str | None:
        """Return the turn that has not ended, or what else goes on in the session."""
        if state.head.turn_id is not None or key is None:
            return state.head.turn_id
        run = runs.find(attempt.connection, key)
        if run is None or run.kind != "compaction" or not runs.is_live(run, self._log.now()):
            return None
        return run.turn_id


def _said(ask: Ask) -> Sequence[c.SessionCommand]:
    """Return the turn: what was said, and that nothing comes of it."""
    if ask.start is None:
        raise InvalidValue("there is nothing that could be recorded", "messages")
    ended = dump({"turn_id": ask.turn_id, "stop_reason": NOT_ADDRESSED})
    dequeued: list[c.SessionCommand] = []
    if ask.queue_id is not None:
        taken = e.InputDequeued(queue_id=ask.queue_id, turn_id=ask.turn_id)
        dequeued.append(c.Note(event=taken))
    return [
        c.Record(proposal=ask.start),
        *dequeued,
        c.Record(proposal=proposal_of("turn-completed", ended)),
    ]


def _queued(ask: Ask, queue_id: str, request: bytes) -> c.Note:
    return c.Note(
        event=e.InputQueued(
            queue_id=queue_id,
            request=RawJson(request),
            lane_id=ask.lane_id,
            reply_to=ask.reply_to,
        )
    )


def _check(state: State, ask: Ask) -> None:
    """Refuse what cannot be said here, or was said before."""
    match state.head.status:
        case status if status in GONE:
            raise NoSuchSession
        case "archived":
            raise SessionIsArchived
        case "suspended":
            raise SessionIsSuspended
        case _:
            pass
    start = None if ask.start is None else ask.start.event
    for message in start.messages if isinstance(start, e.TurnStarted) else ():
        if message.message_id in state.message_ids:
            raise MessageExists(message.message_id or "")
