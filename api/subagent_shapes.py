"""How does a sub-agent's session look outside?"""

from api.shapes import Shape
from domain.times import rfc3339
from infrastructure.reading.subagents import Subagent


def subagent_shape(each: Subagent) -> Shape:
    """Return a sub-agent's session: by which call it was begun, and how it stands."""
    head = each.head
    running = None if head.turn_id is None else "paused" if each.paused else "running"
    return {
        "session_id": each.session_id,
        "agent_id": head.agent_id,
        "turn_id": head.parent_turn_id,
        "tool_call_id": head.parent_call_id,
        "title": head.title,
        "status": head.status,
        "turn_status": running,
        "open_gates": head.open_gates,
        "turns": head.turns,
        "messages": head.messages,
        "subagents": each.below,
        "usage": dict(each.tokens),
        "created_at": rfc3339(head.created_at),
        "updated_at": rfc3339(head.updated_at),
        "version": head.version,
    }
