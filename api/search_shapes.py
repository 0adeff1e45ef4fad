"""How does a text that was found look outside?"""

from api.shapes import Shape
from domain.times import rfc3339
from infrastructure.reading.search import Hit


def hit_shape(hit: Hit) -> Shape:
    """Return where a text was found."""
    return {
        "session_id": hit.session_id,
        "version": hit.version,
        "turn_id": hit.turn_id,
        "message_id": hit.message_id,
        "role": hit.role,
        "at": rfc3339(hit.at),
        "snippet": {"text": hit.snippet.text, "marks": [list(mark) for mark in hit.snippet.marks]},
    }
