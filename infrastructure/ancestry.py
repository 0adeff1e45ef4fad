"""Which history does a fork begin with, by what the log itself says?

Nothing but facts is believed here: this is what the view `lineages` is folded from.
"""

from dataclasses import replace
from typing import Final

from sqlalchemy import Connection, bindparam, select

from domain.evolve import evolve
from domain.forking import beginning
from domain.refusals import NoSuchSession
from domain.state import State
from infrastructure import tables as t
from infrastructure.blobs import completed
from infrastructure.lineages import NOBODY, Lineage, forked_from
from infrastructure.mapper import recorded_of
from infrastructure.prepared import Prepared
from infrastructure.recorder import WITH_BODIES, parent_of
from infrastructure.stored_stream import Stream, find_stream, stored_facts

_FIRST: Final = Prepared(
    lambda _: (
        select(t.events.c.version, t.events.c.type, t.events.c.schema, t.bodies.c.body)
        .select_from(WITH_BODIES)
        .where(t.events.c.session_key == bindparam("session_key"))
        .order_by(t.events.c.version)
        .limit(1)
    )
)


def shared_streams(connection: Connection, stream: Stream) -> list[Stream]:
    """Return whom a session shares its history with, from the root; `last` is the last shared fact.

    A lineage that the log has lost, or that leads nowhere, ends there.
    """
    found: list[Stream] = []
    known = {stream.key}
    while (parent := _parent(connection, found[-1] if found else stream)) is not None:
        if parent.key in known:
            break
        known.add(parent.key)
        found.append(parent)
    return found[::-1]


def _parent(connection: Connection, stream: Stream) -> Stream | None:
    row = _FIRST.run(connection, {"session_key": stream.key}).first()
    if row is None:
        return None
    session_id = parent_of(connection, stream.key, row)
    if session_id is None:
        return None
    try:
        parent = find_stream(connection, stream.project_id, session_id)
    except NoSuchSession:
        return None
    return replace(parent, last=min(row.version - 1, stream.last))


def folded_on(connection: Connection, stream: Stream) -> tuple[State, Lineage]:
    """Return what a session's own facts are folded on, and with whom it shares that."""
    state, lineage = State(), NOBODY
    for shared in shared_streams(connection, stream):
        fold_facts(connection, shared, state)
        lineage = forked_from(shared.key, shared.last, state.head, lineage)
        if shared.last < stream.last:
            state = beginning(state)
    return state, lineage


def folded_to(connection: Connection, stream: Stream) -> State:
    """Return what a session was after the last fact of `stream`."""
    state, _ = folded_on(connection, stream)
    fold_facts(connection, stream, state)
    return state


def fold_facts(connection: Connection, stream: Stream, state: State) -> None:
    """Fold in `state` what follows it in a stream."""
    for stored in stored_facts(connection, stream, after=state.head.version):
        state.apply(evolve(state, recorded_of(completed(connection, stored))))
