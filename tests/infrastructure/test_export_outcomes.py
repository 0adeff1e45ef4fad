"""A session in which everything ended in every way is exported, taken in and exported the same."""

from collections import Counter

import pytest

from domain.commands import (
    ConfigureSession,
    DeleteSession,
    Proposal,
    RenameSession,
    RestoreSession,
    SessionCommand,
)
from domain.keys import keys_of
from domain.raw_json import RawJson
from infrastructure import tables as t
from infrastructure.canonical_import import import_export
from infrastructure.export import export_session
from infrastructure.rebuilding import rebuild
from infrastructure.verification import verify
from tests.conftest import NewDatabase
from tests.databases import DATABASE_KINDS, DatabaseKind
from tests.infrastructure.writing import NOBODY, SECOND, Store, opened, propose, target

OUTCOMES = [
    ("permission", "approved", "person"),
    ("permission", "denied", "person"),
    ("permission", "denied", "policy"),
    ("permission", "denied", "timeout"),
    ("permission", "denied", "cancelled"),
    ("input", "answered", "person"),
]


def every_outcome(store: Store, session_id: str = "s1") -> None:
    """Record gates of every outcome, one left to its turn's end and one open, and turns of every
    end; losses healed and not, a result twice late, a partial message, usage, and every change of
    the session itself.
    """
    store.append(
        [
            propose(
                "turn-started",
                b'{"turn_id":"t1","messages":[{"role":"user","content":"\xc3\xa4"}]}',
            ),
            *(
                propose("gate-opened", _gate("t1", kind, number))
                for number, (kind, _, _) in enumerate(OUTCOMES)
            ),
            propose("gate-opened", _gate("t1", "permission", 99)),
            *(
                propose(
                    "gate-decided",
                    b'{"permission_id":"p%d","verdict":"%s","decided_by":"%s","via":"out-of-band",'
                    b'"answer":{"n":1.0},"message":"\xe2\x80\xa8"}'
                    % (number, verdict.encode(), by.encode()),
                )
                for number, (_, verdict, by) in enumerate(OUTCOMES)
            ),
            _call("t1", "c1"),
            propose("turn-interrupted", b'{"turn_id":"t1","reason":"stopped","by":"u1"}'),
            _result("t1", "c1"),
        ],
        session_id,
    )
    store.clock.at += SECOND
    store.append(
        [
            propose("turn-started", b'{"turn_id":"t2","messages":[{"role":"user","content":"b"}]}'),
            _partial("t2", "So"),
            _partial("t2", "So far"),
            propose(
                "usage-recorded",
                b'{"turn_id":"t2","model":"m","input_tokens":1,"output_tokens":2,"cost":0.10}',
            ),
            propose("records-lost", b'{"count":2,"reason":"disk"}'),
            propose("records-lost", b'{"count":null,"reason":"restart","turn_id":"t2"}'),
            propose("turn-failed", b'{"turn_id":"t2","error":{"code":"x","message":"y"}}'),
        ],
        session_id,
        producer_id="p2",
    )
    version = next(f.version for f in store.facts(session_id) if f.envelope.type == "records-lost")
    store.append(
        [
            propose("loss-healed", b'{"loss_version":%d}' % version),
            propose("history-compacted", b'{"summary":"s","through_message_id":"t1:1"}'),
            propose("turn-started", b'{"turn_id":"t3","messages":[{"role":"user","content":"c"}]}'),
            propose("gate-opened", _gate("t3", "input", 100)),
        ],
        session_id,
    )
    for change in (
        RenameSession(title="\N{SNOWMAN}"),
        ConfigureSession(config=RawJson(b'{"model": "m"}')),
        DeleteSession(),
        RestoreSession(),
    ):
        carry_out(store, session_id, change)


def carry_out(store: Store, session_id: str, change: SessionCommand) -> None:
    where = target(session_id)
    keys = keys_of([change])
    store.runner.run(
        lambda attempt: store.handler.carry_out(attempt, where, [change], keys, caller=NOBODY)
    )


def _gate(turn_id: str, kind: str, number: int) -> bytes:
    return (
        b'{"gate_id":"g%d","turn_id":"%s","kind":"%s","permission_id":"p%d","tool":"rm",'
        b'"arguments":{"n": 1.50},"options":[{"id":"yes"}]}'
        % (number, turn_id.encode(), kind.encode(), number)
    )


def _call(turn_id: str, call_id: str) -> Proposal:
    return propose(
        "tool-call-requested",
        b'{"turn_id":"%s","tool_call_id":"%s","name":"rm","arguments":"{\\"q\\":"}'
        % (turn_id.encode(), call_id.encode()),
    )


def _result(turn_id: str, call_id: str) -> Proposal:
    return propose(
        "tool-call-completed",
        b'{"turn_id":"%s","tool_call_id":"%s","output":[null],"is_error":true}'
        % (turn_id.encode(), call_id.encode()),
    )


def _partial(turn_id: str, text: str) -> Proposal:
    return propose(
        "message-recorded",
        b'{"turn_id":"%s","message":{"role":"assistant","content":"%s","message_id":"m",'
        b'"status":"partial"}}' % (turn_id.encode(), text.encode()),
    )


@pytest.mark.parametrize("other", DATABASE_KINDS)
def test_every_outcome_comes_back_byte_for_byte(
    store: Store, new_database: NewDatabase, other: DatabaseKind
) -> None:
    every_outcome(store)
    lines = list(export_session(store.database, "default", "s1"))
    statuses = gate_statuses(store)
    assert Counter(statuses) == {
        "allowed": 1,
        "denied": 1,
        "denied-by-policy": 1,
        "expired": 1,
        "withdrawn": 3,
        "answered": 1,
    }

    with opened(new_database(other)) as elsewhere:
        for added in (len(lines) - 2, 0):
            taken = import_export(elsewhere.log, elsewhere.runner, "default", lines)
            assert taken.added == added
            assert list(export_session(elsewhere.database, "default", "s1")) == lines
        assert verify(elsewhere.database, "default", "s1").ok
        assert rebuild(elsewhere.database, elsewhere.runner, check_only=True).differences == ()
        assert gate_statuses(elsewhere) == statuses
        every_outcome_goes_on(elsewhere)


def gate_statuses(store: Store) -> list[str]:
    with store.database.read() as connection:
        rows = connection.execute(t.gates.select().order_by(t.gates.c.gate_id))
        return [row.status for row in rows]


def every_outcome_goes_on(store: Store) -> None:
    store.append(
        [propose("turn-started", b'{"turn_id":"t9","messages":[{"role":"user","content":"d"}]}')],
        producer_id="p9",
    )
    assert verify(store.database, "default", "s1").ok
