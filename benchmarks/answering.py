"""Does a benchmark's server of this machine answer, and what?"""

from http.client import HTTPConnection
from threading import Event
from time import perf_counter

PATIENCE_S = 60.0


def get(port: int, path: str) -> bytes:
    """Return the body of an answer."""
    connection = HTTPConnection("127.0.0.1", port)
    connection.request("GET", path)
    body = connection.getresponse().read()
    connection.close()
    return body


def wait_for_server(port: int) -> None:
    """Return once the server answers.

    Raises:
        TimeoutError: it takes too long.
    """
    deadline = perf_counter() + PATIENCE_S
    while perf_counter() < deadline:
        try:
            get(port, "/healthz")
        except OSError:
            Event().wait(0.05)
        else:
            return
    raise TimeoutError("the server did not start")
