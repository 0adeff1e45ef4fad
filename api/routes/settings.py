"""A project's policies: who shares a conversation, how long things are kept, who may speak."""

from typing import Annotated, Final, TypeAlias

from fastapi import APIRouter, Request, Response
from pydantic import Field

from api.body import Body, json_of, read_body
from api.dependencies import ExpectedVersion, From, KnownTags, Log, ProjectId, is_known
from api.settings_shapes import changed, settings_shape, tag_of
from domain.raw_json import dumped
from domain.read_settings import DAYS_LIMIT, FRESH_LIMIT_S
from infrastructure.project_settings import stored_settings
from infrastructure.setting_rows import Change

router = APIRouter(prefix="/v1/projects/{project_id}/settings", tags=["settings"])
MEDIA: Final = "application/json"

Days: TypeAlias = Annotated[int, Field(ge=0, le=DAYS_LIMIT)]
Id: TypeAlias = Annotated[str, Field(min_length=1, max_length=512)] | int


class HomeChannelPatch(Body):
    """Where output goes on a platform that answers nobody's message."""

    chat_id: Id | None = None
    name: Annotated[str, Field(min_length=1, max_length=256)] | None = None


class LanesPatch(Body):
    """How messages find their sessions; null restores a default."""

    group_sessions_per_user: bool | None = Field(
        default=None, description="Each member of a group has a session of their own there: true."
    )
    thread_sessions_per_user: bool | None = Field(
        default=None, description="In threads too, which are else shared: false."
    )
    profiles: bool | None = Field(
        default=None, description="A source's profile is part of its key: false."
    )
    redact_ids: bool | None = Field(
        default=None, description="The model sees digests of ids instead: false."
    )
    prune_after_days: Days | None = Field(
        default=None,
        description="A lane goes so long after its last activity; 0, the default: never.",
    )
    resume_fresh_s: Annotated[int, Field(ge=0, le=FRESH_LIMIT_S)] | None = Field(
        default=None,
        description="So long an interrupted turn is gone on with by itself; 0: for ever. 3600.",
    )
    allowed_users: dict[str, list[Id] | None] | None = Field(
        default=None,
        description="Who may speak, by platform; on one that is not named nobody may. Null, the "
        "default: everybody.",
    )
    home_channels: dict[str, HomeChannelPatch | None] | None = Field(
        default=None, description="Where output goes that answers nobody, by platform."
    )


class SessionsPatch(Body):
    """What becomes of sessions; null restores a default."""

    retain_ended_days: Days | None = Field(
        default=None, description="An ended session is kept so long; 0, the default: for ever."
    )


class SettingsPatch(Body):
    """A merge patch (RFC 7396)."""

    lanes: LanesPatch | None = None
    sessions: SessionsPatch | None = None


@router.get("")
async def read_settings(project_id: ProjectId, log: Log, known: KnownTags) -> Response:
    """Read the project's policies, with the default of each that nobody set.

    `version` counts the changes, and is the entity tag; 0: nothing was ever set. `readable` false:
    this build cannot read what was set, the defaults are shown, and nobody is taken to be allowed.
    """
    found = await log.read(lambda connection: stored_settings(connection, project_id))
    if is_known(tag_of(found)["ETag"], known):
        return Response(status_code=304, headers=tag_of(found))
    return Response(dumped(settings_shape(found)), media_type=MEDIA, headers=tag_of(found))


@router.patch(
    "", openapi_extra=json_of(SettingsPatch, {"lanes": {"group_sessions_per_user": False}})
)
async def change_settings(
    request: Request, project_id: ProjectId, log: Log, caller: From, version: ExpectedVersion
) -> Response:
    """Change some of the project's policies, by a merge patch (RFC 7396).

    What is left out stays; null restores the default, of a policy or of a whole group; an array is
    replaced whole. A change that changes nothing is no new version. What holds for a conversation
    from then on is asked for each message: no session is moved or ended by it.
    """
    body = await read_body(request)
    change = Change(actor=caller.actor, now=log.now(), expected=version)
    found = await log.write(
        lambda attempt: changed(attempt.connection, project_id, body.value, change)
    )
    return Response(dumped(settings_shape(found)), media_type=MEDIA, headers=tag_of(found))
