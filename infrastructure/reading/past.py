"""What did the rules know of a session at a version?

Its head, the turn that had not ended, its open calls and its open gates: folded on from the nearest
checkpoint, so that it costs the same at any length.
"""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, bindparam, select, text

from domain.checkpoints import FOLD_VERSION
from domain.forking import beginning
from domain.keys import NO_KEYS
from domain.recorded import Recorded
from domain.resuming import folded_on, resumed
from domain.state import Checkpoint, Head, State
from infrastructure import tables as t
from infrastructure.blobs import completed
from infrastructure.checkpoint_rows import checkpoint_of
from infrastructure.command_handler import Target
from infrastructure.fork_records import records_on
from infrastructure.lineages import Lineage, Part, parts
from infrastructure.lookup import look_up
from infrastructure.mapper import recorded_of
from infrastructure.prepared import Prepared
from infrastructure.reading.moment import Moment
from infrastructure.reading.sight import sight_of
from infrastructure.recorder import stream_facts
from infrastructure.stored_stream import Stream
from infrastructure.view_rows import call_of

FACTS_AT_ONCE: Final = 1_000
_NEAREST: Final = Prepared(
    lambda _: (
        select(t.checkpoints)
        .where(
            t.checkpoints.c.session_key == bindparam("session_key"),
            t.checkpoints.c.version <= bindparam("through"),
            t.checkpoints.c.fold_version == bindparam("fold_version"),
        )
        .order_by(t.checkpoints.c.version.desc())
        .limit(1)
    )
)
_OPEN_CALLS: Final = Prepared(
    lambda _: (
        select(t.calls)
        .where(
            t.calls.c.session_key == bindparam("session_key"),
            t.calls.c.turn_id == bindparam("turn_id"),
            text("calls.status = 'open'"),
        )
        .order_by(t.calls.c.requested_version)
    )
)


def known_at(connection: Connection, moment: Moment) -> State:
    """Return a session's head, open turn, open calls and open gates as they were."""
    if moment.is_now:
        return _now(connection, moment)
    checkpoint = nearest(connection, moment) if moment.head.checkpoint else None
    since = 0 if checkpoint is None else checkpoint.version
    return go_on(connection, moment, resumed(checkpoint), since)


def past_state(connection: Connection, stream: Stream, head: Head, lineage: Lineage) -> State:
    """Return the same of a session at the last version of a stream, whoever may see it.

    `head` is that of the session now, or of one that shares this history.
    """
    target = Target(project_id=stream.project_id, session_id=stream.session_id)
    then = Moment(
        target=target,
        key=stream.key,
        head=head,
        open_turn=None,
        known_after=0,
        agreements=0,
        through=stream.last,
        sight=sight_of(head),
        lineage=lineage,
    )
    return known_at(connection, then)


def go_on(connection: Connection, moment: Moment, state: State, since: int) -> State:
    """Fold a state that began at the checkpoint at version `since` up to the moment."""
    shared = moment.shared
    views = records_on(connection, moment.key, moment.head.started, shared.version)
    for part in parts(moment.key, moment.lineage, moment.through):
        if state.head.version < part.through:
            state = beginning(state) if part.after == state.head.version > 0 else state
            state = folded_on(state, since, _facts(connection, moment, part, state), views)
    return state


def nearest(connection: Connection, moment: Moment) -> Checkpoint | None:
    """Return the newest checkpoint up to the moment, if this fold made one."""
    for part in reversed(parts(moment.key, moment.lineage, moment.through)):
        params = {
            "session_key": part.key,
            "through": part.through,
            "fold_version": FOLD_VERSION,
        }
        row = _NEAREST.run(connection, params).first()
        if row is not None:
            return checkpoint_of(row)
    return None


def _now(connection: Connection, moment: Moment) -> State:
    state, turn = State(head=moment.head), moment.open_turn
    if moment.head.open_gates:
        look_up(connection, moment.key, state, NO_KEYS)
    if turn is None:
        return state
    state.turns[turn.turn_id] = turn
    state.calls = {}  # those that gates name were looked up, and come with the others
    if turn.open_calls:
        params = {"session_key": moment.key, "turn_id": turn.turn_id}
        for call in map(call_of, _OPEN_CALLS.run(connection, params)):
            key = (call.turn_id, call.tool_call_id)
            state.calls[key] = (*state.calls.get(key, ()), call)
    return state


def _facts(connection: Connection, moment: Moment, part: Part, state: State) -> Iterator[Recorded]:
    stream = (moment.target.project_id, moment.target.session_id, part.key)
    after = max(part.after, state.head.version)
    while after < part.through:
        through = min(after + FACTS_AT_ONCE, part.through)
        for stored in stream_facts(connection, stream, gt=after, lte=through):
            yield recorded_of(completed(connection, stored))
        after = through
