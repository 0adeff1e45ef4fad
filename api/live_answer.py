"""What becomes of a stream whose client does not read it?

Nobody waits for it for ever: after a while its stream is let go of, with all that it held, and the
one frame that says so is kept for it, for another while. It resumes where it was, without loss.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Final

from fastapi.responses import StreamingResponse
from starlette.types import Send

TAKES_S: Final = 30.0
"""So long a client may take for what was sent before it gets more."""
LINGERS_S: Final = 60.0
MEDIA: Final = "text/event-stream"
SLOW: Final = b'event: goaway\ndata: {"reason":"slow-reader"}\n\n'
_HEADERS: Final[Mapping[str, str]] = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class LiveAnswer(StreamingResponse):
    """Frames as they come, to one client."""

    def __init__(self, frames: AsyncGenerator[bytes]) -> None:
        super().__init__(frames, media_type=MEDIA, headers=_HEADERS)
        self._frames: Final = frames

    async def stream_response(self, send: Send) -> None:
        """Send frame after frame, as long as the client takes them."""
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        taken = True
        try:
            async for frame in self._frames:
                # Of what is not taken nothing was written: the client sees whole frames only.
                if not await _taken(send, frame, TAKES_S):
                    taken = False
                    break
        finally:
            await self._frames.aclose()
        if taken or await _taken(send, SLOW, LINGERS_S):
            await _taken(send, b"", TAKES_S, more=False)


async def _taken(send: Send, frame: bytes, seconds: float, *, more: bool = True) -> bool:
    """Tell whether the client took in time what was sent before this; only then it is written."""
    try:
        async with asyncio.timeout(seconds):
            await send({"type": "http.response.body", "body": frame, "more_body": more})
    except TimeoutError:
        return False
    return True
