"""How do errors look outside?"""

from api.shapes import Shape
from domain.times import rfc3339
from infrastructure.reading.errors import ErrorItem


def error_shape(item: ErrorItem) -> Shape:
    """Return errors of one kind that followed each other closely."""
    found = item.errors
    return {
        "source": found.source,
        "code": found.code,
        "kind": found.kind,
        "session_id": item.session_id,
        "turn_id": found.turn_id,
        "first_at": rfc3339(found.first_at),
        "last_at": rfc3339(found.last_at),
        "count": found.times,
    }
