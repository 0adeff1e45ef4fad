"""Server-sent events, read as a browser reads them (HTML, section 9.2.6)."""

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from tests.api.batches import Json


@dataclass(slots=True)
class Frame:
    """One event of a stream; a comment has no name."""

    name: str = ""
    id: str | None = None
    lines: list[str] = field(default_factory=list[str])
    comment: str | None = None

    @property
    def data(self) -> str:
        """Return the data, its lines put together."""
        return "\n".join(self.lines)

    @property
    def json(self) -> Json:
        """Return the data as JSON."""
        read: Json = json.loads(self.data)
        return read


@contextmanager
def stream(
    client: httpx.Client, session_id: str, last: str | None = None, **query: str | int
) -> Generator[Iterator[Frame]]:
    """Follow a session; leave the block to hang up."""
    headers = {} if last is None else {"Last-Event-ID": last}
    path = f"/sessions/{session_id}/events/stream"
    with client.stream("GET", path, params=query, headers=headers) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        yield frames(response.iter_bytes())


def frames(chunks: Iterator[bytes]) -> Iterator[Frame]:
    """Yield each frame that was closed by an empty line."""
    frame = Frame()
    for line in _lines(chunks):
        if line == "":
            if frame != Frame():
                yield frame
            frame = Frame()
        elif line.startswith(":"):
            frame.comment = line[1:].strip()
        else:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "event":
                frame.name = value
            elif name == "id":
                frame.id = value
            elif name == "data":
                frame.lines.append(value)


def _lines(chunks: Iterator[bytes]) -> Iterator[str]:
    """Yield lines that end in CR, LF or both; nothing else ends a line."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for line in whole:
            yield line.decode()


def until_synced(frames: Iterator[Frame]) -> list[Frame]:
    """Return the events before the `synced` frame."""
    found: list[Frame] = []
    for frame in frames:
        if frame.name == "synced":
            return found
        found += [frame] if frame.name == "event" else []
    raise AssertionError("the stream ended before it was synced")
