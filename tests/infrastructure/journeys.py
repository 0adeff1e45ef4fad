"""Sessions in which everything happened once, and hands that do what no program may."""

from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy import Connection, text

from domain.evolve import evolve, fold
from domain.recorded import Envelope, Recorded, body_digest, chained_hash
from domain.registry import Affects
from infrastructure.commit import Commit
from infrastructure.recorder import find_key
from infrastructure.serialization import decode
from infrastructure.writing import Writing
from tests.infrastructure.writing import SECOND, Store, propose

_SALT = bytes(range(16))


def eventful(store: Store, session_id: str = "s1") -> None:
    """Record a failed and a denied tool, a loss and its healing, a gate, a compaction, a failure,
    a late result, text of every kind, and two facts that this build cannot read.
    """
    store.append(
        [
            propose(
                "turn-started",
                '{"turn_id":"t1","messages":[{"role":"user","content":"héllo 🙂 \\u0000 \\\\u0000",'
                '"message_id":"m1"}]}'.encode(),
            ),
            propose(
                "tool-call-requested",
                b'{"turn_id":"t1","tool_call_id":"c1","name":"sh","arguments":{"n": 1.50}}',
            ),
            propose(
                "tool-call-completed",
                b'{"turn_id":"t1","tool_call_id":"c1","output":{"v":12345678901234567890.10},'
                b'"is_error":true}',
            ),
            propose(
                "gate-opened",
                b'{"gate_id":"g-%s","turn_id":"t1","kind":"permission","permission_id":"p1",'
                b'"tool_call_id":"c2","tool":"rm","arguments":{}}' % session_id.encode(),
            ),
            propose(
                "gate-decided",
                b'{"permission_id":"p1","verdict":"denied","decided_by":"person","via":"in-band"}',
            ),
            propose(
                "tool-call-requested",
                b'{"turn_id":"t1","tool_call_id":"c2","name":"rm","arguments":{}}',
            ),
            propose(
                "tool-call-completed",
                b'{"turn_id":"t1","tool_call_id":"c2","output":null,"denied":true}',
            ),
        ],
        session_id,
    )
    store.clock.at += SECOND
    store.append(
        [
            propose("records-lost", b'{"count":null,"reason":"restart"}'),
            propose(
                "message-recorded",
                b'{"turn_id":"t1","message":{\n  "role":"assistant",\r\n  "content":"done"}\n}',
            ),
            propose("turn-completed", b'{"turn_id":"t1"}'),
            propose("loss-healed", b'{"loss_version":9}'),
            propose(
                "tool-call-completed",
                b'{"turn_id":"t1","tool_call_id":"c3","output":"late"}',
            ),
            propose("history-compacted", b'{"summary":"so far","through_message_id":"m1"}'),
            propose(
                "turn-started",
                b'{"turn_id":"t2","messages":[{"role":"user","content":"again"}],'
                b'"lane_id":"0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f","reply_to":"m\xc3\xa9 1"}',
            ),
            propose("turn-failed", b'{"turn_id":"t2","error":{"code":"overloaded"}}'),
        ],
        session_id,
        producer_id="p2",
    )
    unheard_of(store, session_id, "future.v9", b'{"x": [1,  2]}', affects="none")
    unheard_of(store, session_id, "message-recorded", b'{"renamed":1}')
    unheard_of(store, session_id, "future.v9", b"\xff no text at all", affects="none")


def unheard_of(
    store: Store, session_id: str, type_: str, body: bytes, *, affects: Affects = "history"
) -> None:
    """Append a fact that this build would not make."""
    facts = store.facts(session_id)
    last = facts[-1]
    envelope = Envelope(
        project_id="default",
        session_id=session_id,
        version=last.version + 1,
        event_id=f"00000000-0000-4000-8000-{last.version:012}",
        type=type_,
        schema=1,
        affects=affects,
        recorded_at=last.envelope.recorded_at,
        occurred_at=-1,
        actor="someone",
        trace_id="00-trace",
        body_digest=body_digest(_SALT, body),
    )
    fact = Recorded(
        envelope=envelope,
        position=0,
        previous=last.hash,
        hash=chained_hash(envelope, last.hash),
        salt=_SALT,
        body=body,
        event=decode(type_, 1, body),
    )
    state = fold(facts)
    changes = evolve(state, fact)
    state.apply(changes)
    with store.database.write() as connection:
        store.log.append(
            Writing(
                commit=Commit(connection),
                session_key=find_key(connection, "default", session_id),
                project_id="default",
                session_id=session_id,
                seen=last.version,
                facts=[fact],
                changes=[changes],
                state=state,
            )
        )


@contextmanager
def by_hand(store: Store) -> Generator[Connection]:
    """Give a connection for which the log is no longer append-only."""
    with store.database.write() as connection:
        for table in ("events", "bodies", "streams"):
            if connection.dialect.name == "postgresql":
                connection.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER USER"))
                continue
            for change in ("update", "delete"):
                connection.execute(text(f"DROP TRIGGER IF EXISTS {table}_no_{change}"))
        yield connection
