"""`fork` and `lineage`: on the database and through a server."""

from pathlib import Path

import pytest

from tests.api.cli.command import Turnlog, on_sqlite
from tests.api.cli.recording import record
from tests.api.serving import Served
from tests.databases import SqliteDatabases
from tests.infrastructure.writing import opened, turn


@pytest.fixture
def written(database_url: str, tmp_path: Path) -> Turnlog:
    """A session of two turns."""
    with opened(database_url) as store:
        store.append([*turn("t1"), *turn("t2")], "s")
    return Turnlog(home=tmp_path, database_url=database_url)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory, sqlite: SqliteDatabases) -> Turnlog:
    """The same for tests that change nothing."""
    url = sqlite.ready()
    with opened(url) as store:
        store.append([*turn("t1"), *turn("t2")], "s")
    return Turnlog(home=tmp_path_factory.mktemp("home"), database_url=url)


@pytest.fixture
def at(server: Served, project: str, tmp_path: Path) -> tuple[Turnlog, str]:
    """A user without a database of their own, and a server with the session."""
    record(server, project, [*turn("t1"), *turn("t2")])
    return Turnlog(home=tmp_path, project=project), server.url


def test_a_session_is_forked_and_the_family_is_shown(written: Turnlog) -> None:
    made = written.well("fork", "s", "--at-turn", "t1", "--id", "f", "--title", "Another way")
    assert made.text == 'f  "Another way" shares the history of s up to version 5\n'
    written.well("fork", "f", "--id", "g")
    assert written.well("lineage", "f").text.splitlines() == [
        's  "go on"  shared up to version 5',
        "  f  <- this one",
        '    g  "Another way (2)"  shared up to version 6',
    ]
    told = written.well("lineage", "g", "--json").document
    assert [each["session_id"] for each in told["ancestors"]] == ["s", "f"]
    assert told["children"] == {"items": [], "next_cursor": None}


@on_sqlite
def test_a_fork_is_shown_with_what_it_shares(written: Turnlog) -> None:
    written.well("fork", "s", "--at", "5", "--id", "f")
    shared = written.well("tail", "s", "--after", "0", "--no-follow", "--json").documents[:5]
    events = written.well("tail", "f", "--after", "0", "--no-follow", "--json").documents
    assert events[:5] == shared
    assert [event["version"] for event in events] == [1, 2, 3, 4, 5, 6]
    assert written.well("verify", "f").code == 0


@on_sqlite
def test_a_server_forks_and_tells_the_family(at: tuple[Turnlog, str]) -> None:
    user, url = at
    made = user.well("fork", "s", "--at", "5", "--id", "f", "--url", url, "--json").document
    assert made["forked_from"] == {"session_id": "s", "version": 5}
    assert user.well("lineage", "s", "--url", url).text.splitlines() == [
        "s  <- this one",
        '  f  "go on (2)"  shared up to version 5',
    ]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("nobody",), "no-such-session"),
        (("s", "--at-turn", "t9"), "no-such-turn"),
        (("s", "--title", " "), "invalid-value"),
        (("s", "--id", "a/b"), "invalid-value"),
        (("s", "--id", "s"), "session-exists"),
        (("s", "--at", "10"), "invalid-value"),
    ],
)
def test_what_cannot_be_forked_is_said(
    unchanged: Turnlog, arguments: tuple[str, ...], code: str
) -> None:
    refused = unchanged.run("fork", *arguments)
    assert refused.code != 0
    assert code in refused.errors
