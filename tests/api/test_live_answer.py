"""Who does not read is let go of, is told so, and has seen whole frames only."""

import asyncio
from collections.abc import AsyncGenerator, MutableMapping
from typing import Any

import pytest

from api import live_answer
from api.live_answer import SLOW, LiveAnswer

FRAMES = [b"one", b"two", b"three"]


class Client:
    """Takes what it is sent as long as it has room, as a socket does."""

    def __init__(self, room: int) -> None:
        self.room = asyncio.Semaphore(room)
        self.got: list[bytes] = []
        self.complete = False

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            return
        await self.room.acquire()
        if message["body"]:
            self.got.append(message["body"])
        self.complete = not message["more_body"]


class Frames:
    """Frames, and whether somebody still asks for them."""

    def __init__(self) -> None:
        self.let_go = asyncio.Event()

    async def each(self) -> AsyncGenerator[bytes]:
        try:
            for frame in FRAMES:
                yield frame
        finally:
            self.let_go.set()


def test_frames_are_sent_as_they_come_and_the_answer_ends() -> None:
    async def scene() -> None:
        client, frames = Client(room=10), Frames()
        await LiveAnswer(frames.each()).stream_response(client.send)
        assert (client.got, client.complete, frames.let_go.is_set()) == (FRAMES, True, True)

    asyncio.run(scene())


def test_who_takes_nothing_any_more_is_told_so_when_it_reads_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_answer, "TAKES_S", 0.05)

    async def scene() -> None:
        client, frames = Client(room=2), Frames()
        answer = asyncio.create_task(LiveAnswer(frames.each()).stream_response(client.send))
        await frames.let_go.wait()
        assert client.got == FRAMES[:2]
        monkeypatch.setattr(live_answer, "TAKES_S", 10.0)
        client.room.release()
        client.room.release()
        await answer
        assert (client.got, client.complete) == ([*FRAMES[:2], SLOW], True)

    asyncio.run(scene())


def test_who_never_reads_again_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_answer, "TAKES_S", 0.01)
    monkeypatch.setattr(live_answer, "LINGERS_S", 0.01)

    async def scene() -> None:
        client, frames = Client(room=1), Frames()
        await LiveAnswer(frames.each()).stream_response(client.send)
        assert (client.got, client.complete, frames.let_go.is_set()) == (FRAMES[:1], False, True)

    asyncio.run(scene())


def test_what_a_stream_itself_fails_of_is_no_slow_reader() -> None:
    async def failing() -> AsyncGenerator[bytes]:
        yield b"one"
        raise TimeoutError

    async def scene() -> None:
        client = Client(room=10)
        with pytest.raises(TimeoutError):
            await LiveAnswer(failing()).stream_response(client.send)
        assert client.got == [b"one"]

    asyncio.run(scene())
