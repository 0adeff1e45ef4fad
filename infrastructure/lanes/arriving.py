"""What does a source come to, under a project's policies?"""

from dataclasses import replace

from sqlalchemy import Connection

from domain.events.lane import LaneOpened
from domain.lanes.adoption import legacy_keys
from domain.lanes.keys import KeyPolicy, is_shared, lane_id, lane_key, owner
from domain.lanes.source import Source, source_json
from domain.lanes.state import Lane
from infrastructure.lanes.resolving import Arrival, Beginning
from infrastructure.project_settings import key_policy


def arrival(
    connection: Connection,
    project_id: str,
    source: Source,
    *,
    force_new: bool = False,
    touches: bool = True,
    beginning: Beginning | None = None,
) -> Arrival:
    """Return what arrived from a source.

    Raises:
        SettingsUnreadable: whom the ids of the source name cannot be told.
    """
    policy = key_policy(connection, project_id, source.platform)
    came = arrival_under(policy, project_id, source, touches=touches)
    return replace(came, force_new=force_new, beginning=beginning or Beginning())


def forced_by(came: Arrival, source: Source) -> str | None:
    """Return what has a message begin one session, however often it comes; None if nothing does."""
    if not came.force_new or source.message_id is None:
        return None
    return f"lane {came.lane_id} resolve {source.message_id}"


def arrival_under(
    policy: KeyPolicy, project_id: str, source: Source, *, touches: bool = True
) -> Arrival:
    """Return the same under a policy that is at hand, and how a session begins as it would."""
    return Arrival(
        project_id=project_id,
        lane_id=lane_id(source, policy),
        opening=opening(source, policy),
        candidates=legacy_keys(source, policy),
        touches=touches,
    )


def arrival_at(lane_id: str, project_id: str, lane: Lane) -> Arrival:
    """Return what arrived at a lane that is known, by its id."""
    return Arrival(
        project_id=project_id,
        lane_id=lane_id,
        opening=LaneOpened(
            lane_key=lane.lane_key,
            source=dict(lane.source),
            owner=lane.owner,
            shared=lane.shared,
            policy=dict(lane.policy),
        ),
    )


def opening(source: Source, policy: KeyPolicy) -> LaneOpened:
    """Return what is recorded of a place that is new."""
    return LaneOpened(
        lane_key=lane_key(source, policy),
        source=source_json(source),
        owner=owner(source, policy),
        shared=is_shared(source, policy),
        policy=policy_shape(policy),
    )


def policy_shape(policy: KeyPolicy) -> dict[str, object]:
    """Return the settings that a key follows from, as answers tell them."""
    return {
        "group_sessions_per_user": policy.group_sessions_per_user,
        "thread_sessions_per_user": policy.thread_sessions_per_user,
        "profiles": policy.profiles,
    }
