"""`diff`: what differs between two points, on the database and through a server."""

from pathlib import Path

import pytest

from tests.api.cli.command import Turnlog, on_sqlite
from tests.api.cli.recording import record
from tests.api.serving import Served
from tests.infrastructure.writing import opened, propose, turn

STEERING = (
    b'{"turn_id":"t2","messages":[{"role":"user","content":"look \\u001b[31m\\nhere"}],'
    b'"history_sent":"full"}'
)


CALL = b'{"turn_id":"t2","tool_call_id":"c1","name":"n","arguments":{"n":12345678901234567890}}'
SAID = [
    *turn("t1"),
    propose("turn-started", STEERING),
    propose("tool-call-requested", CALL),
]


@pytest.fixture
def written(database_url: str, tmp_path: Path) -> Turnlog:
    """A session of a turn (versions 2 to 5), and one that goes on (6 and 7)."""
    with opened(database_url) as store:
        store.append(SAID, "s")
    return Turnlog(home=tmp_path, database_url=database_url)


def test_a_diff_is_told_in_lines_that_can_only_be_read(written: Turnlog) -> None:
    told = written.well("diff", "s", "5", "7").text.splitlines()
    assert told[:4] == [
        "~ reasons: none -> turn-running",
        "+ turn 2 t2 (running): new",
        "+ call c1 (n) waits",
        "+ #3 user: look ␛[31m here",
    ]
    assert told[4:] == ['+ #4 assistant: [calls n] {"n":12345678901234567890}']
    assert written.well("diff", "s", "3", "3").text == "nothing differs\n"


@on_sqlite
def test_the_second_point_is_now_and_points_can_be_times(written: Turnlog) -> None:
    assert written.well("diff", "s", "5").text == written.well("diff", "s", "5", "7").text
    assert written.well("diff", "s", "2026-01-01T00:00:00Z").text == "nothing differs\n"
    [document] = written.well("diff", "s", "5", "--json", "--limit", "1").documents
    assert (document["from"]["version"], document["to"]["version"]) == (5, 7)
    assert (document["messages"]["added"]["count"], document["head"]["version"]) == (2, 7)
    assert len(document["messages"]["added"]["items"]) == 1


@on_sqlite
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("s", "soon"), 2),
        (("s",), 2),
        (("s", "9"), 1),
        (("s", "1", "99"), 1),
        (("none", "1"), 1),
        (("s", "1", "--limit", "0"), 2),
    ],
)
def test_points_that_never_were_are_refused(
    written: Turnlog, arguments: tuple[str, ...], code: int
) -> None:
    failed = written.run("diff", *arguments)
    assert (failed.code, failed.out) == (code, b"")
    assert failed.errors


@on_sqlite
def test_a_server_tells_the_same(server: Served, project: str, tmp_path: Path) -> None:
    record(server, project, SAID)
    near = Turnlog(home=tmp_path, database_url=server.database_url, project=project)
    far = Turnlog(home=tmp_path, project=project)
    for arguments in (("s", "5"), ("s", "7", "2"), ("s", "5", "--limit", "1")):
        told = far.well("diff", *arguments, "--url", server.url)
        assert told.out == near.well("diff", *arguments).out
    assert far.run("diff", "s", "99", "--url", server.url).code == 1
