"""How does the run of a turn write to the log, as its owner and nobody else?

Each call is one commit that proves the lease: with a fence that somebody raised meanwhile nothing
is written. What was asked for once is recorded once, also where the first answer was lost.
"""

from collections.abc import Sequence
from typing import Final, cast, get_args

from sqlalchemy import select
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection

from domain import commands as c
from domain import events as e
from domain.approval_modes import ModeVerdict
from domain.commands import Own
from domain.decided import fact
from domain.keys import keys_of
from domain.refusals import NoSuchSession
from domain.registry import NAMES
from domain.state import Head, State, TurnStatus
from infrastructure import runs
from infrastructure import tables as t
from infrastructure.command_handler import Caller, Target
from infrastructure.commit import Contended
from infrastructure.composition import Turnlog
from infrastructure.connecting import UnfitDatabase
from infrastructure.hosting.by_mode import Question, mode_of, recorded_verdict
from infrastructure.hosting.journal_port import Stood, StoreAway
from infrastructure.proposing import proposal_of
from infrastructure.runner import Attempt
from infrastructure.serialization import encode

UNREACHABLE: Final = (OperationalError, InterfaceError, NoConnection, UnfitDatabase, Contended)
_OWN: Final = get_args(Own)
_UNSURE: Final = (e.GateWithdrawn, e.SessionRenamed)
"""What may be passed over, and is so when it comes again."""


class LogJournal:
    """The log, as the holder of one lease writes to it."""

    def __init__(self, log: Turnlog, target: Target, turn_id: str, caller: Caller) -> None:
        """Take the turn; the caller is whoever asked for it. Nothing is written before `lease`."""
        self._log: Final = log
        self._target: Final = target
        self._turn_id: Final = turn_id
        self._caller: Final = caller
        self.fence = 0
        self._asked: Sequence[e.SessionEvent] | None = None
        self._before = 0
        self._version = 0

    @property
    def caller(self) -> Caller:
        """Return who asked for the turn."""
        return self._caller

    def lease(self, fence: int, version: int) -> None:
        """Write with this fence from now on; what the turn has up to `version` was there before."""
        self.fence = fence
        self._version = max(self._version, version)

    async def record(
        self,
        events: Sequence[e.SessionEvent],
        *,
        release: bool = False,
        question: Question | None = None,
    ) -> Stood:
        """Append all in one commit; see `Journal.record`.

        Raises:
            StoreAway: try again, with the very same object.
            Refusal: it never will be recorded.
        """
        again = self._asked is events
        if not again:
            self._asked, self._before = events, self._version
        steps = [_step(event) for event in events]

        def write(attempt: Attempt) -> Stood:
            return self._write(attempt, events, steps, question, release=release, again=again)

        try:
            stood = await self._log.write(write)
        except UNREACHABLE as error:
            raise StoreAway from error
        self._asked = None
        self._version = stood.head.version
        return stood

    def _write(
        self,
        attempt: Attempt,
        events: Sequence[e.SessionEvent],
        steps: Sequence[c.SessionCommand],
        question: Question | None,
        *,
        release: bool,
        again: bool,
    ) -> Stood:
        handler, target = self._log.handler, self._target
        waits = [] if question is None else [_step(event) for event in question.waits]
        key, state = handler.state(attempt, target, keys_of([*steps, *waits]))
        if key is None:
            raise NoSuchSession
        if again:
            verdict = self._recorded(attempt, (key, state), events, question)
            if verdict is not None:
                return self._stood(state.head, events, self._before + 1, verdict)
        run = runs.find(attempt.connection, key)
        runs.check_fence(run, self._turn_id, self.fence)
        wanted = [step for step in steps if not _is_settled(step, state)]
        verdict = "ask"
        if question is not None:
            mode = mode_of(state.head, self._log.settings.approval_mode)
            verdict = question.verdict(mode)
            wanted += [_step(event) for event in question.facts(mode, waiting=release)]
            release = release or (verdict == "ask" and question.pauses)
        done = handler.carry_out(attempt, target, wanted, caller=self._caller, known=(key, state))
        if release:
            runs.release(attempt.connection, key, self.fence)
        else:
            runs.renew_unasked(attempt.connection, key, self.fence, handler.now())
        first = done.facts[0].version if done.facts else done.head.version
        return self._stood(done.head, events, first, verdict)

    def _stood(
        self, head: Head, events: Sequence[e.SessionEvent], first: int, verdict: ModeVerdict
    ) -> Stood:
        status = self._status(head, events)
        return Stood(head=head, turn_status=status, first_version=first, verdict=verdict)

    def _status(self, head: Head, events: Sequence[e.SessionEvent]) -> TurnStatus:
        for event in events:
            match event:
                case e.TurnCompleted():
                    return "completed"
                case e.TurnFailed():
                    return "failed"
                case e.TurnInterrupted():
                    return "interrupted"
                case _:
                    pass
        return "running" if head.turn_id == self._turn_id else "interrupted"

    def _recorded(
        self,
        attempt: Attempt,
        known: tuple[int, State],
        events: Sequence[e.SessionEvent],
        question: Question | None,
    ) -> ModeVerdict | None:
        """Return what was made of the first attempt's question; None if it was not committed."""
        key, state = known
        if question is None:
            return "ask" if self._is_recorded(attempt, key, events) else None
        gate = state.gates.get(question.gate_id)
        return None if gate is None else recorded_verdict(gate)

    def _is_recorded(self, attempt: Attempt, key: int, events: Sequence[e.SessionEvent]) -> bool:
        """Tell whether the first attempt was committed: nobody else writes these for the turn."""
        wanted = [NAMES[type(event)] for event in events if not isinstance(event, _UNSURE)]
        event = t.events.c
        found = attempt.connection.execute(
            select(event.type)
            .where(
                event.session_key == key,
                event.version > self._before,
                event.turn_id == self._turn_id,
                event.type.in_(wanted),
            )
            .order_by(event.version)
        ).scalars()
        return bool(wanted) and list(found)[-len(wanted) :] == wanted


def _step(event: e.SessionEvent) -> c.SessionCommand:
    if isinstance(event, _OWN):
        return c.Note(event=cast("Own", event))
    if isinstance(event, e.SessionRenamed):  # a person's title stands: that is decided here
        return c.RenameSession(title=event.title, by=event.by)
    proposal = proposal_of(NAMES[type(event)], encode(fact(event)))
    return c.Record(proposal=proposal, imported=isinstance(event, e.GateWithdrawn))


def _is_settled(step: c.SessionCommand, state: State) -> bool:
    """Tell whether a gate that is to be withdrawn was answered meanwhile, or is gone."""
    match step:
        case c.Record(proposal=c.Proposal(event=e.GateWithdrawn(gate_id=gate_id))):
            gate = state.gates.get(gate_id)
            return gate is None or gate.status != "open"
        case _:
            return False
