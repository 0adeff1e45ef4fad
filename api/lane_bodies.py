"""What do requests about lanes say?"""

from typing import Annotated, Any

from pydantic import Field, StrictBool, StrictStr

from api.body import Body, RawBody
from domain.events.session import ApprovalMode
from domain.json_text import JsonValue, raw_members
from domain.lanes.source import Source, read_source
from domain.raw_json import RawJson
from infrastructure.lanes.resolving import Beginning

_SOURCE = (
    "Where it came from: `platform`, and what the platform says of the chat and of who speaks: "
    "`chat_id`, `chat_type` (dm, group, channel, thread), `chat_name`, `user_id`, `user_name`, "
    "`user_id_alt`, `thread_id`, `scope_id` (the workspace), `message_id` and others."
)
SourceField = Annotated[dict[str, Any], Field(description=_SOURCE)]


class BeginningBody(Body):
    """What a session begins with that is opened for the lane."""

    title: StrictStr | None = None
    config: dict[str, Any] | None = None
    approval_mode: ApprovalMode | None = None


class ResolveBody(Body):
    """A message's origin."""

    source: SourceField
    force_new: Annotated[
        StrictBool,
        Field(
            description="A new session in the place of the current one. With a `message_id` in the "
            "source, once for that message."
        ),
    ] = False
    touch: Annotated[
        StrictBool, Field(description="False: it does not count as activity of the lane.")
    ] = True
    open: Annotated[
        BeginningBody | None,
        Field(
            description="What a session that is opened now begins with; what is left out is as in "
            "the lane's session before."
        ),
    ] = None


def source_in(body: RawBody, *at: str) -> Source:
    """Return the source that a body has at this place.

    Raises:
        InvalidValue: it is none, and where.
    """
    value: JsonValue = body.value
    for name in at:
        value = value.get(name) if isinstance(value, dict) else None
    return read_source(value, *at)


def beginning_of(body: RawBody, fields: BeginningBody | None) -> Beginning:
    """Return what a new session begins with."""
    if fields is None:
        return Beginning()
    config = None
    if fields.config is not None:
        config = RawJson(raw_members(raw_members(body.raw)["open"])["config"])
    return Beginning(title=fields.title, config=config, approval_mode=fields.approval_mode)
