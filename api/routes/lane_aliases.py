"""Which ids are one person's, where a platform has several for each."""

from asyncio import to_thread
from typing import Final

from fastapi import APIRouter, Request, Response
from pydantic import Field
from sqlalchemy import Connection

from api.body import Body, RawBody, json_of, read_body
from api.dependencies import ExpectedVersion, From, KnownTags, Log, ProjectId, is_known
from api.settings_shapes import aliases_shape, tag_of
from domain.json_text import dump, raw_members
from domain.lanes.project_aliases import PLATFORM, read_project_aliases
from domain.lanes.whatsapp import Aliases
from domain.raw_json import RawJson, dumped
from infrastructure.lane_aliases import read_stored_aliases, replace_aliases, stored_aliases
from infrastructure.setting_rows import Change, Stored

router = APIRouter(prefix="/v1/projects/{project_id}/lanes/aliases", tags=["lanes"])
MEDIA: Final = "application/json"
_EXAMPLE: Final = {"whatsapp": {"999999999999999@lid": ["15551234567@s.whatsapp.net"]}}


class AliasesBody(Body):
    """All that is known; what was there before is forgotten."""

    whatsapp: dict[str, list[str]] = Field(
        default={},
        description="Each id to others of the same person, in either direction, in any spelling: "
        "at most 100,000 ids.",
    )


@router.get("")
async def read_aliases(project_id: ProjectId, log: Log, known: KnownTags) -> Response:
    """Read which ids are one person's, as they were put, and how many they are.

    `people` have `ids` together; an id with characters that the platform does not have is not
    counted. `version` counts the changes, and is the entity tag; 0: nothing was ever put.
    """

    def look(connection: Connection) -> tuple[Stored, bytes]:
        found = stored_aliases(connection, project_id)
        if is_known(tag_of(found)["ETag"], known):
            return found, b""
        shape = aliases_shape(found, read_stored_aliases(found))
        put = raw_members(found.value).get(PLATFORM, b"{}")
        return found, dumped({**shape, PLATFORM: RawJson(put)})

    found, answer = await log.read(look, long=True)
    if not answer:
        return Response(status_code=304, headers=tag_of(found))
    return Response(answer, media_type=MEDIA, headers=tag_of(found))


@router.put("", openapi_extra=json_of(AliasesBody, _EXAMPLE))
async def put_aliases(
    request: Request, project_id: ProjectId, log: Log, caller: From, version: ExpectedVersion
) -> Response:
    """Say which ids are one person's, in place of all that was said before.

    The shortest of a person's ids stands for all of them in their lanes' keys, from the next
    message on. The same again is no new version. At most 8 MiB and 100,000 ids.
    """
    body = await read_body(request)
    new = await to_thread(_read, body)  # a long one takes a second
    change = Change(actor=caller.actor, now=log.now(), expected=version)
    found = await log.write(
        lambda attempt: replace_aliases(attempt.connection, project_id, new, change)
    )
    return Response(dumped(aliases_shape(found, new[0])), media_type=MEDIA, headers=tag_of(found))


def _read(body: RawBody) -> tuple[Aliases, bytes]:
    """Return who is whom, and the text to be kept.

    Raises:
        Refusal: with the place that means nothing.
    """
    return read_project_aliases(body.value), dump(body.value)
