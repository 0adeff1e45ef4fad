"""Which epoch of a producer may write, and what did an earlier batch of it become?"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from sqlalchemy import Connection, Select, bindparam, select
from sqlalchemy.dialects import postgresql, sqlite

from domain.canonical import canonical
from domain.commands import Proposal
from domain.events import HistoryRewound
from domain.json_text import JsonValue, NotJson, parse
from domain.offloading import Incomplete, inline
from domain.recorded import ProducerStamp, Recorded
from domain.registry import NAMES
from infrastructure import tables as t
from infrastructure.blobs import completed
from infrastructure.commit import Commit
from infrastructure.mapper import StoredFact, recorded_of
from infrastructure.prepared import Prepared
from infrastructure.recorder import stream_facts

FIRST_EPOCH: Final = 1


def _epoch(dialect: str) -> Select[tuple[int]]:
    statement = select(t.producers.c.epoch).where(
        t.producers.c.project_id == bindparam("project_id"),
        t.producers.c.producer_id == bindparam("producer_id"),
    )
    # On PostgreSQL a mint waits for the appends under way; they do not wait for each other.
    return statement if dialect == "sqlite" else statement.with_for_update(read=True)


_EPOCH: Final = Prepared(_epoch)
_KNOW: Final = Prepared(
    lambda dialect: (
        (sqlite.insert if dialect == "sqlite" else postgresql.insert)(t.producers)
        .values({c.name: bindparam(c.name) for c in t.producers.columns})
        .on_conflict_do_nothing()
    )
)
_BATCH: Final = Prepared(
    lambda _: select(t.events.c.version, t.events.c.batch).where(
        t.events.c.session_key == bindparam("session_key"),
        t.events.c.producer_id == bindparam("producer_id"),
        t.events.c.producer_epoch == bindparam("epoch"),
        t.events.c.producer_sequence == bindparam("sequence"),
        t.events.c.batch.is_not(None),
    )
)
_OPEN_TURNS: Final = (
    select(t.streams.c.session_id, t.streams.c.session_key, t.turns)
    .join(t.streams, t.streams.c.session_key == t.turns.c.session_key)
    .join(t.heads, t.heads.c.session_key == t.turns.c.session_key)
    .where(t.turns.c.status == "running", t.heads.c.status != "deleted")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTurn:
    """A turn that a producer began and has not ended."""

    session_id: str
    turn_id: str
    last_sequence: int
    open_calls: int
    open_gates: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierBatch:
    """What a batch became.

    Attributes:
        facts: Its own, in order.
        rewound: The rewind that came with it.
    """

    facts: Sequence[Recorded]
    rewound: Recorded | None = None

    @property
    def asked(self) -> object:
        """Return what it wanted rewound, as JSON."""
        event = self.rewound and self.rewound.event
        return event.asked if isinstance(event, HistoryRewound) else None


def current_epoch(commit: Commit, project_id: str, producer_id: str, now: int) -> int:
    """Return the epoch that may write; on PostgreSQL it stays so until the transaction ends."""
    connection, memory = commit.connection, commit.memory
    who = {"project_id": project_id, "producer_id": producer_id}
    known = None if memory is None else memory.epochs.get((project_id, producer_id))
    if known is not None:
        if commit.deferring:
            commit.promise(_EPOCH.send(connection, who), known)
        return known
    epoch = _EPOCH.run(connection, who).scalar_one_or_none()
    if epoch is not None and memory is not None:
        memory.keep_epoch(project_id, producer_id, int(epoch))
    if epoch is None:
        _KNOW.run(connection, who | {"epoch": FIRST_EPOCH, "minted_at": now})
        epoch = _EPOCH.run(connection, who).scalar_one()
    return int(epoch)


def mint_epoch(commit: Commit, project_id: str, producer_id: str, now: int) -> int:
    """Fence every earlier epoch of the producer; return the new one."""
    commit.forget()
    connection = commit.connection
    current_epoch_row = (
        t.producers.update()
        .where(t.producers.c.project_id == project_id, t.producers.c.producer_id == producer_id)
        .values(epoch=t.producers.c.epoch + 1, minted_at=now)
        .returning(t.producers.c.epoch)
    )
    who = {"project_id": project_id, "producer_id": producer_id}
    _KNOW.run(connection, who | {"epoch": FIRST_EPOCH, "minted_at": now})
    return int(connection.execute(current_epoch_row).scalar_one())


def open_turns(connection: Connection, project_id: str, producer_id: str) -> list[OpenTurn]:
    """Return the turns of the project that this producer began and nobody ended."""
    statement = _OPEN_TURNS.where(
        t.streams.c.project_id == project_id, t.turns.c.producer_id == producer_id
    )
    found = [
        OpenTurn(
            session_id=row.session_id,
            turn_id=row.turn_id,
            last_sequence=row.producer_sequence,
            open_calls=row.open_calls,
            open_gates=row.open_gates,
        )
        for row in connection.execute(statement)
    ]
    return sorted(found, key=lambda turn: turn.session_id)  # not in a database's own order


def earlier_batch(
    connection: Connection, stream: tuple[str, str, int], stamp: ProducerStamp
) -> EarlierBatch:
    """Return what a batch became; no facts if it was never taken."""
    first = _BATCH.run(
        connection,
        {
            "session_key": stream[2],
            "producer_id": stamp.producer_id,
            "epoch": stamp.epoch,
            "sequence": stamp.sequence,
        },
    ).first()
    if first is None:
        return EarlierBatch(facts=[])
    rewound: Recorded | None = None
    found: list[Recorded] = []
    after = first.version - 2  # a rewind comes right before the first fact
    while len(found) < first.batch:
        page = stream_facts(connection, stream, gt=after, limit=first.batch + 1)
        if not page:
            break
        after = page[-1].envelope.version
        if page[0].envelope.version == first.version - 1:
            rewound = _rewound_with_it(page[0])
        found += [
            recorded_of(completed(connection, stored))
            for stored in page
            if stored.envelope.producer == stamp
        ]
    return EarlierBatch(facts=found, rewound=rewound)


def _rewound_with_it(stored: StoredFact) -> Recorded | None:
    """Return a rewind that came with the batch after it, or may have, for all that is left."""
    if stored.envelope.type != NAMES[HistoryRewound]:
        return None
    fact = recorded_of(stored)
    alone = isinstance(fact.event, HistoryRewound) and fact.event.asked is None
    return None if alone else fact


def proposals_digest(proposals: Sequence[Proposal]) -> bytes:
    """Return a digest of a batch's events as they read, whatever their spelling."""
    return _digest([(NAMES[type(p.event)], p.occurred_at, p.body) for p in proposals])


def facts_digest(facts: Sequence[Recorded]) -> bytes | None:
    """Return the digest of the batch that became `facts`; None if a body is gone or damaged."""
    events: list[tuple[str, int | None, bytes]] = []
    for fact in facts:
        if fact.body is None:
            return None
        try:
            said = inline(fact.body, fact.blobs)
        except Incomplete:
            return None
        events.append((fact.envelope.type, fact.envelope.occurred_at, said))
    try:
        return _digest(events)
    except NotJson:
        return None


def _digest(events: Sequence[tuple[str, int | None, bytes]]) -> bytes:
    read: JsonValue = [
        [type_, occurred_at, _as_sent(type_, body)] for type_, occurred_at, body in events
    ]
    return sha256(canonical(read)).digest()


def _as_sent(type_: str, body: bytes) -> JsonValue:
    """Return an event's data without the names that the log itself resolved."""
    data = parse(body)
    if isinstance(data, dict) and (
        type_ == "gate-opened"
        or (type_ == "gate-decided" and data.keys() & {"permission_id", "tool_call_id"})
    ):
        data = {name: value for name, value in data.items() if name != "gate_id"}
    return data
