"""How does the outcome of a verification look outside?"""

from api.shapes import Shape
from infrastructure.verification import Verification


def verification_shape(found: Verification) -> Shape:
    """Return what was found; `version` and `hash` are a receipt for a later verification."""
    shape: Shape = {
        "session_id": found.session_id,
        "ok": found.ok,
        "events": found.events,
        "version": found.version,
        "hash": found.hash.hex(),
    }
    if found.first_bad is not None:
        damage = found.first_bad
        shape["first_bad"] = {"version": damage.version, "reason": damage.reason}
        shape["bad"] = found.bad
    return shape
