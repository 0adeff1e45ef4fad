"""How does a session's family look outside?"""

from collections.abc import Sequence

from api.shapes import Shape
from domain.state import Head
from infrastructure.reading.lineages import Relative


def lineage_shape(
    older: Sequence[Relative], younger: Sequence[Relative], following: str | None, head: Head
) -> Shape:
    """Return the ancestors, and a page of the forks; each with the last version that is shared.

    Of a sub-agent's session, its parent too, with which it shares nothing.
    """
    return {
        "parent": _parent(head),
        "ancestors": [*map(_shape, older)],
        "children": {"items": [*map(_shape, younger)], "next_cursor": following},
        "through_version": head.version,
    }


def _parent(head: Head) -> Shape | None:
    if head.parent_session_id is None:
        return None
    return {
        "session_id": head.parent_session_id,
        "agent_id": head.agent_id,
        "turn_id": head.parent_turn_id,
        "tool_call_id": head.parent_call_id,
    }


def _shape(relative: Relative) -> Shape:
    return {
        "session_id": relative.session_id,
        "title": relative.title,
        "status": relative.status,
        "version": relative.version,
    }
