"""Verify: is a session's log what was once written?"""

import asyncio
from typing import Annotated, Final

from fastapi import APIRouter, Request, Response
from pydantic import Field
from sqlalchemy import Connection

from api.body import Body, json_of, read_body
from api.dependencies import Log, Session
from api.problems import Flaw, ProblemError
from api.verification_shapes import verification_shape
from domain.raw_json import dumped
from domain.refusals import NoSuchSession
from domain.state import GONE
from infrastructure.lookup import find_head
from infrastructure.verification import Receipt, verify

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}", tags=["history"])
MEDIA: Final = "application/json"
NEWEST_VERSION: Final = 2**31 - 1


class VerifyBody(Body):
    """A receipt: what an export, an append or a head once said of the session. Both, or none."""

    version: Annotated[int, Field(ge=1, le=NEWEST_VERSION)] | None = None
    hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None


@router.post(
    "/verify",
    openapi_extra=json_of(VerifyBody, {"version": 4, "hash": "c0" * 32}),
)
async def verify_session(request: Request, target: Session, log: Log) -> Response:
    """Compute every hash of the session again: name the first event that is not as it was written.

    With a receipt, the log must also hold what the receipt says; a log that was cut off behind it
    is found so.
    """
    receipt = _receipt((await read_body(request)).valid(VerifyBody))

    def look(connection: Connection) -> None:
        # A session that lost its head is damaged, not gone.
        key, state = find_head(connection, target.project_id, target.session_id)
        if key is None or state.head.status in GONE - {"absent"}:
            raise NoSuchSession

    await log.read(look, long=True)
    found = await asyncio.to_thread(
        verify, log.database, target.project_id, target.session_id, receipt
    )
    return Response(dumped(verification_shape(found)), media_type=MEDIA)


def _receipt(body: VerifyBody) -> Receipt | None:
    if body.version is None and body.hash is None:
        return None
    if body.version is None or body.hash is None:
        missing = "version" if body.version is None else "hash"
        detail = "a receipt has a version and a hash"
        raise ProblemError("invalid-value", detail, flaws=[Flaw(detail, (missing,))])
    return Receipt(version=body.version, hash=bytes.fromhex(body.hash))
