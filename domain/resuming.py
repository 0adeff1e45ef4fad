"""How does the fold go on from a checkpoint?

What later facts refer to from before it never changes again, or tells since when it is as it is:
so it is found in the views of now, whatever came later still.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, Protocol

from domain import events as e
from domain.evolve import evolve
from domain.keys import keys
from domain.noted import noted
from domain.recorded import Recorded
from domain.records import Records
from domain.state import (
    Branch,
    Call,
    Checkpoint,
    Loss,
    Move,
    Placed,
    QueuedInput,
    State,
    Turn,
)


class Views(Records, Protocol):
    """A session's records as they are now."""

    def loss(self, version: int) -> Loss | None:
        """Return the loss that was declared at this version."""
        ...

    def calls(self, turn_id: str, tool_call_id: str) -> Sequence[Call]:
        """Return the calls of this id in a turn, in order."""
        ...

    def queued(self, queue_id: str) -> QueuedInput | None:
        """Return the queued input with this id."""
        ...


def resumed(checkpoint: Checkpoint | None) -> State:
    """Return a session at a checkpoint, or before its first fact."""
    if checkpoint is None:
        return State()
    turn = checkpoint.turn
    return State(head=checkpoint.head, turns={} if turn is None else {turn.turn_id: turn})


def folded_on(state: State, since: int, facts: Iterable[Recorded], views: Views) -> State:
    """Fold the facts that follow in `state`, which began at the checkpoint at version `since`.

    Its head, open turn, open calls and open gates are then those of a fold of the whole session.
    `views` may know of facts that come later still.
    """
    past = Past(state, since, views)
    for fact in facts:
        past.look_up(fact)
        state.apply(evolve(state, fact))
    return state


class Past:
    """A session's records as they were: in `state`, or from before the checkpoint."""

    def __init__(self, state: State, since: int, views: Views) -> None:
        self._state: Final = state
        self._since: Final = since
        self._views: Final = views

    def look_up(self, fact: Recorded) -> None:
        """Put into the state what the fold of a fact needs from before the checkpoint."""
        state, event = self._state, fact.event
        match event:
            case e.LossHealed(loss_version=version) if 0 < version <= self._since:
                self._loss(version, fact.version)
            case (
                e.InputQueued(queue_id=queue_id)
                | e.InputDequeued(queue_id=queue_id)
                | e.InputRecalled(queue_id=queue_id)
            ) if queue_id not in state.queue:
                self._queued(queue_id, fact.version)
            case e.ToolCallCompleted(turn_id=turn_id) if turn_id not in state.turns:
                turn = self.turn(turn_id)
                if turn is not None:
                    state.turns[turn_id] = turn
            case (
                e.ToolCallRequested(turn_id=turn_id, tool_call_id=str() as call_id)
                | e.ToolCallCompleted(turn_id=turn_id, tool_call_id=str() as call_id)
                | e.GateOpened(turn_id=turn_id, tool_call_id=str() as call_id)
            ) if turn_id == state.head.turn_id:
                self._calls(turn_id, call_id)
            case (
                e.TurnStarted() | e.HistoryRewound() | e.RewindReverted() | e.HistoryCompacted()
            ) if self._since:
                found = noted(self, state.head, keys([event]))
                state.turns |= found.turns
                state.branches |= found.branches
                state.moves |= found.moves
                state.messages |= found.messages
                state.message_ids |= {
                    m.message_id: m.index for m in found.messages.values() if m.named
                }
            case _:
                pass

    def _loss(self, version: int, now: int) -> None:
        """A loss that was healed later was not healed yet."""
        loss = None if version in self._state.losses else self._views.loss(version)
        if loss is not None:
            open_ = loss.healed_version is None or loss.healed_version >= now
            self._state.losses[version] = replace(loss, healed_version=None) if open_ else loss

    def _queued(self, queue_id: str, now: int) -> None:
        """One that was closed later still waited."""
        queued = self._views.queued(queue_id)
        if queued is not None and queued.queued_version <= self._since:
            waits = queued.closed_version is None or queued.closed_version >= now
            if waits:
                queued = queued._replace(status="waiting", closed_version=None, turn_id=None)
            self._state.queue[queue_id] = queued

    def _calls(self, turn_id: str, tool_call_id: str) -> None:
        """Those from before tell which one the next is; all of the turn had their results."""
        turn, key = self._state.turns.get(turn_id), (turn_id, tool_call_id)
        if turn is None or turn.started_version > self._since or key in self._state.calls:
            return
        every = self._views.calls(turn_id, tool_call_id)
        begun = [(c.requested_version or c.completed_version or 0, c) for c in every]
        before = tuple(call for version, call in begun if version <= self._since)
        if before:
            self._state.calls[key] = before

    def branch(self, number: int) -> Branch:
        """Return the branch with this id."""
        return self._state.branches.get(number) or self._views.branch(number)

    def turn(self, turn_id: str) -> Turn | None:
        """Return the turn with this id."""
        return self._state.turns.get(turn_id) or self._turn(self._views.turn(turn_id))

    def turn_numbered(self, number: int) -> Turn | None:
        """Return the turn with this number, if it began before."""
        return self._turn(self._views.turn_numbered(number))

    def turn_started_after(self, version: int) -> Turn | None:
        """Return the first turn that started after a version, if it began before."""
        return self._turn(self._views.turn_started_after(version))

    def message(self, index: int) -> Placed | None:
        """Return the message with this index."""
        return self._state.messages.get(index) or self._message(self._views.message(index))

    def stretch(self, first: int, end: int) -> Sequence[Placed]:
        """Return the messages with indexes from `first` to before `end` that there are."""
        found = {m.index: m for m in self._views.stretch(first, end) if self._message(m)}
        for index in range(first, end):
            if index in self._state.messages:
                found[index] = self._state.messages[index]
        return [found[index] for index in sorted(found)]

    def named(self, message_id: str) -> Placed | None:
        """Return the message that was given this id."""
        index = self._state.message_ids.get(message_id)
        if index is not None:
            return self._state.messages[index]
        return self._message(self._views.named(message_id))

    def move(self, version: int) -> Move | None:
        """Return the move at this version."""
        move = self._state.moves.get(version)
        return self._views.move(version) if move is None and version <= self._since else move

    def last_move(self, through: int) -> Move | None:
        """Return the newest move up to a version."""
        mine = [version for version in self._state.moves if version <= through]
        before = self._views.last_move(min(through, self._since))
        newest = self._state.moves[max(mine)] if mine else None
        return before if newest is None or (before and before.version > newest.version) else newest

    def _turn(self, turn: Turn | None) -> Turn | None:
        return turn if turn and turn.started_version <= self._since else None

    def _message(self, message: Placed | None) -> Placed | None:
        return message if message and message.versions[0] <= self._since else None
