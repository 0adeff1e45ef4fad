"""How do sessions and recorded facts look outside?"""

from base64 import b64encode

from api.shapes import Shape, head_shape
from domain.raw_json import RawJson, dumped
from domain.readiness import Readiness
from domain.state import Head
from domain.times import rfc3339
from infrastructure.agreement import Agreement
from infrastructure.mapper import StoredFact
from infrastructure.reading.sessions import SessionView
from infrastructure.serialization import is_json
from projections.producers import producer_shape
from projections.turns import address_shape


def session_shape(view: SessionView, readiness: Readiness, *, whole: bool = True) -> Shape:
    """Return a session; `whole` with what it was opened and configured with."""
    head = view.head
    shape: Shape = {
        "session_id": view.session_id,
        "title": head.title,
        "title_by": head.title_by,
        "status": head.status,
        "archived_reason": head.archived_reason,
        "pinned": head.pinned,
        "head": head_shape(head),
        "created_at": rfc3339(head.created_at),
        "updated_at": rfc3339(head.updated_at),
        "messages": head.messages,
        "turns": head.turns,
        "turn_id": head.turn_id,
        "turn_status": _turn_status(view),
        "resume_pending": _resume_pending(head),
        "open_gates": head.open_gates,
        "approval_mode": head.approval_mode,
        "parent_session_id": head.parent_session_id,
        "forked_from": _forked_from(head),
        "ready": readiness.ready,
        "through_version": head.version,
    }
    if whole:
        shape |= {
            "config": view.config,
            "source": view.source,
            "agent_id": head.agent_id,
            "parent_turn_id": head.parent_turn_id,
            "parent_tool_call_id": head.parent_call_id,
        }
        if view.agreement is not None:
            shape["agreement"] = agreement_shape(view.agreement)
    return shape


def agreement_shape(agreement: Agreement) -> Shape:
    """Return how often a client's history was found to be ours."""
    return {
        "consecutive": agreement.consecutive,
        "compared": agreement.compared,
        "agreed": agreement.agreed,
        "differences": {kind: n for kind, n in agreement.kinds.items() if n},
        "last": {
            "agrees": agreement.last_agrees,
            "version": agreement.last_version,
            "at": rfc3339(agreement.last_at),
        },
    }


def _forked_from(head: Head) -> Shape | None:
    if head.forked_from is None:
        return None
    return {"session_id": head.forked_from, "version": head.base_version}


def _resume_pending(head: Head) -> Shape | None:
    if head.resume_turn is None:
        return None
    return {
        "turn_id": head.resume_turn,
        "reason": head.resume_reason,
        "marked_at": rfc3339(head.resume_at),
    }


def _turn_status(view: SessionView) -> str | None:
    if view.open_turn is None:
        return None
    return "paused" if view.open_turn.paused else "running"


def event_json(stored: StoredFact) -> bytes:
    """Return an event as JSON: its envelope, and its data as they were recorded."""
    envelope = stored.envelope
    shape: Shape = {
        "id": envelope.event_id,
        "version": envelope.version,
        "position": str(stored.position),
        "type": envelope.type,
        "schema": envelope.schema,
        "affects": envelope.affects,
        **_data(stored),
        "recorded_at": rfc3339(envelope.recorded_at),
        "occurred_at": None if envelope.occurred_at is None else rfc3339(envelope.occurred_at),
        "actor": envelope.actor,
        "producer": producer_shape(envelope.producer),
        "turn_id": envelope.turn_id,
        **address_shape(stored.lane_id, stored.reply_to),
        "trace_id": envelope.trace_id,
        "body_digest": envelope.body_digest.hex(),
        "hash": stored.hash.hex(),
    }
    return dumped(
        {name: value for name, value in shape.items() if value is not None or name == "data"}
    )


def _data(stored: StoredFact) -> Shape:
    """Return what was said; bytes that are no JSON, as a damaged or foreign log has them, apart."""
    if stored.gone:
        return {"data": None}
    if is_json(stored.state):
        return {"data": RawJson(stored.state)}
    return {"data": None, "data_base64": b64encode(stored.state).decode()}
