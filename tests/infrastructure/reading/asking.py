"""How do tests ask for views? In one read transaction, with its statements counted."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Self, TypeVar

import psycopg
import pytest
from sqlalchemy import Connection

from domain.commands import Proposal
from domain.raw_json import dumped
from infrastructure.reading.moment import At, Moment, moment
from infrastructure.reading.transcript import extent, page
from projections.transcript import TranscriptMessage
from tests.infrastructure.writing import SECOND, Store, propose, target

Answer = TypeVar("Answer")
Look = Callable[[Connection, Moment], Answer]


def looked(
    store: Store, look: Look[Answer], at: At | None = None, session_id: str = "s1"
) -> Answer:
    """Return what `look` makes of a session at a moment."""
    with store.database.read() as connection:
        return look(connection, moment(connection, target(session_id), at))


def statements(
    store: Store, look: Look[object], at: At | None = None, session_id: str = "s1"
) -> int:
    """Return how many statements it takes to look."""
    with counted(store) as (connection, seen):
        look(connection, moment(connection, target(session_id), at))
    return len(seen)


@contextmanager
def counted(store: Store) -> Generator[tuple[Connection, list[str]]]:
    """Give a connection for reading and the list of what the driver executes on it."""
    seen: list[str] = []

    class Noting(psycopg.Cursor[Any]):
        def execute(self, query: Any, *arguments: Any, **options: Any) -> Self:  # noqa: ANN401
            if self.connection is driver:  # others may ask meanwhile, of other connections
                seen.append(str(query))
            return super().execute(query, *arguments, **options)

    class NotingRaw(Noting, psycopg.RawCursor[Any]):
        pass

    with store.database.read() as connection:
        driver: Any = connection.connection.driver_connection
        if store.database.kind == "sqlite":
            driver.set_trace_callback(seen.append)
            yield connection, seen
            driver.set_trace_callback(None)
        else:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(driver, "cursor_factory", Noting)
                patch.setattr(psycopg, "RawCursor", NotingRaw)
                yield connection, seen


def everything(connection: Connection, found: Moment) -> list[TranscriptMessage]:
    """Return the whole transcript, archived messages too."""
    shown = extent(found, with_archived=True)
    return page(connection, found, shown.after(0, shown.end))


def as_json(messages: list[TranscriptMessage]) -> list[bytes]:
    """Return messages as they are sent."""
    return [dumped(message.shape()) for message in messages]


def gated_turn(number: int, session_id: str) -> list[Proposal]:
    """Return a turn of 4 messages: two calls of one id, one behind a gate, in 10 events."""
    said = [
        ("turn-started", '"messages":[{"role":"user","content":"go"}]'),
        (
            "message-recorded",
            '"message":{"role":"assistant","content":"let","message_id":"a-TURN","status":"partial"}',
        ),
        (
            "message-recorded",
            '"message":{"role":"assistant","content":"let me see","message_id":"a-TURN"}',
        ),
        (
            "gate-opened",
            (
                '"gate_id":"g-SESSION-TURN","kind":"permission","permission_id":"p",'
                '"tool_call_id":"c","tool":"rm","arguments":{"n": 1.50}'
            ),
        ),
        ("tool-call-requested", '"tool_call_id":"c","name":"rm","arguments":{"n": 1.50}'),
        ("tool-call-requested", '"tool_call_id":"c","name":"ls","arguments":"{\\"q"'),
        (
            "gate-decided",
            '"gate_id":"g-SESSION-TURN","verdict":"approved","decided_by":"person","via":"in-band"',
        ),
        ("tool-call-completed", '"tool_call_id":"c","output":{"v": 2.0}'),
        ("message-recorded", '"message":{"role":"assistant","content":"done"}'),
        ("turn-completed", '"record_count":9'),
    ]
    turn_id = f"t{number}"
    return [
        propose(
            type_,
            f'{{"turn_id":"{turn_id}",{data}}}'.replace("TURN", turn_id)
            .replace("SESSION", session_id)
            .encode(),
        )
        for type_, data in said
    ]


def long_session(store: Store, turns: int, session_id: str = "s1") -> None:
    """Record gated turns, a second apart."""
    for number in range(1, turns + 1):
        store.clock.at += SECOND
        store.append(gated_turn(number, session_id), session_id)
