"""What is different of a session between two moments?

What both have in sight is not read; of the rest at most a page each way. A step from one version to
the next costs one fold, whatever the session's length.
"""

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, select

from domain.checkpoints import EVERY
from domain.events import SessionConfigured, SessionOpened
from domain.paths import turn_runs
from domain.readiness import Policy, readiness
from domain.resuming import Views, resumed
from domain.state import Call, Gate, State, Turn
from infrastructure import tables as t
from infrastructure.fork_records import records_on
from infrastructure.reading.facts import fact_at
from infrastructure.reading.inherited_calls import Waiting
from infrastructure.reading.moment import Moment
from infrastructure.reading.past import go_on, known_at, nearest
from infrastructure.reading.places import finder
from infrastructure.reading.transcript_json import page_json
from infrastructure.view_rows import call_of, gate_of, turn_of
from projections.chains import config_fingerprint
from projections.diff import Parting, Point, Side, change_of, turn_item
from projections.session_state import open_calls, open_gates, open_turn
from projections.window import Extent

Shape = dict[str, object]


def points(connection: Connection, a: Moment, b: Moment, policy: Policy) -> tuple[Point, Point]:
    """Return what the rules knew at both moments."""
    later = later_of(a, b)
    earlier = b if later is a else a
    before, after = _states(connection, earlier, later)
    states = {earlier.through: before, later.through: after}
    found = [states[moment.through] for moment in (a, b)]
    versions = [state.head.config_version for state in found]
    configs: list[str | None] = [None, None]
    if versions[0] != versions[1]:
        configs = [_config(connection, later, version) for version in versions]
    first, second = (
        _point(moment, state, config, policy)
        for moment, state, config in zip((a, b), found, configs, strict=True)
    )
    return first, second


def _states(connection: Connection, earlier: Moment, later: Moment) -> tuple[State, State]:
    """Return both states; the later one is folded on from the earlier one if that is near."""
    if later.is_now or later.through - earlier.through > EVERY:
        return known_at(connection, earlier), known_at(connection, later)
    checkpoint = nearest(connection, earlier) if earlier.head.checkpoint else None
    since = 0 if checkpoint is None else checkpoint.version
    state = go_on(connection, earlier, resumed(checkpoint), since)
    return state.copy(), go_on(connection, later, state, since)


def later_of(a: Moment, b: Moment) -> Moment:
    """Return the moment that knows of all that the other one does."""
    return a if a.through > b.through else b


def _config(connection: Connection, moment: Moment, version: int | None) -> str | None:
    if version is None:
        return None
    fact = fact_at(connection, moment.key_at(version), version)
    if isinstance(fact, SessionConfigured | SessionOpened):
        return config_fingerprint(fact.config)
    return None


def _point(moment: Moment, state: State, config: str | None, policy: Policy) -> Point:
    return Point(
        version=moment.through,
        spot=moment.sight.spot,
        placed=moment.sight.placed,
        started=moment.sight.started,
        state=state,
        readiness=readiness(state.head, open_turn(state), policy, moment.agreements),
        config=config,
    )


def turns_of(
    connection: Connection, moment: Moment, point: Point, side: Side, limit: int, *, added: bool
) -> list[Shape]:
    """Return the first turns of what is in sight at one point only."""
    high = min(side.end, side.begin + limit)
    runs = turn_runs(finder(connection, moment), moment.sight.spot, side.begin, high)
    found: list[Shape] = []
    for run in runs:
        for turn in _turns(connection, moment, run):
            depth = side.begin + len(found)
            found.append(turn_item(point, turn, change_of(side, depth, added=added)))
    return found


def messages_of(
    connection: Connection, moment: Moment, side: Side, begin: int, limit: int, *, added: bool
) -> list[tuple[str, str]]:
    """Return a page of the messages that are in sight at one point only, as they stood there.

    Each with what became of it, and as JSON.
    """
    end = min(side.end, begin + limit)
    shown = _messages(connection, moment, begin, end) if begin < end else []
    return [
        (change_of(side, depth, added=added), message) for depth, message in enumerate(shown, begin)
    ]


def message_changes(
    connection: Connection, a: Moment, b: Moment, parting: Parting, points_: tuple[Point, Point]
) -> list[tuple[str, str]]:
    """Return the messages in sight at both that were added to, as JSON, at the one and the other.

    There is one at most: the last one of the earlier point, if it was open.
    """
    low, high = sorted((a.through, b.through))
    head = min(points_, key=_version).head
    if not head.tail_open or head.messages > parting.shared:
        return []
    tail = _records(connection, later_of(a, b)).message(head.tip)
    if tail is None or not any(low < version <= high for version in tail.versions):
        return []
    depth = head.messages - 1
    shown = (_messages(connection, moment, depth, depth + 1) for moment in (a, b))
    return list(zip(*shown, strict=False))


def turn_now(connection: Connection, moment: Moment, turn: Turn | None) -> Turn | None:
    """Return what became of a turn by the moment, or since."""
    if turn is None:
        return None
    return _records(connection, moment).turn_numbered(turn.number)


def calls_now(connection: Connection, moment: Moment, point: Point) -> Sequence[Call]:
    """Return what became, by the moment or since, of the calls that waited for a result."""
    calls = open_calls(point.state)
    if not calls:
        return ()
    versions = [call.requested_version for call in calls]
    if moment.lineage:
        found = Waiting(connection, moment, {(c.turn_id, c.tool_call_id) for c in calls}).calls
        return [call for call in found if call.requested_version in versions]
    c = t.calls.c
    statement = (
        select(t.calls)
        .where(c.session_key == moment.key, c.requested_version.in_(versions))
        .order_by(c.requested_version)
    )
    return [call_of(row) for row in connection.execute(statement)]


def gates_now(connection: Connection, moment: Moment, point: Point) -> Sequence[Gate]:
    """Return what became, by the moment or since, of the gates that waited for an answer."""
    gates = open_gates(point.state)
    if not gates:
        return ()
    c = t.gates.c
    holders = [*(each.key for each in reversed(moment.lineage)), moment.key]
    statement = (
        select(t.gates)
        .where(c.session_key.in_(holders), c.gate_id.in_([gate.gate_id for gate in gates]))
        .order_by(c.opened_version)
    )
    rows = sorted(connection.execute(statement), key=lambda row: holders.index(row.session_key))
    nearest = {row.gate_id: gate_of(row) for row in rows}
    return sorted(nearest.values(), key=lambda gate: gate.opened_version)


def _records(connection: Connection, moment: Moment) -> Views:
    return records_on(connection, moment.key, moment.head.started, moment.shared.version)


def _turns(connection: Connection, moment: Moment, numbers: range) -> Iterator[Turn]:
    if moment.lineage:
        found = map(_records(connection, moment).turn_numbered, numbers)
        return (turn for turn in found if turn is not None)
    c = t.turns.c
    statement = (
        select(t.turns)
        .where(c.session_key == moment.key, c.number >= numbers.start, c.number < numbers.stop)
        .order_by(c.number)
    )
    return (turn_of(row) for row in connection.execute(statement))


def _messages(connection: Connection, moment: Moment, low: int, high: int) -> list[str]:
    extent = Extent(
        messages=moment.messages, archived=moment.archived, summary=False, with_archived=True
    )
    return page_json(connection, moment, extent.after(low, high - low))


def _version(point: Point) -> int:
    return point.version
