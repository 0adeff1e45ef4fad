"""Does the server start only where it may, answer what the command line asks, and end well?"""

import json
import signal
import socket
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from api.cli.program import run
from api.cli.serving import listening
from tests.api.cli.command import PATIENCE_S, Running, Turnlog, on_sqlite
from tests.api.cli.transcripts import SESSION, sample, written


@pytest.fixture
def served(on_each: Turnlog, tmp_path: Path) -> Iterator[tuple[Turnlog, Running, str]]:
    """A server that has the sample, on each database in turn."""
    on_each.well("import", sample(tmp_path, lines=12))
    with on_each.running("serve", "--port", "0", "--json") as running:
        yield on_each, running, running.document()["url"]


@pytest.fixture
def here(
    served: tuple[Turnlog, Running, str],
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> Callable[..., tuple[int, bytes, bytes]]:
    """Run commands in this process, which is quicker, as the user whose server runs."""
    for name, value in served[0].environment.items():
        monkeypatch.setenv(name, value)

    def command(*arguments: str) -> tuple[int, bytes, bytes]:
        capfdbinary.readouterr()
        code = run(arguments)
        out, errors = capfdbinary.readouterr()
        return code, out, errors

    return command


def test_what_a_server_tells_is_what_the_database_tells(
    served: tuple[Turnlog, Running, str], here: Callable[..., tuple[int, bytes, bytes]]
) -> None:
    _, __, url = served

    for command in (
        ("sessions", "--json"),
        ("sessions", "--parent", "-", "--status", "all", "--title", "parcel"),
        ("show", SESSION),
        ("show", SESSION, "--json", "--limit", "3"),
        ("show", SESSION, "--at", "9"),
        ("show", SESSION, "--format", "openai"),
        ("tail", SESSION, "--no-follow", "--json", "--after", "4"),
        ("verify", SESSION, "--json"),
        ("verify", "--all"),
        ("export", SESSION),
    ):
        direct = here(*command)
        assert (direct[0], direct[2]) == (0, b"")
        assert here(*command, "--url", url) == direct


@on_sqlite
def test_a_server_refuses_with_the_code_that_the_database_has(
    served: tuple[Turnlog, Running, str], here: Callable[..., tuple[int, bytes, bytes]]
) -> None:
    _, __, url = served

    for command in (
        ("show", "absent"),
        ("tail", "absent"),
        ("export", "absent"),
        ("verify", "absent"),
        ("show", SESSION, "--at", "999"),
        ("show", SESSION, "--project", "other"),
    ):
        direct = here(*command)
        assert (direct[0], direct[1]) == (1, b"")
        assert here(*command, "--url", url) == direct


@pytest.mark.parametrize(
    ("database_kind", "number"), [("sqlite", signal.SIGTERM), ("postgresql", signal.SIGINT)]
)
def test_a_signal_ends_streams_with_a_goodbye_and_the_server_at_once(
    served: tuple[Turnlog, Running, str], number: signal.Signals
) -> None:
    _, running, url = served
    connection = HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE_S)
    path = f"/v1/projects/default/sessions/{SESSION}/events/stream?after=0"
    connection.request("GET", path)
    stream = connection.getresponse()
    while not stream.readline().startswith(b"event: synced"):
        pass

    ended = running.end(number)

    rest = stream.read()
    connection.close()
    assert rest.endswith(b'event: goaway\ndata: {"reason":"shutting-down"}\n\n')
    assert (ended.code, ended.out) == (0, b"")
    assert ended.errors == f"{number.name}: finishing what runs; once more ends it at once\n"


@on_sqlite
def test_following_a_server_goes_on_where_another_takes_over(
    on_each: Turnlog, tmp_path: Path
) -> None:
    on_each.well("import", sample(tmp_path, lines=12))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])

    with on_each.running("serve", "--port", port, "--json") as server:
        url = server.document()["url"]
        with on_each.running("tail", SESSION, "--after", "18", "--json", "--url", url) as tail:
            before = [tail.document()["version"] for _ in range(2)]
            assert server.end(signal.SIGTERM).code == 0
            on_each.well("import", sample(tmp_path))
            with on_each.running("serve", "--port", port, "--json") as other:
                other.document()
                after = [tail.document()["version"] for _ in range(2)]
                ended = tail.end(signal.SIGINT)

    assert (before, after) == ([19, 20], [21, 22])
    assert (ended.code, ended.errors) == (0, "")


def test_a_port_that_is_taken_is_told(turnlog: Turnlog) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        outcome = turnlog.run("serve", "--port", str(taken.getsockname()[1]))

    assert outcome.code == 2
    assert outcome.errors.endswith("--port takes another (cannot-listen)\n")


def test_an_answer_is_sent_at_once_not_when_the_one_before_was_acknowledged() -> None:
    with (
        listening("127.0.0.1", 0) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_something_else_at_the_address_is_no_server_of_ours(turnlog: Turnlog) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        url = f"http://127.0.0.1:{stranger.getsockname()[1]}"
        with turnlog.running("sessions", "--url", url) as running:
            connection, _ = stranger.accept()
            connection.recv(65_536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            connection.close()
            _, errors = running.process.communicate(timeout=PATIENCE_S)

    assert running.process.returncode == 2
    assert errors.decode() == f"turnlog: what answers at {url} is no turnlog (not-turnlog)\n"


def test_the_main_job_is_one_command_that_can_be_run_again(newcomer: Turnlog) -> None:
    first = newcomer.well("demo", "--no-serve").text
    with newcomer.running("demo", "--port", "0", "--json") as running:
        told = running.document()
        shown = newcomer.well("show", SESSION, "--url", told["url"]).text
        ended = running.end(signal.SIGINT)

    assert f"turnlog show {SESSION}" in first
    assert "turnlog import ~/.claude/projects" in first
    assert told["import"]["status"] == "unchanged"
    assert "Round parcel prices to the cent" in shown
    assert ended.code == 0


def test_a_server_and_commands_share_an_embedded_database(
    newcomer: Turnlog, tmp_path: Path
) -> None:
    with newcomer.running("serve", "--port", "0", "--json") as running:
        url = running.document()["url"]
        newcomer.well("import", written(tmp_path, "s1", "hello"))
        listed = newcomer.well("sessions", "--json", "--url", url)
        running.end(signal.SIGTERM)

    assert [json.loads(line)["session_id"] for line in listed.out.splitlines()] == ["s1"]
