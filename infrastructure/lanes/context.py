"""What is a harness told of the lane that its session belongs to?

By what the lane, its binding and the project's settings say now; told once, when it starts.
"""

from sqlalchemy import Connection

from domain.lanes.context import Context, Discretion, Place, context
from domain.lanes.source import recorded_source
from domain.project_settings import ProjectSettings
from domain.times import rfc3339
from infrastructure.command_handler import Target
from infrastructure.lanes.lookup import FoundLane, lanes_of
from infrastructure.lanes.platforms import connected_platforms
from infrastructure.project_settings import settings_of


def lane_context(connection: Connection, found: FoundLane) -> Context:
    """Return what a model is told of a lane and its current session."""
    lane = found.lane
    settings = settings_of(connection, found.project_id)
    place = Place(
        source=recorded_source(lane.source),
        shared=lane.shared,
        lane_key=lane.lane_key,
        lane_since=rfc3339(lane.created_at),
        session_id=lane.session_id,
        session_since=rfc3339(lane.bound_at),
        home_channels=settings.lanes.home_channels,
        connected=connected_platforms(connection, found.project_id),
    )
    return context(place, discretion(settings))


def discretion(settings: ProjectSettings) -> Discretion:
    """Return whether a project has ids hidden; they are if nobody can tell any more."""
    return Discretion(redact_ids=settings.lanes.redact_ids or not settings.readable)


def told_at_start(
    connection: Connection,
    target: Target,
    lane_id: str | None,
) -> str | None:
    """Return what a harness of a session is told, for a turn that came by a lane or by none.

    None if the session is no lane's current one, or of several and the turn came by none of them:
    each is another place.
    """
    lanes = lanes_of(connection, target.project_id, target.session_id)
    named = [found for found in lanes if found.lane_id == lane_id]
    chosen = named or lanes
    return lane_context(connection, chosen[0]).prompt if len(chosen) == 1 else None
