"""Metrics: what Prometheus reads."""

import asyncio
from typing import Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

router = APIRouter(tags=["operations"])
MEDIA: Final = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Tell requests, appends, events, commits, live streams, and the lag of each view."""
    text = await asyncio.to_thread(request.app.state.metrics.text)
    return Response(text, media_type=MEDIA)
