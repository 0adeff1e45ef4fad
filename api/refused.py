"""Which problem tells that a request for a turn was turned down, and what helps its client?"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from api.gate_shapes import gate_shape
from api.problems import ProblemError
from api.shapes import Shape, head_shape, readiness_shape
from domain.dispatch.outcomes import Refuse
from domain.refusals import NoSuchGate
from domain.times import rfc3339
from infrastructure.command_handler import Target
from infrastructure.hosting.became import Dispatched
from infrastructure.hosting.looking import MOST, moved_since_claim
from infrastructure.reading.approvals import gate


def refused(
    connection: Connection, target: Target, done: Dispatched, refusal: Refuse
) -> ProblemError:
    """Return the problem of a refusal: why, where the session stands, and what to do next."""
    found = done.found
    extra: Shape = {"explain": done.explain}
    headers: dict[str, str] = {}
    if found.key is not None:
        extra |= {
            "head": head_shape(found.state.head),
            "readiness": readiness_shape(found.readiness, found.state.head),
        }
    if refusal.reasons:
        extra["reasons"] = list(refusal.reasons)
    if refusal.seat is not None:
        extra["seat"] = refusal.seat
    if refusal.retry_after_s is not None:
        extra["retry_after_s"] = refusal.retry_after_s
        headers["Retry-After"] = str(refusal.retry_after_s)
    match refusal.code:
        case "turn-in-progress" | "compacting":
            extra |= _holder(done)
        case "head-behind":
            extra |= _since(connection, done)
        case "gate-open":
            extra["gate_id"] = found.situation.told.gate
        case "gate-already-decided" | "gate-gone":
            extra |= _first(connection, target, done)
        case "history-diverged" | "history-behind" if found.compared is not None:
            extra["difference"] = {
                "kind": found.compared.kind,
                "index": found.compared.index,
                "client_index": found.compared.client_index,
            }
        case _:
            pass
    return ProblemError(refusal.code, refusal.detail, extra=extra, headers=headers)


def _holder(done: Dispatched) -> Mapping[str, object]:
    """Return who has the turn that runs, or sums up the history, and until when."""
    run, turn_id = done.found.run, done.found.state.head.turn_id
    summed_up = turn_id is None and run is not None
    return {
        **({"compaction_id": run.turn_id} if run and summed_up else {"turn_id": turn_id}),
        "owner": None if run is None else run.owner,
        "lease_until": rfc3339(run.lease_until) if run is not None and run.lease_until else None,
    }


def _since(connection: Connection, done: Dispatched) -> Mapping[str, object]:
    """Return what changed the history since the claimed version, up to 20 facts."""
    claim, key = done.ask.claim, done.found.key
    if claim is None or key is None:
        return {}
    rows: list[Any] = moved_since_claim(connection, key, claim.history_version)
    head = done.found.state.head
    return {
        "current_history_version": head.history_version,
        "since": [{"version": row.version, "type": row.type} for row in rows[:MOST]],
        "running_turn": head.turn_id,
    }


def _first(connection: Connection, target: Target, done: Dispatched) -> Mapping[str, object]:
    """Return the gate as it was decided first, or as it ended."""
    answered = next(
        (each.gate for each in done.found.answered if each.gate and each.standing != "open"), None
    )
    if answered is None:
        return {}
    try:
        shown = gate_shape(gate(connection, target.project_id, answered.gate_id))
    except NoSuchGate:
        return {"gate_id": answered.gate_id, "gate_status": answered.status}
    return {
        "gate_id": answered.gate_id,
        "gate_status": shown["status"],
        "decision": shown["decision"],
    }
