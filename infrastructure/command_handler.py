"""Look up, decide, append: the one way in which a command changes a session."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import urandom
from typing import Final

from domain.carry_out import Outcome, Stamp, carry_out
from domain.commands import SessionCommand
from domain.keys import NO_KEYS, Keys, keys_of
from domain.readiness import Policy, Readiness, readiness
from domain.recorded import ProducerStamp, Recorded
from domain.refusals import Refusal, SessionDamaged
from domain.state import Head, State, Turn
from infrastructure import runs
from infrastructure.agreement import agreed_in_a_row
from infrastructure.callers import Caller, Target
from infrastructure.commit import Contended
from infrastructure.event_log import EventLog
from infrastructure.lanes.clearing import clearing, lanes_served
from infrastructure.lineages import Lineage
from infrastructure.lookup import find_head, look_up
from infrastructure.runner import Attempt
from infrastructure.serialization import encode
from infrastructure.spawning import SPAWNING_TOOLS
from infrastructure.subagents import stopped_with
from infrastructure.writing import Writing


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """What a command left.

    Attributes:
        facts: Everything that was recorded, in order.
        proposed: The facts that the caller's events became, in their order.
        created: Whether the session began with it.
        open_turn: The turn that has not ended.
    """

    facts: Sequence[Recorded]
    proposed: Sequence[Recorded]
    head: Head
    readiness: Readiness
    created: bool
    open_turn: Turn | None = None


class CommandHandler:
    """Carries commands out against the log."""

    def __init__(
        self,
        log: EventLog,
        now: Callable[[], int],
        *,
        unverified_turns: bool,
        require_agreement: int = 0,
        spawning_tools: frozenset[str] = SPAWNING_TOOLS,
    ) -> None:
        self._log: Final = log
        self._now: Final = now
        self._unverified_turns: Final = unverified_turns
        self._require_agreement: Final = require_agreement
        self.spawning_tools: Final = spawning_tools

    def now(self) -> int:
        """Return microseconds since 1970."""
        return self._now()

    def state(
        self, attempt: Attempt, target: Target, wanted: Keys = NO_KEYS
    ) -> tuple[int | None, State]:
        """Return the session's key in the tables, and what `wanted` names of the session.

        Raises:
            SessionDamaged: the log has its facts and not its head.
        """
        connection, commit = attempt.connection, attempt.commit
        commit.looked.add((target.project_id, target.session_id))
        known = None if attempt.patient else commit.find(target.project_id, target.session_id)
        if known is not None:
            commit.ask_all()
            return known.key, look_up(connection, known.key, State(head=known.head), wanted, known)
        key, state = find_head(connection, target.project_id, target.session_id)
        if key is not None and attempt.patient and connection.dialect.name == "postgresql":
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%(key)s)", {"key": key})
            key, state = find_head(connection, target.project_id, target.session_id)
        if key is None:
            return key, state
        if not state.head.version:
            raise SessionDamaged
        return key, look_up(connection, key, state, wanted)

    def carry_out(  # noqa: PLR0913
        self,
        attempt: Attempt,
        target: Target,
        steps: Sequence[SessionCommand],
        wanted: Keys = NO_KEYS,
        *,
        caller: Caller,
        producer: ProducerStamp | None = None,
        batch: int | None = None,
        known: tuple[int | None, State] | None = None,
        lineage: Lineage = (),
    ) -> Appended:
        """Decide `steps` and append what they cause; `lineage` is that of a fork that begins.

        Unless they are a producer's, which sees to it itself, the lease of a turn that ends or
        pauses is released.

        Raises:
            Refusal: nothing is written.
            Contended: another writer came first.
        """
        key, state = known or self.state(attempt, target, wanted)
        stamp = self._stamp(target, caller, producer, batch)
        outcome = self._decided(attempt, target, state, steps, stamp)
        facts = self._append(attempt, target, (key, lineage), state.head, outcome)
        if key is not None:
            self._stop_subagents(attempt, target, facts, caller)
            self._clear_marks(attempt, target, facts, outcome.state, caller)
        turn = _open_turn(state)
        if producer is None and key is not None and turn is not None and not turn.paused:
            after = outcome.state.turns[turn.turn_id]
            if after.status != "running" or after.paused:
                runs.let_go(attempt.connection, key, turn.turn_id)
        return self._appended(attempt, key, outcome, facts)

    def foresee(
        self,
        attempt: Attempt,
        target: Target,
        steps: Sequence[SessionCommand],
        *,
        known: tuple[int | None, State],
    ) -> Appended:
        """Return what `steps` would leave of a session that is `known`; nothing is written.

        The ids, salts and hashes are none that will ever be.

        Raises:
            Refusal: as `carry_out`.
        """
        key, state = known
        stamp = self._stamp(target, Caller())
        outcome = self._decided(attempt, target, state, steps, stamp)
        return self._appended(attempt, key, outcome, outcome.facts)

    def readiness(self, attempt: Attempt, state: State, key: int | None) -> Readiness:
        """Judge the session of this key by its state, under the store's policy."""
        policy = self.policy(attempt)
        agreements = agreed_in_a_row(attempt.connection, key) if policy.require_agreement else 0
        return readiness(state.head, _open_turn(state), policy, agreements)

    def policy(self, attempt: Attempt) -> Policy:
        """Return what the store accepts."""
        return Policy(
            unverified_turns=self._unverified_turns,
            known_after=attempt.commit.known_after,
            require_agreement=self._require_agreement,
        )

    def _stop_subagents(
        self, attempt: Attempt, target: Target, facts: Sequence[Recorded], caller: Caller
    ) -> None:
        """Stop what runs below a turn that was interrupted, for the same reason."""
        below = stopped_with(attempt.connection, target.project_id, target.session_id, facts)
        for session_id, stop in below:
            child = Target(project_id=target.project_id, session_id=session_id)
            self.carry_out(attempt, child, [stop], keys_of([stop]), caller=caller)

    def _clear_marks(
        self,
        attempt: Attempt,
        target: Target,
        facts: Sequence[Recorded],
        state: State,
        caller: Caller,
    ) -> None:
        """Take the marks away of the lanes by which turns came that ended well."""
        for lane_id in lanes_served(facts, state.turns):
            writing = clearing(attempt, target, lane_id, mint, self._now(), caller)
            if writing is not None:
                self._log.append(writing)

    def check_current(self, attempt: Attempt, target: Target, seen: Head) -> None:
        """Have what writes nothing judged again if another writer came first.

        An append is guarded by its version; a refusal is not, nor what has nothing to change, and
        on PostgreSQL what it rests on may be outdated, or lie on both sides of another's commit.
        """
        if attempt.connection.dialect.name == "postgresql":
            attempt.commit.check()
            _, now = find_head(attempt.connection, target.project_id, target.session_id)
            if now.head != (seen if seen.status != "absent" else Head()):
                raise Contended

    def _stamp(
        self,
        target: Target,
        caller: Caller,
        producer: ProducerStamp | None = None,
        batch: int | None = None,
    ) -> Stamp:
        return Stamp(
            project_id=target.project_id,
            session_id=target.session_id,
            now=self._now(),
            mint=mint,
            encode=encode,
            actor=caller.actor,
            trace_id=caller.trace_id,
            producer=producer,
            batch=batch,
        )

    def _decided(
        self,
        attempt: Attempt,
        target: Target,
        state: State,
        steps: Sequence[SessionCommand],
        stamp: Stamp,
    ) -> Outcome:
        try:
            return carry_out(state, steps, stamp)
        except Refusal:
            self.check_current(attempt, target, state.head)
            raise

    def _appended(
        self,
        attempt: Attempt,
        key: int | None,
        outcome: Outcome,
        facts: Sequence[Recorded],
    ) -> Appended:
        return Appended(
            facts=facts,
            proposed=[facts[number] for number in outcome.proposed],
            head=outcome.state.head,
            readiness=self.readiness(attempt, outcome.state, key),
            created=key is None and bool(facts),
            open_turn=_open_turn(outcome.state),
        )

    def _append(
        self,
        attempt: Attempt,
        target: Target,
        stands: tuple[int | None, Lineage],
        head: Head,
        outcome: Outcome,
    ) -> list[Recorded]:
        if not outcome.facts:
            self.check_current(attempt, target, head)
            return []
        return self._log.append(
            Writing(
                commit=attempt.commit,
                session_key=stands[0],
                lineage=stands[1],
                project_id=target.project_id,
                session_id=target.session_id,
                seen=head.version,
                facts=outcome.facts,
                changes=outcome.changes,
                state=outcome.state,
            )
        )


def _open_turn(state: State) -> Turn | None:
    turn_id = state.head.turn_id
    return None if turn_id is None else state.turns.get(turn_id)


def mint() -> tuple[str, bytes]:
    """Return a new event id (a random UUID) and a new salt."""
    random = urandom(32)
    digits = random[:16].hex()
    variant = "89ab"[random[8] >> 6]
    event_id = (
        f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
    )
    return event_id, random[16:]


__all__ = ["Appended", "Caller", "CommandHandler", "Target", "mint"]
