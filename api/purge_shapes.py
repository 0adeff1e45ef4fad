"""How is it told what of a session, or of a lane, a purge removes?"""

from api.shapes import Shape
from infrastructure.purging import Purged


def purge_shape(session_id: str, purged: Purged, *, dry_run: bool) -> Shape:
    """Return what goes: rows by table, but for those of what can be found."""
    return {"session_id": session_id} | _purge_shape(purged, dry_run=dry_run)


def lane_purge_shape(lane_id: str, purged: Purged, *, dry_run: bool) -> Shape:
    """Return what goes of a lane."""
    return {"lane_id": lane_id} | _purge_shape(purged, dry_run=dry_run)


def _purge_shape(purged: Purged, *, dry_run: bool) -> Shape:
    told: Shape = {"events": purged.events, "removed": {**purged.rows}}
    return told | {"dry_run": True} if dry_run else told
