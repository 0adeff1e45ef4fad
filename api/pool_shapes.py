"""How are the seats of a project shown, and what is told beside them?"""

from collections.abc import Sequence

from sqlalchemy import Connection

from api.shapes import Shape
from domain.pressure import MIB
from domain.times import rfc3339
from infrastructure.hosting.live_pool import LivePool
from infrastructure.pool.pressure import Relieved
from infrastructure.reading.project_turns import DAY, path_counts
from infrastructure.reading.seats import SeatView
from projections.seats import seat_shape


def seats_shape(found: Sequence[SeatView], pool: LivePool | None) -> list[Shape]:
    """Return seats as the contract shows them, with what this process knows of its own."""
    here = frozenset(() if pool is None else (seat.seat_id for seat in pool.seats()))
    return [
        seat_shape(view.session_id, view.seat, here=view.seat.seat_id in here) for view in found
    ]


def counts_shape(connection: Connection, project_id: str, now: int) -> Shape:
    """Return which way the turns of the last day went, and why."""
    counted = path_counts(connection, project_id, now - DAY)
    return {
        "since": rfc3339(now - DAY),
        "by_path": counted.by_path,
        "by_reason": counted.by_reason,
    }


def process_shape(pool: LivePool | None, relieved: Relieved) -> Shape | None:
    """Return how full the pool of this process is, whatever project its seats are of."""
    if pool is None:
        return None
    counts = pool.counts()
    return {
        "capacity": counts.capacity,
        "busy": counts.busy,
        "idle": counts.idle,
        "awaiting_approval": counts.awaiting_approval,
        "ending": counts.ending,
        "waiting": counts.waiting,
        "memory": {
            "budget_mb": _mib(relieved.budget),
            "used_mb": _mib(relieved.used),
            "passes": relieved.passes,
            "evicted": relieved.evicted,
            "unevictable": relieved.unevictable,
        },
    }


def _mib(size: int | None) -> int | None:
    return None if size is None else size // MIB
