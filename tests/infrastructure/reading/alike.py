"""What is read of a session at a moment, so that two moments can be held against each other."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from sqlalchemy import Connection

from domain.state import State
from infrastructure.command_handler import Target
from infrastructure.reading.fingerprint import Fingerprints, fingerprints
from infrastructure.reading.moment import At, Moment, moment
from infrastructure.reading.past import known_at
from infrastructure.reading.transcript import extent, extent_placed, live_view, page
from infrastructure.reading.transcript_json import page_json
from infrastructure.reading.turns import TurnQuery, TurnView, turns
from projections.window import Window


@dataclass(frozen=True)
class Read:
    """All that a moment shows."""

    live: object
    displayed: list[str]
    placed: list[str]
    folded: list[object]
    chains: Fingerprints
    turns: Sequence[TurnView]


def read(connection: Connection, target: Target, version: int) -> Read:
    """Return what a session shows at a version."""
    at = moment(connection, target, At(version=version))
    displayed, placed = _windows(connection, at)
    return Read(
        live=asdict(live_view(connection, at)),
        displayed=page_json(connection, at, displayed),
        placed=page_json(connection, at, placed),
        folded=[each.shape() for each in page(connection, at, placed)],
        chains=fingerprints(connection, at, v1=True),
        turns=turns(connection, at, TurnQuery(with_rewound=True, limit=200)),
    )


def _windows(connection: Connection, at: Moment) -> tuple[Window, Window]:
    shown, every = extent(at, with_archived=True), extent_placed(connection, at)
    return shown.after(shown.first, shown.end), every.after(every.first, every.end)


def known(connection: Connection, target: Target, version: int) -> State:
    """Return what the rules knew of a session at a version."""
    state = known_at(connection, moment(connection, target, At(version=version)))
    return replace(state, branches={}, moves={}, messages={}, message_ids={}, checkpoints={})
