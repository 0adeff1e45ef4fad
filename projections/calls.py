"""What became of a tool call, and which question does it wait for?

Calls pair with their results by turn, id and occurrence: ids come back in later turns, and twice in
one batch, and each keeps its own result and its own gate.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from domain.state import Call, CallKey, Gate, GateStatus

ShownStatus: TypeAlias = Literal["open", "completed", "failed", "denied", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallView:
    """A call as it stood at a version, with the newest gate that it waited for."""

    call: Call
    status: ShownStatus
    gate: Gate | None
    gate_status: GateStatus | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallViews:
    """The calls that some messages hold, found by the facts that those messages are made of."""

    by_request: Mapping[int, CallView]
    by_result: Mapping[int, CallView]
    foretold: Mapping[CallKey, tuple[CallView, ...]]

    def requested(self, version: int, key: CallKey) -> CallView | None:
        """Return the call that the fact at `version` asked for.

        A call that a gate foretold is known by its announcement, which may be later than what is
        looked at.
        """
        known = self.by_request.get(version)
        if known is not None:
            return known
        later = (v for v in self.foretold.get(key, ()) if (v.call.requested_version or 0) > version)
        return next(later, None)


def call_views(
    calls: Iterable[Call], gates: Iterable[Gate], ended: Mapping[str, int | None], at: int
) -> CallViews:
    """Return how `calls` stood at version `at`.

    `ended` tells at which version each turn ended; every occurrence of a call id that matters, and
    every gate of it, is needed.
    """
    occurrences: dict[CallKey, list[Call]] = defaultdict(list)
    for call in sorted(calls, key=lambda c: c.occurrence):
        occurrences[call.turn_id, call.tool_call_id].append(call)
    asked: dict[CallKey, list[Gate]] = defaultdict(list)
    for gate in sorted(gates, key=lambda g: g.opened_version):
        if gate.tool_call_id is not None and gate.opened_version <= at:
            asked[gate.turn_id, gate.tool_call_id].append(gate)
    views: dict[CallKey, tuple[CallView, ...]] = {}
    for key, known in occurrences.items():
        held = _held(known, asked.get(key, ()), at)
        turn_ended = ended.get(key[0])
        views[key] = tuple(_view(c, held.get(c.occurrence), turn_ended, at) for c in known)
    every = [view for known in views.values() for view in known]
    return CallViews(
        by_request={v.call.requested_version: v for v in every if v.call.requested_version},
        by_result={v.call.completed_version: v for v in every if v.call.completed_version},
        foretold=views,
    )


def gate_status(gate: Gate, at: int) -> GateStatus:
    """Return where the gate stood at version `at`."""
    closed = gate.closed_version is not None and gate.closed_version <= at
    return gate.status if closed else "open"


def _view(call: Call, gate: Gate | None, turn_ended: int | None, at: int) -> CallView:
    return CallView(
        call=call,
        status=_status(call, turn_ended, at),
        gate=gate,
        gate_status=None if gate is None else gate_status(gate, at),
    )


def _status(call: Call, turn_ended: int | None, at: int) -> ShownStatus:
    returned = call.completed_version is not None and call.completed_version <= at
    if returned and call.status != "late":
        return call.status
    return "interrupted" if turn_ended is not None and turn_ended <= at else "open"


def _held(calls: Iterable[Call], gates: Iterable[Gate], at: int) -> dict[int, Gate]:
    """Give each gate to the first call that waits and that no open gate holds yet.

    A call that was asked for after version `at` was there only if a gate foretold it, and a gate
    foretells one only where no other waits.
    """
    held: dict[int, Gate] = {}
    for gate in gates:
        could = [call for call in calls if _could_wait(call, gate.opened_version)]
        waiting = [call for call in could if (call.requested_version or 0) <= at] or could[:1]
        free = (call for call in waiting if not _holds(held.get(call.occurrence), gate))
        call = next(free, waiting[0] if waiting else None)
        if call is not None:
            held[call.occurrence] = gate
    return held


def _could_wait(call: Call, version: int) -> bool:
    if call.requested_version is None:
        return False
    return call.completed_version is None or call.completed_version > version


def _holds(earlier: Gate | None, gate: Gate) -> bool:
    if earlier is None:
        return False
    return earlier.closed_version is None or earlier.closed_version > gate.opened_version
