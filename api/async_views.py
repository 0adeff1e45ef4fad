"""What does every answer from a view that follows the log say of how far it has come?"""

from sqlalchemy import Connection

from api.shapes import Shape
from infrastructure.composition import Turnlog
from infrastructure.followers import tracking
from infrastructure.followers.tracking import Lag


def lag_shape(lag: Lag) -> Shape:
    """Return a lag: the position through which the view speaks, and how far that is behind."""
    return {
        "through_position": str(lag.position),
        "lag": {"events": lag.events, "seconds": lag.seconds},
    }


def through(log: Turnlog, connection: Connection, view: str) -> Shape:
    """Return how far a view has come, in the transaction that reads it."""
    return lag_shape(tracking.lag(connection, view, log.now()))
