"""How is it told what of a session a purge removes?"""

from api.shapes import Shape
from infrastructure.purging import Purged


def purge_shape(session_id: str, purged: Purged, *, dry_run: bool) -> Shape:
    """Return what goes: rows by table, but for those of what can be found."""
    told: Shape = {"session_id": session_id, "events": purged.events, "removed": {**purged.rows}}
    return told | {"dry_run": True} if dry_run else told
