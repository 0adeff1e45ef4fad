"""What is different of a session between two points?

Told from the one to the other, whichever was earlier. What is in sight at both is not looked at:
the ways to the two points begin alike, and part once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from domain.paths import FindBranch, Spot, messages_before, shared, turns_until
from domain.readiness import Readiness
from domain.state import Call, Gate, Head, State, Turn
from projections.calls import gate_status
from projections.session_state import call_shape, gate_shape, open_calls, open_gates, open_turn

Shape: TypeAlias = dict[str, object]
Change: TypeAlias = Literal["new", "restored", "rewound", "later"]
"""What came into sight began since, or was rewound; what went was rewound, or began later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A session at one of the two points.

    Attributes:
        spot: Where the way to what was in sight ended.
        placed, started: How many messages and turns there were, in sight or not.
        state: What the rules knew.
        config: The fingerprint of its configuration, if that is another at the other point.
    """

    version: int
    spot: Spot
    placed: int
    started: int
    state: State
    readiness: Readiness
    config: str | None

    @property
    def head(self) -> Head:
        """Return the head."""
        return self.state.head


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What is in sight at one point and not at the other: what has this depth, and more.

    Attributes:
        begin, end: The depths.
        old: So many of them, from the first one, were there at the other point, out of sight.
    """

    begin: int
    end: int
    old: int

    @property
    def count(self) -> int:
        """Return how many there are."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True, kw_only=True)
class Parting:
    """Where the ways to two points part: what is in sight at the one, and at the other."""

    removed: Side
    added: Side

    @property
    def shared(self) -> int:
        """Return how many are in sight at both."""
        return self.added.begin


def partings(find: FindBranch, a: Point, b: Point) -> tuple[Parting, Parting]:
    """Return where the turns part, and where the messages do."""
    turns, messages = shared(find, a.spot, b.spot)

    def of_turns(here: Point, there: Point) -> Side:
        old = turns_until(find, here.spot, there.started) - turns
        return Side(begin=turns, end=here.head.turns, old=max(old, 0))

    def of_messages(here: Point, there: Point) -> Side:
        old = messages_before(find, here.spot, there.placed) - messages
        return Side(begin=messages, end=here.head.messages, old=max(old, 0))

    return (
        Parting(removed=of_turns(a, b), added=of_turns(b, a)),
        Parting(removed=of_messages(a, b), added=of_messages(b, a)),
    )


def change_of(side: Side, depth: int, *, added: bool) -> Change:
    """Return what became of what has this depth, from the one point to the other."""
    old = depth - side.begin < side.old
    if added:
        return "restored" if old else "new"
    return "rewound" if old else "later"


def archived(parting: Parting, a: Point, b: Point) -> int:
    """Return how many of the shared messages a summary stands for since; below 0, no more."""
    both = parting.shared
    return min(b.head.archived, both) - min(a.head.archived, both)


HEAD_FIELDS: Final[Mapping[str, str]] = {
    "status": "status",
    "archived_reason": "archived_reason",
    "pinned": "pinned",
    "title": "title",
    "title_by": "title_by",
    "approval_mode": "approval_mode",
    "config_version": "config_version",
    "history_version": "history_version",
    "fingerprint": "fingerprint",
    "model_fingerprint": "model_fingerprint",
    "messages": "messages",
    "archived": "archived",
    "summary_version": "summary_version",
    "turns": "turns",
    "turn_id": "turn_id",
    "branch": "branch",
    "redo": "redo_version",
    "open_gates": "open_gates",
    "open_losses": "open_losses",
    "unverified_turns": "unverified_turns",
    "miscounted_turns": "miscounted_turns",
    "unreadable": "unreadable",
}
"""What of a head is compared, and what it is called."""


def state_changes(a: Point, b: Point) -> Shape:
    """Return each field that is another, at the one point and at the other."""
    pairs: list[tuple[str, object, object]] = [
        (name, getattr(a.head, field), getattr(b.head, field))
        for field, name in HEAD_FIELDS.items()
    ]
    pairs += [
        ("config", a.config, b.config),
        ("ready", a.readiness.ready, b.readiness.ready),
        ("reasons", _codes(a.readiness), _codes(b.readiness)),
    ]
    return {
        name: {"from": _plain(was), "to": _plain(now)} for name, was, now in pairs if was != now
    }


def turn_item(point: Point, turn: Turn, change: Change) -> Shape:
    """Return a turn that is in sight at this point, and not at the other."""
    return {
        "change": change,
        "turn_id": turn.turn_id,
        "number": turn.number,
        "status": _status(point, turn),
        "started_version": turn.started_version,
    }


def went_on(a: Point, b: Point, parting: Parting) -> Turn | None:
    """Return the turn that had not ended at one point and is in sight at the other.

    There is one at most: it is the last in sight where it has not ended.
    """
    for point in (a, b):
        turn = open_turn(point.state)
        if turn is not None and point.head.turns <= parting.shared:
            return turn
    return None


def turn_changes(a: Point, b: Point, turn: Turn | None) -> list[Shape]:
    """Return how far that turn had come at both points; `turn` is what it is now."""
    if turn is None:
        return []
    was, now = (_progress(point, turn) for point in (a, b))
    if was == now:
        return []
    return [{"turn_id": turn.turn_id, "number": turn.number, "from": was, "to": now}]


def call_changes(a: Point, b: Point, calls: Iterable[Call]) -> Shape:
    """Return the calls that wait for a result at one point only.

    `calls` are what those of the first point are now: one that is not among them was foretold by a
    gate, and announced since by another fact.
    """
    before, after = ({_key(call): call for call in open_calls(p.state)} for p in (a, b))
    known = {_key(call): call for call in calls}
    gone = [known[key] for key in before if key not in after and key in known]
    announced = {key[:2] for key in before if key not in known}
    came = [call for key, call in after.items() if key not in before and key[:2] not in announced]
    return {
        "opened": [call_shape(call) for call in came],
        "closed": [call_shape(call) | {"status": _call_status(b, call)} for call in gone],
    }


def gate_changes(a: Point, b: Point, gates: Iterable[Gate]) -> Shape:
    """Return the gates that wait for an answer at one point only.

    `gates` are what those of the first point are now.
    """
    before, after = ({gate.gate_id: gate for gate in open_gates(p.state)} for p in (a, b))
    gone = [gate for gate in gates if gate.gate_id in before.keys() - after.keys()]
    return {
        "opened": [gate_shape(gate) for name, gate in after.items() if name not in before],
        "closed": [gate_shape(gate) | {"status": _gate_status(b, gate)} for gate in gone],
    }


def _status(point: Point, turn: Turn) -> str:
    if turn.ended_version is not None and turn.ended_version <= point.version:
        return turn.status
    going_on = open_turn(point.state)
    return "paused" if going_on is not None and going_on.paused else "running"


def _progress(point: Point, turn: Turn) -> Shape:
    going_on = open_turn(point.state)
    then = turn if going_on is None or going_on.turn_id != turn.turn_id else going_on
    return {
        "status": _status(point, turn),
        "messages": then.messages,
        "calls": then.calls,
        "open_calls": then.open_calls,
        "open_gates": then.open_gates,
        "input_tokens": then.input_tokens,
        "output_tokens": then.output_tokens,
    }


def _call_status(point: Point, call: Call) -> str:
    """Return what became of a call that does not wait at this point."""
    if (call.requested_version or 0) > point.version:
        return "later"
    done = call.completed_version
    return "interrupted" if done is None or done > point.version else call.status


def _gate_status(point: Point, gate: Gate) -> str:
    return "later" if gate.opened_version > point.version else gate_status(gate, point.version)


def _key(call: Call) -> tuple[str, str, int | None]:
    return call.turn_id, call.tool_call_id, call.requested_version


def _codes(readiness: Readiness) -> list[str]:
    return [reason.code for reason in readiness.reasons]


def _plain(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value
