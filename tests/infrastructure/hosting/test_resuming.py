"""Turns that were cut off are found while that is not long ago, and let be after that."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from domain import commands as c
from domain import events as e
from domain.json_text import JsonValue
from domain.lanes.source import read_source
from domain.state import Head
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog, open_turnlog
from infrastructure.harness.in_process import InProcessHarnesses
from infrastructure.hosting.asking import Address, Ask
from infrastructure.hosting.attending_places import CUT_OFF, STALE, Place, places
from infrastructure.hosting.opening import hosting
from infrastructure.hosting.resuming import Resuming, request
from infrastructure.hosting.resuming_lanes import LOOK_EACH, LaneResuming
from infrastructure.lanes.arriving import arrival
from infrastructure.project_settings import change_settings
from infrastructure.proposing import proposal_of
from infrastructure.reading.sessions import session_head
from infrastructure.setting_rows import Change
from infrastructure.settings import load
from tests.infrastructure.writing import SECOND, SetClock

TARGET = Target(project_id="default", session_id="s")
BEGUN = c.Record(
    proposal=proposal_of(
        "turn-started", b'{"turn_id":"t1","messages":[{"role":"user","content":"hi"}]}'
    )
)
CUT = c.InterruptTurn(turn_id="t1", reason="server-restarted")
SHORTER: dict[str, JsonValue] = {"lanes": {"resume_fresh_s": 60}}
QUEUED = c.Note(event=e.InputQueued(queue_id="q", request={}))


async def unread(_: Target, __: bytes, ___: Address) -> Ask:
    """Nothing is begun here."""
    raise NotImplementedError


@contextmanager
def opened(url: str, *steps: c.SessionCommand) -> Generator[Turnlog]:
    """Give a log with a session in which this was done."""
    settings = {"TURNLOG_DATABASE_URL": url, "TURNLOG_ALLOW_UNSAFE_DURABILITY": "true"}
    with open_turnlog(load(settings), SetClock()) as log:
        for step in (c.OpenSession(), *steps):
            asyncio.run(do(log, step))
        yield log


async def do(log: Turnlog, step: c.SessionCommand, target: Target = TARGET) -> None:
    """Carry a command out."""
    await log.write(lambda attempt: log.handler.carry_out(attempt, target, [step], caller=Caller()))


async def cleared(log: Turnlog) -> None:
    """Have it noted, twice, that it is too long ago."""
    async with hosting(log, unread, InProcessHarnesses(), attends=False) as hosts:
        resuming = Resuming(log, hosts)
        await resuming.clear(Place("default", "s", "t1"))
        await resuming.clear(Place("default", "s", "t1"))


def found(log: Turnlog, since: int) -> tuple[list[str], list[str]]:
    """Return what was cut off after a moment, and what before."""
    names: list[list[str]] = []
    for look in (CUT_OFF, STALE):
        looked: list[Place] = log.read_now(lambda db: [*places(db, look, {"since": since})])  # noqa: B023
        names.append([place.name for place in looked])
    return names[0], names[1]


def head(log: Turnlog) -> Head:
    """Return where the session stands."""
    return log.read_now(lambda connection: session_head(connection, TARGET)[1])


def test_what_was_cut_off_is_found_until_it_is_too_long_ago(database_url: str) -> None:
    with opened(database_url, BEGUN, CUT) as log:
        at = head(log).resume_at

        assert found(log, at - 1) == (["t1"], [])
        assert found(log, at) == ([], ["t1"])


@pytest.mark.parametrize(
    "step",
    [
        c.ArchiveSession(),
        c.Note(event=e.ResumeCleared(turn_id="t1", reason="stale")),
        c.Record(
            proposal=proposal_of(
                "turn-started", b'{"turn_id":"t2","messages":[{"role":"user","content":"more"}]}'
            )
        ),
        QUEUED,
    ],
)
def test_a_session_that_went_on_or_is_put_away_is_not_gone_on_with(
    database_url: str, step: c.SessionCommand
) -> None:
    with opened(database_url, BEGUN, CUT, step) as log:
        assert found(log, 0)[0] == []


def test_what_is_too_long_ago_is_cleared_once(database_url: str) -> None:
    with opened(database_url, BEGUN, CUT) as log:
        asyncio.run(cleared(log))

        assert head(log).resume_turn is None
        facts = [fact.event for fact in log.log.stream("default", "s")]
        assert facts[-1] == e.ResumeCleared(turn_id="t1", reason="stale")
        assert sum(isinstance(fact, e.ResumeCleared) for fact in facts) == 1


def test_what_lanes_have_is_looked_at_by_the_settings_of_their_project(database_url: str) -> None:
    source = read_source({"platform": "telegram", "chat_id": "1"})
    with opened(database_url, BEGUN, CUT) as log:

        async def look() -> None:
            came = await log.read(lambda connection: arrival(connection, "default", source))
            lane = await log.write(lambda attempt: log.lanes.resolve(attempt, came, Caller()))
            there = Target(project_id="default", session_id=lane.session_id)
            for step in (BEGUN, CUT):
                await do(log, step, there)
            async with hosting(log, unread, InProcessHarnesses(), attends=False) as hosts:
                resuming = LaneResuming(log, hosts, Resuming(log, hosts))
                for number in (1, 2, 1 + LOOK_EACH):
                    await resuming.look(number, resumes=True)
                assert log.counting.held == {"not-connected": 1}
                change = Change(actor=None, now=0)
                await log.write(
                    lambda attempt: change_settings(attempt.connection, "default", SHORTER, change)
                )
                assert isinstance(log.now, SetClock)
                log.now.at += 60 * SECOND
                await resuming.look(1, resumes=False)
            now = await log.read(lambda connection: session_head(connection, there)[1])
            assert now.resume_turn is None

        asyncio.run(look())
        assert head(log).resume_turn == "t1", "another's time is not over"
        assert found(log, 0) == (["t1"], [])


def test_the_note_has_an_author_and_an_id_of_its_own() -> None:
    said = request(Head(history_version=4), "t1")
    assert b'"message_id":"resume-t1"' in said
    assert b'"author":{"subject_id":"turnlog","display":"turnlog"}' in said
    assert b'"history_version":4' in said
