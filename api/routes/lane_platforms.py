"""Which platforms' gateways are there?"""

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Path, Request, Response
from pydantic import Field, StrictBool

from api.body import Body, json_of, read_body
from api.dependencies import Log, ProjectId
from api.problems import Flaw, ProblemError
from api.shapes import Shape
from domain.lanes.source import PLATFORM_RULE, is_platform
from domain.raw_json import dumped
from domain.times import rfc3339
from infrastructure.hosting.hosts import Hosting
from infrastructure.lanes.platforms import Platform, platforms, set_connected

router = APIRouter(prefix="/v1/projects/{project_id}/lanes/platforms", tags=["lanes"])
MEDIA: Final = "application/json"


class PlatformBody(Body):
    """What a gateway says of a platform."""

    connected: Annotated[
        StrictBool, Field(description="Whether its adapter is connected, and can send.")
    ]


async def the_platform(
    platform: Annotated[str, Path(description="The platform, as sources name it.")],
) -> str:
    """Return the platform of the path."""
    if not is_platform(platform):
        flaw = Flaw(PLATFORM_RULE, ("path", "platform"))
        raise ProblemError("invalid-value", PLATFORM_RULE, flaws=[flaw])
    return platform


PlatformName = Annotated[str, Depends(the_platform)]


@router.get("")
async def list_platforms(project_id: ProjectId, log: Log) -> Response:
    """List the platforms of which a gateway ever said whether it is connected, by name.

    One that is not here is not connected, as far as anybody knows.
    """
    found = await log.read(lambda connection: platforms(connection, project_id))
    return Response(dumped({"items": [_shape(each) for each in found]}), media_type=MEDIA)


@router.put("/{platform}", openapi_extra=json_of(PlatformBody, {"connected": True}))
async def put_platform(
    request: Request, project_id: ProjectId, platform: PlatformName, log: Log
) -> Response:
    """Say that a platform's adapter connected, or is connected no more.

    A gateway says so whenever that changes. While it is connected, what a restart cut off in the
    platform's lanes is gone on with where that is wanted, beginning with what waits now; on other
    platforms nothing happens by it. Models are told which platforms are connected.
    """
    fields = (await read_body(request)).valid(PlatformBody)
    kept = await log.write(
        lambda attempt: set_connected(
            attempt.connection, project_id, platform, log.now(), connected=fields.connected
        )
    )
    hosting = request.app.state.hosting
    if kept.connected and isinstance(hosting, Hosting):
        hosting.platform_connected(project_id, platform)
    return Response(dumped(_shape(kept)), media_type=MEDIA)


def _shape(each: Platform) -> Shape:
    return {
        "platform": each.platform,
        "connected": each.connected,
        "changed_at": rfc3339(each.changed_at),
    }
