"""What did a turn begin with that is out of sight now?"""

from sqlalchemy import Connection

from domain.events import Fact, HistoryRewound, TurnStarted
from infrastructure.command_handler import Target
from infrastructure.lineages import lineage_of
from infrastructure.reading.facts import fact_at
from infrastructure.recorder import find_key
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
    started = shared_fact(connection, key, rewound.from_version)
    if not isinstance(started, TurnStarted):
        return TurnInput(turn_id=rewound.turn_id)
    return turn_input(rewound.turn_id, started.messages)


def shared_fact(connection: Connection, key: int, version: int) -> Fact | None:
    """Return a session's fact, also one from before the session began as a fork."""
    found = fact_at(connection, key, version)
    if found is not None:
        return found
    holders = [each.key for each in lineage_of(connection, key) if each.version >= version]
    return fact_at(connection, holders[-1], version) if holders else None
