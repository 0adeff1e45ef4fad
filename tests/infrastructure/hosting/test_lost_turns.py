"""What is left of half a turn that nobody ends: nothing that waits, and nothing guessed."""

import asyncio
from collections.abc import Sequence

from domain import commands as c
from domain import events as e
from domain.decided import fact
from domain.keys import keys_of
from domain.messages import Message
from domain.raw_json import RawJson
from infrastructure import runs
from infrastructure.command_handler import Caller
from infrastructure.composition import Turnlog, open_turnlog
from infrastructure.deleting import delete
from infrastructure.hosting.journal import LogJournal
from infrastructure.proposing import proposal_of
from infrastructure.recovering import Watch, recover
from infrastructure.runner import Attempt
from infrastructure.serialization import encode
from infrastructure.settings import load
from tests.infrastructure.writing import SECOND, SetClock, target

SESSION = target("s")
HALF = RawJson(b'"{\\"q\\":"')


def started(turn_id: str) -> c.Record:
    event = e.TurnStarted(turn_id=turn_id, messages=(Message(role="user", content="hi"),))
    return c.Record(proposal=proposal_of("turn-started", encode(fact(event))))


def begun(log: Turnlog, *steps: c.SessionCommand, turn_id: str) -> LogJournal:
    """Carry out steps, and lease the turn for 30 seconds."""

    def write(attempt: Attempt) -> tuple[int, int]:
        known = log.handler.state(attempt, SESSION, keys_of(steps))
        done = log.handler.carry_out(attempt, SESSION, steps, caller=Caller(), known=known)
        key, _ = log.handler.state(attempt, SESSION)
        assert key is not None
        now = log.handler.now()
        fence = runs.begin(attempt.connection, key, "default", turn_id, "host", 30, now)
        return fence, done.head.version

    journal = LogJournal(log, SESSION, turn_id, Caller())
    journal.lease(*asyncio.run(log.write(write)))
    return journal


def events(log: Turnlog) -> Sequence[object]:
    return [each.event for each in log.log.stream("default", "s")]


def test_half_a_turn_is_closed_by_events_and_the_session_goes_on(database_url: str) -> None:
    clock, watch = SetClock(), Watch()
    settings = {"TURNLOG_DATABASE_URL": database_url, "TURNLOG_ALLOW_UNSAFE_DURABILITY": "true"}
    with open_turnlog(load(settings), clock) as log:
        journal = begun(log, c.OpenSession(), started("t1"), turn_id="t1")
        half = e.ToolCallRequested(turn_id="t1", tool_call_id="x", name="f", arguments=HALF)
        asked = e.GateOpened(
            gate_id="g", turn_id="t1", kind="permission", tool_call_id="y", tool="h"
        )
        asyncio.run(journal.record([half, asked]))
        asyncio.run(recover(log, watch, 0))
        clock.at += 60 * SECOND

        assert asyncio.run(recover(log, watch, 60 * SECOND)) == 1

        assert events(log)[2:8] == [
            half,
            asked,
            e.GateWithdrawn(gate_id="g", reason="owner-lost"),
            outcome("x", b'{"turnlog":"outcome-unknown"}'),
            outcome("y", b'{"turnlog":"not-run"}'),
            e.TurnInterrupted(turn_id="t1", reason="owner-lost"),
        ]
        begun(log, started("t2"), turn_id="t2")


def test_half_a_turn_is_closed_by_events_when_its_session_is_deleted(database_url: str) -> None:
    settings = {"TURNLOG_DATABASE_URL": database_url, "TURNLOG_ALLOW_UNSAFE_DURABILITY": "true"}
    with open_turnlog(load(settings), SetClock()) as log:
        journal = begun(log, c.OpenSession(), started("t1"), turn_id="t1")
        half = e.ToolCallRequested(turn_id="t1", tool_call_id="x", name="f", arguments=HALF)
        asyncio.run(journal.record([half]))

        asyncio.run(log.write(lambda attempt: delete(log.handler, attempt, SESSION, Caller())))

        assert events(log)[2:] == [
            half,
            outcome("x", b'{"turnlog":"outcome-unknown"}'),
            e.TurnInterrupted(turn_id="t1", reason="session-deleted"),
            e.SessionDeleted(),
        ]


def outcome(call_id: str, output: bytes) -> e.ToolCallCompleted:
    return e.ToolCallCompleted(
        turn_id="t1", tool_call_id=call_id, output=RawJson(output), is_error=True
    )
