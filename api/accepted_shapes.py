"""What does the acceptance of a gap answer? The same for a server and for the command line."""

from api.shapes import Shape, head_shape, readiness_shape
from domain.events import GapAccepted
from infrastructure.command_handler import Appended


def accepted_shape(done: Appended) -> Shape:
    """Return what was accepted, and where the session stands now."""
    last = done.facts[-1]
    return {
        "accepted": list(last.event.reasons) if isinstance(last.event, GapAccepted) else [],
        "gap_version": last.version,
        "head": head_shape(done.head),
        "readiness": readiness_shape(done.readiness, done.head),
    }
