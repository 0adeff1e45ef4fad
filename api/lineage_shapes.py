"""How does a session's family look outside?"""

from collections.abc import Sequence

from api.shapes import Shape
from infrastructure.reading.lineages import Relative


def lineage_shape(
    older: Sequence[Relative], younger: Sequence[Relative], following: str | None, version: int
) -> Shape:
    """Return the ancestors, and a page of the forks; each with the last version that is shared."""
    return {
        "ancestors": [*map(_shape, older)],
        "children": {"items": [*map(_shape, younger)], "next_cursor": following},
        "through_version": version,
    }


def _shape(relative: Relative) -> Shape:
    return {
        "session_id": relative.session_id,
        "title": relative.title,
        "status": relative.status,
        "version": relative.version,
    }
