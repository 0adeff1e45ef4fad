"""What do requests about a session as a whole say?"""

from collections.abc import Mapping
from typing import Any

from pydantic import StrictBool, StrictStr

from api.body import Body
from domain.commands import OpenSession
from domain.events.session import ApprovalMode
from domain.raw_json import RawJson


class OpenFields(Body):
    """How a session begins."""

    title: StrictStr | None = None
    config: dict[str, Any] | None = None
    source: dict[str, Any] | None = None
    approval_mode: ApprovalMode | None = None


class OpenBody(OpenFields):
    """A new session; without an id it gets one."""

    session_id: StrictStr | None = None


class PatchBody(Body):
    """What to change; what is left out stays, null takes away."""

    title: StrictStr | None = None
    config: dict[str, Any] | None = None
    approval_mode: ApprovalMode | None = None
    archived: StrictBool | None = None


def open_command(fields: OpenFields, raw: Mapping[str, bytes]) -> OpenSession:
    """Return the command that the body is, with opaque members as they came."""
    return OpenSession(
        title=fields.title,
        config=None if fields.config is None else RawJson(raw["config"]),
        source=None if fields.source is None else RawJson(raw["source"]),
        approval_mode=fields.approval_mode,
    )
