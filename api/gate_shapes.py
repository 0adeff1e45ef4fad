"""How does a gate look outside, with what it asked and how it was answered?"""

from api.shapes import Shape
from infrastructure.reading.approvals import GateView
from projections.approvals import approval_shape
from projections.turns import address_shape


def gate_shape(found: GateView, through: int | None = None) -> Shape:
    """Return a gate as it stands, or as it stood at a version."""
    shape = approval_shape(
        found.session_id,
        found.gate,
        found.opened,
        found.closed,
        found.closed_at,
        found.through if through is None else through,
    )
    return shape | address_shape(found.lane_id, found.reply_to)


def decision_shape(found: GateView) -> Shape:
    """Return how a gate was answered, with its id."""
    decided = gate_shape(found)["decision"]
    shape: Shape = {"gate_id": found.gate.gate_id}
    return shape | (decided if isinstance(decided, dict) else {})
