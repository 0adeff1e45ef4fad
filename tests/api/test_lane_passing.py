"""A message whose session goes away again and again waits for another, until the server stops."""

import asyncio
from collections.abc import Iterator

import pytest
from fastapi import Response

from api.body import RawBody
from api.lane_message_bodies import LaneMessageBody, PassedOn
from api.lane_passing import PAUSES_S, passing_of, resolved_for
from api.problems import ProblemError
from api.shapes import Shape
from domain.json_text import dump, parse
from domain.refusals import SessionIsArchived
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.lanes.lookup import FoundLane
from tests.api.lane_chats import DIRECT
from tests.api.serving import ON_ONE_DATABASE, PATIENCE_S, open_log

pytestmark = ON_ONE_DATABASE
AN_HOUR_S = 3600.0


@pytest.fixture
def log(database_url: str) -> Iterator[Turnlog]:
    """A log as a server has it open."""
    with open_log(database_url) as log:
        yield log


def message() -> PassedOn:
    """Return a message of somebody who was never seen."""
    raw = dump({"source": DIRECT, "text": "Hello"})
    body = RawBody(raw, parse(raw))
    return PassedOn(body, body.valid(LaneMessageBody), "default", None)


def test_a_message_whose_session_keeps_going_away_is_refused_once_the_server_stops(
    log: Turnlog,
) -> None:
    tries: list[str] = []

    async def gone(target: Target, _: FoundLane, __: Shape) -> Response | None:
        tries.append(target.session_id)
        if len(tries) == len(PAUSES_S) - 4:
            log.stop()
        raise SessionIsArchived

    async def passed_on() -> None:
        passing = await passing_of(log, message(), None, Caller())
        await asyncio.wait_for(resolved_for(passing, gone), PATIENCE_S)

    with pytest.raises(ProblemError) as refused:
        asyncio.run(passed_on())

    assert (refused.value.code, refused.value.type.action) == ("shutting-down", "retry")
    assert refused.value.headers == {"Retry-After": "1"}
    assert len(tries) == len(PAUSES_S) - 4


def test_a_pause_is_over_when_the_server_stops(log: Turnlog) -> None:
    async def paused() -> list[bool]:
        short = await log.pause(0.001)
        long = asyncio.create_task(log.pause(AN_HOUR_S))
        await asyncio.to_thread(log.stop)
        cut_off = await asyncio.wait_for(long, PATIENCE_S)
        return [short, cut_off, await log.pause(AN_HOUR_S), await log.pause(0.0)]

    assert asyncio.run(paused()) == [True, False, False, False]
