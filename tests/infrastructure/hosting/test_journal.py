"""The log, as one run writes to it: once, as the holder of the lease, whatever was answered."""

import asyncio
from collections.abc import Iterator
from typing import Any, cast

import pytest
from sqlalchemy.exc import OperationalError

from domain import commands as c
from domain import events as e
from domain.decided import fact
from domain.events.session import ApprovalMode
from domain.keys import keys_of
from domain.messages import Message
from domain.refusals import TurnFenced
from infrastructure import runs
from infrastructure.command_handler import Caller
from infrastructure.composition import Turnlog, open_turnlog
from infrastructure.hosting.by_mode import Question
from infrastructure.hosting.journal import LogJournal
from infrastructure.hosting.journal_port import Stood, StoreAway
from infrastructure.proposing import proposal_of
from infrastructure.runner import Attempt, Work
from infrastructure.serialization import encode
from infrastructure.settings import load
from tests.infrastructure.writing import target

SESSION = target("s")


def said(text: str) -> e.MessageRecorded:
    message = Message(role="assistant", content=text)
    return e.MessageRecorded(turn_id="t1", message=message)


class Shaky:
    """A log whose connection breaks once, before a commit or after it."""

    def __init__(self, log: Turnlog) -> None:
        self.log = log
        self.handler = log.handler
        self.settings = log.settings
        self.breaks: str | None = None

    async def write(self, work: Work[Any]) -> object:
        breaks, self.breaks = self.breaks, None
        done = None if breaks == "before" else await self.log.write(work)
        if breaks is not None:
            raise OperationalError("COMMIT", {}, Exception(breaks))
        return done

    def begun(self, *steps: c.SessionCommand) -> tuple[int, int]:
        """Carry out steps, and lease the turn; return the fence, and the version."""

        def write(attempt: Attempt) -> tuple[int, int]:
            known = self.handler.state(attempt, SESSION, keys_of(steps))
            done = self.handler.carry_out(attempt, SESSION, steps, caller=Caller(), known=known)
            key, _ = self.handler.state(attempt, SESSION)
            assert key is not None
            now = self.handler.now()
            fence = runs.begin(attempt.connection, key, "default", "t1", "host", 30, now)
            return fence, done.head.version

        return asyncio.run(self.log.write(write))

    def carried_out(self, *steps: c.SessionCommand) -> None:
        """Carry out steps, whoever has the lease."""

        def write(attempt: Attempt) -> None:
            known = self.handler.state(attempt, SESSION, keys_of(steps))
            self.handler.carry_out(attempt, SESSION, steps, caller=Caller(), known=known)

        asyncio.run(self.log.write(write))

    def lease_until(self) -> int:
        run = self.log.read_now(lambda connection: runs.find_named(connection, "default", "s"))
        assert run is not None
        return run.lease_until

    def journal(self, *steps: c.SessionCommand) -> LogJournal:
        journal = LogJournal(cast("Turnlog", self), SESSION, "t1", Caller())
        journal.lease(*self.begun(*steps))
        return journal

    def types(self) -> list[str]:
        return [fact.envelope.type for fact in self.log.log.stream("default", "s")]

    def texts(self) -> list[object]:
        found = [fact.event for fact in self.log.log.stream("default", "s")]
        return [event.message.content for event in found if isinstance(event, e.MessageRecorded)]


def record(event: e.SessionEvent, name: str) -> c.Record:
    return c.Record(proposal=proposal_of(name, encode(fact(event))))


BEGUN = (
    c.OpenSession(),
    record(
        e.TurnStarted(turn_id="t1", messages=(Message(role="user", content="hi"),)), "turn-started"
    ),
)


@pytest.fixture
def shaky(database_url: str) -> Iterator[Shaky]:
    """A session without a turn yet."""
    settings = {"TURNLOG_DATABASE_URL": database_url, "TURNLOG_ALLOW_UNSAFE_DURABILITY": "true"}
    with open_turnlog(load(settings)) as log:
        yield Shaky(log)


@pytest.mark.parametrize("breaks", ["before", "after"])
def test_what_is_asked_for_again_is_recorded_once(shaky: Shaky, breaks: str) -> None:
    journal = shaky.journal(*BEGUN)
    asyncio.run(journal.record([said("first")]))
    events = [said("second")]
    shaky.breaks = breaks
    with pytest.raises(StoreAway):
        asyncio.run(journal.record(events))

    asyncio.run(journal.record(events))

    assert shaky.texts() == ["first", "second"]


@pytest.mark.parametrize("mode", ["allow-all", "deny-all", "always-ask", None])
@pytest.mark.parametrize("breaks", ["before", "after", None])
def test_a_question_is_recorded_once_with_what_the_mode_makes_of_it(
    shaky: Shaky, breaks: str | None, mode: ApprovalMode | None
) -> None:
    journal = shaky.journal(c.OpenSession(approval_mode=mode), *BEGUN[1:])
    asked = [e.GateOpened(gate_id="g1", turn_id="t1", kind="permission")]
    question = Question(
        gate_id="g1", turn_id="t1", kind="permission", tool_kind="unknown", pauses=True
    )
    shaky.breaks = breaks

    def ask() -> Stood:
        return asyncio.run(journal.record(asked, question=question))

    if breaks is not None:
        with pytest.raises(StoreAway):
            ask()

    verdict = ask().verdict

    decided = {"allow-all": "allow", "deny-all": "deny"}
    assert verdict == decided.get(mode or "", "ask")
    answered = ["gate-decided", "gate-consumed"] if verdict != "ask" else []
    assert shaky.types()[2:] == ["gate-opened", *answered]
    assert shaky.lease_until() == 0 if verdict == "ask" else shaky.lease_until() > 0


def test_an_answer_of_a_person_is_not_taken_for_the_modes(shaky: Shaky) -> None:
    journal = shaky.journal(*BEGUN)
    asked = [e.GateOpened(gate_id="g1", turn_id="t1", kind="permission")]
    question = Question(gate_id="g1", turn_id="t1", kind="permission", tool_kind="read")
    shaky.breaks = "after"
    with pytest.raises(StoreAway):
        asyncio.run(journal.record(asked, question=question))
    said = e.GateDecided(gate_id="g1", verdict="approved", decided_by="person", via="out-of-band")
    shaky.carried_out(record(said, "gate-decided"))

    assert asyncio.run(journal.record(asked, question=question)).verdict == "ask"


def test_what_another_run_of_the_turn_recorded_is_not_taken_for_ours(shaky: Shaky) -> None:
    asyncio.run(shaky.journal(*BEGUN).record([said("first")]))
    again = shaky.journal(c.Note(event=e.HarnessResumed(seat_id="s1", owner="host", turn_id="t1")))
    events = [said("second")]
    shaky.breaks = "before"
    with pytest.raises(StoreAway):
        asyncio.run(again.record(events))

    asyncio.run(again.record(events))

    assert shaky.texts() == ["first", "second"]


def test_whoever_lost_the_lease_records_nothing(shaky: Shaky) -> None:
    journal = shaky.journal(*BEGUN)
    shaky.begun(c.Note(event=e.HarnessResumed(seat_id="s2", owner="other", turn_id="t1")))

    with pytest.raises(TurnFenced):
        asyncio.run(journal.record([said("late")]))

    assert shaky.texts() == []
