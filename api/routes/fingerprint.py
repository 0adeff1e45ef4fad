"""Fingerprints: which history and which configuration is it?"""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from sqlalchemy import Connection

from api.dependencies import KnownTags, Log, Session
from api.shapes import Shape
from api.views import When, view
from infrastructure.reading.fingerprint import fingerprints
from infrastructure.reading.moment import Moment

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}", tags=["fingerprint"])


@router.get("/fingerprint")
async def read_fingerprint(
    target: Session,
    log: Log,
    known: KnownTags,
    at: When,
    v1: Annotated[bool, Query(description="The reference's fingerprint too.")] = False,  # noqa: FBT002
) -> Response:
    """Tell the fingerprints; null where what one is made of is not stored any more."""

    def look(connection: Connection, moment: Moment) -> Shape:
        found = fingerprints(connection, moment, v1=v1)
        shape: Shape = {"history": found.history, "model_history": found.model_history}
        if v1:
            shape["history_v1"] = found.history_v1
        return shape | {
            "config": found.config,
            "credentials": None,
            "through_version": moment.through,
        }

    return await view(log, target, known, look, at, long=True)
