"""How is it told which ended sessions went, or would?"""

from api.shapes import Shape
from domain.times import rfc3339
from infrastructure.retention import Pruned


def pruned_shape(pruned: Pruned, *, dry_run: bool) -> Shape:
    """Return what went or would: `remaining` counts what would go by the next call."""
    return {
        "dry_run": dry_run,
        "older_than_days": pruned.days,
        "before": None if pruned.before is None else rfc3339(pruned.before),
        "pruned": len(pruned.session_ids),
        "session_ids": pruned.session_ids,
        "remaining": pruned.remaining,
        "spared": {"pinned": pruned.counts.pinned, "in_use": pruned.counts.in_use},
    }
