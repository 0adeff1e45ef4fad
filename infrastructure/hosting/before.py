"""Did this request come before, and which turn did it begin then?"""

from collections.abc import Sequence

from sqlalchemy import Connection

from domain import events as e
from domain.canonical import canonical
from domain.json_text import JsonValue, parse
from domain.messages import Message, parts_of, readable
from domain.raw_json import dumped
from domain.recorded import Recorded
from infrastructure.command_handler import Appended, Target
from infrastructure.fork_records import records_of
from infrastructure.hosting.asking import Ask
from infrastructure.hosting.became import Dispatched
from infrastructure.idempotency import Kept
from infrastructure.reading.facts import fact_at
from infrastructure.reading.sessions import session_head


class CameBefore(Exception):
    """The request's key stands for an answer that was given before."""

    def __init__(self, kept: Kept) -> None:
        """Take what was kept of it."""
        super().__init__()
        said = parse(kept.result)
        self.kept = kept
        self.turn_id = _text(said, "turn_id")
        self.queue_id = _text(said, "queue_id")
        self.session_id = _text(said, "session_id")


def kept_of(done: Dispatched) -> Kept:
    """Return what is kept of a request: the turn by which its answer is found again."""
    return kept_as(done.appended, done.turn_id)


def kept_as(recorded: Appended | None, turn_id: str | None) -> Kept:
    """Return what is kept of a request that was recorded, and is this turn if it does not wait."""
    facts = () if recorded is None else recorded.facts
    found = {
        "turn_id": turn_id,
        "queue_id": _queued(facts),
        "session_id": facts[0].envelope.session_id if facts else None,
    }
    return Kept(
        status=200,
        first_version=facts[0].version if facts else None,
        last_version=facts[-1].version if facts else None,
        result=dumped(found),
    )


def _queued(facts: Sequence[Recorded]) -> str | None:
    """Return the id under which the input waits that the request became."""
    return next((f.event.queue_id for f in facts if isinstance(f.event, e.InputQueued)), None)


def _text(said: JsonValue, name: str) -> str | None:
    found = said.get(name) if isinstance(said, dict) else None
    return found if isinstance(found, str) else None


def turn_of_same(connection: Connection, target: Target, ask: Ask, message_id: str) -> str | None:
    """Return the turn that began with this very message; None if its words were others.

    A user message's own id is a key by nature: whoever sends it again wants the same answer.
    """
    start = None if ask.start is None else ask.start.event
    if not isinstance(start, e.TurnStarted):
        return None
    key, head, _ = session_head(connection, target)
    records = records_of(connection, key, head)
    placed = records.named(message_id)
    turn = None if placed is None else records.turn(placed.turn_id)
    if placed is None or turn is None:
        return None
    before = _named(fact_at(connection, key, placed.versions[0]), message_id)
    now = _named(start, message_id)
    same = before is not None and now is not None and _said(before) == _said(now)
    return placed.turn_id if same else None


def _named(fact: e.Fact | None, message_id: str) -> Message | None:
    """Return the message of a person with this id that a fact brought."""
    match fact:
        case e.TurnStarted(messages=messages):
            said = messages
        case e.MessageRecorded(message=message) if message.role == "user":
            said = (message,)
        case _:
            said = ()
    return next((each for each in said if each.message_id == message_id), None)


def _said(message: Message) -> bytes:
    return canonical({"role": message.role, "parts": [*readable(parts_of(message))]})
