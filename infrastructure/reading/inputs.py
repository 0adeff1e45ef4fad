"""What did a turn begin with that is out of sight now?"""

from dataclasses import replace

from sqlalchemy import Connection

from domain.events import HistoryRewound, MessageRecorded, TurnStarted
from domain.messages import Message
from infrastructure.command_handler import Target
from infrastructure.reading.facts import fact_at
from infrastructure.recorder import find_key
from infrastructure.stored_records import StoredRecords
from projections.inputs import TurnInput, turn_input


def removed_input(connection: Connection, target: Target, rewind_version: int) -> TurnInput | None:
    """Return what the first turn began with that the rewind at a version took out.

    None if that rewind's own fact is gone.
    """
    key = find_key(connection, target.project_id, target.session_id)
    rewound = None if key is None else fact_at(connection, key, rewind_version)
    if key is None or not isinstance(rewound, HistoryRewound):
        return None
    return input_of(connection, key, rewound)


def input_of(connection: Connection, key: int, rewound: HistoryRewound) -> TurnInput:
    """Return the same of a rewind that is known, or would be."""
    started = fact_at(connection, key, rewound.from_version)
    if not isinstance(started, TurnStarted):
        return TurnInput(turn_id=rewound.turn_id)
    messages = [_whole(connection, key, message) for message in started.messages]
    return turn_input(rewound.turn_id, messages)


def _whole(connection: Connection, key: int, message: Message) -> Message:
    """Return the message that took a partial one's place."""
    if message.status != "partial" or message.message_id is None:
        return message
    placed = StoredRecords(connection, key, 0).named(message.message_id)
    last = None if placed is None else fact_at(connection, key, placed.versions[-1])
    if not isinstance(last, MessageRecorded):
        return message
    return replace(message, content=last.message.content)
