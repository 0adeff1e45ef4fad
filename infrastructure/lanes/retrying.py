"""What did a person say last in a session, to be said again as it was?"""

from typing import NamedTuple

from sqlalchemy import Connection

from domain import events as e
from domain.commands import HeadClaim
from domain.json_text import JsonValue
from domain.messages import Message, parts_of, readable
from domain.refusals import NothingToRetry
from infrastructure.command_handler import Target
from infrastructure.hosting.asking import Address
from infrastructure.hosting.cut_off import is_ours
from infrastructure.lanes.addressed import addressed_turns
from infrastructure.reading.inputs import shared_fact
from infrastructure.reading.sessions import session_head


class LastInput(NamedTuple):
    """What was said last to the agent.

    Attributes:
        turn_id: The turn that began with it.
        message: It, as a request says it; without its id, which is taken.
        address: Where the turn's answer went.
        claim: The history in which it is the last; None while a turn runs, which adds to it.
    """

    turn_id: str
    message: JsonValue
    address: Address
    claim: HeadClaim | None


def last_input(connection: Connection, target: Target) -> LastInput:
    """Return what was said last; what was only overheard is none of it, nor what nobody said.

    Raises:
        NothingToRetry: nothing is in sight.
        NoSuchSession: it is gone.
    """
    key, head, _ = session_head(connection, target)
    claim = HeadClaim(history_version=head.history_version, fingerprint=head.fingerprint.hex())
    for turn in addressed_turns(connection, target):
        started = shared_fact(connection, key, turn.started_version)
        said = [] if not isinstance(started, e.TurnStarted) else _said(started)
        if said:
            address = Address(turn.lane_id, turn.reply_to)
            seen = claim if head.turn_id is None else None
            return LastInput(turn.turn_id, _as_one(said), address, seen)
    raise NothingToRetry


def _said(started: e.TurnStarted) -> list[Message]:
    """Return what people said; what turnlog itself says to have a turn go on is none of it."""
    return [
        message
        for message in started.messages
        if message.role == "user" and not is_ours(message.author)
    ]


def _as_one(said: list[Message]) -> JsonValue:
    """Return messages as one, nothing put between; the words of one alone stay as they were."""
    content: JsonValue
    if len(said) == 1 and isinstance(said[0].content, str):
        content = said[0].content
    else:
        content = [part for message in said for part in readable(parts_of(message))]
    message: dict[str, JsonValue] = {"role": "user", "content": content}
    author = said[-1].author
    if author is not None:
        whose: dict[str, JsonValue] = {"subject_id": author.subject_id}
        if author.display is not None:
            whose["display"] = author.display
        message["author"] = whose
    return message
