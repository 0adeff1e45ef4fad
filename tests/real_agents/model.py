"""What stands in for the models' HTTP interfaces, on loopback: which requests reached it?

As much of OpenAI's `chat/completions` and `responses` as the agents use: plain and streamed, text
and calls. What it says is in `script`.
"""

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Lock, Thread
from typing import Final, cast

from tests.real_agents.bodies import (
    NAME,
    chat_messages,
    completion,
    completion_pieces,
    response,
    response_items,
    response_pieces,
    tools_of,
)
from tests.real_agents.script import Heard, Json, Reply, Tools, reply, shell_of


class Model:
    """A model that follows the script, and keeps what it was sent.

    Attributes:
        url: Where it is, up to `/v1`.
    """

    def __init__(self, port: int) -> None:
        """Begin with nothing heard."""
        self.url: Final = f"http://127.0.0.1:{port}/v1"
        self._heard: list[list[Heard]] = []
        self._numbers = count(1)
        self._lock: Final = Lock()

    def number(self) -> int:
        """Return a number that was not given before."""
        with self._lock:
            return next(self._numbers)

    def answer(self, heard: list[Heard], tools: Tools) -> Reply:
        """Return what it says; only what is sent with tools is an agent at work."""
        if shell_of(tools) is not None:
            with self._lock:
                self._heard.append(heard)
        return reply(heard, tools)

    def last(self) -> list[Heard]:
        """Return the conversation that it was sent last."""
        with self._lock:
            return self._heard[-1]

    def requests(self) -> int:
        """Return how often it was asked."""
        with self._lock:
            return len(self._heard)


@contextmanager
def model() -> Generator[Model]:
    """Give a model that listens until the end of the block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    stand_in = Model(server.server_address[1])
    _Handler.models[server.server_address[1]] = stand_in
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="model")
    thread.start()
    try:
        yield stand_in
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """One request to the model."""

    models: Final[dict[int, Model]] = {}

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Say nothing: what reached it is kept."""

    def do_GET(self) -> None:
        """List the only model there is."""
        self._json({"object": "list", "data": [{"id": NAME, "object": "model", "created": 0}]})

    def do_POST(self) -> None:
        """Answer a conversation."""
        body: Json = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("?")[0]
        chat = path.endswith("/chat/completions")
        if not chat and not path.endswith("/responses"):
            self.send_error(404)
            return
        model = self.models[cast("tuple[str, int]", self.server.server_address)[1]]
        heard = [*(chat_messages(body) if chat else response_items(body))]
        said = model.answer(heard, dict(tools_of(body)))
        number = model.number()
        if chat:
            whole, pieces = completion(said, number), completion_pieces(said, number)
        else:
            whole, pieces = response(said, number), response_pieces(said, number)
        if body.get("stream"):
            self._stream(pieces, done=chat)
        else:
            self._json(whole)

    def _json(self, document: Json) -> None:
        content = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, pieces: Iterator[Json], *, done: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            for piece in pieces:
                name = f"event: {piece['type']}\n" if "type" in piece else ""
                self.wfile.write(f"{name}data: {json.dumps(piece)}\n\n".encode())
            if done:
                self.wfile.write(b"data: [DONE]\n\n")
        except (BrokenPipeError, ConnectionResetError):
            pass  # an agent that was stopped does not listen to the end
