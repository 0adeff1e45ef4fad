"""How is it told which lanes were given up, or would be?"""

from api.shapes import Shape
from domain.times import rfc3339
from infrastructure.lanes.pruning import PrunedLanes


def pruned_lanes_shape(pruned: PrunedLanes, *, dry_run: bool) -> Shape:
    """Return what went or would: `remaining` counts what would go by the next call."""
    return {
        "dry_run": dry_run,
        "older_than_days": pruned.days,
        "before": None if pruned.before is None else rfc3339(pruned.before),
        "pruned": len(pruned.lane_ids),
        "lane_ids": pruned.lane_ids,
        "remaining": pruned.remaining,
        "spared": dict(pruned.counts.spared()),
    }
