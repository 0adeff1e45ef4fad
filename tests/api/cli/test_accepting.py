"""`accept`: on the database, through a server, and on a terminal."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.api.cli.command import Turnlog, on_sqlite
from tests.api.cli.recording import record
from tests.api.cli.terminal import in_terminal
from tests.api.serving import Served
from tests.databases import SqliteDatabases
from tests.infrastructure.writing import opened, propose, turn

LOST = propose("records-lost", b'{"count":3,"reason":"disk-full"}')


@pytest.fixture
def written(database_url: str, tmp_path: Path) -> Turnlog:
    """A session of which records are missing."""
    with opened(database_url) as store:
        store.append([*turn("t1"), LOST], "s")
    return Turnlog(home=tmp_path, database_url=database_url)


def test_what_is_missing_is_accepted(written: Turnlog) -> None:
    done = written.well("accept", "s", "--message", "[A day is missing.]")

    assert done.text.splitlines() == [
        "accepted at version 9: records-lost",
        "the newest message is enough from here on",
    ]
    assert "[A day is missing.]" in written.well("show", "s").text
    refused = written.run("accept", "s")
    assert (refused.code, "nothing is missing" in refused.errors) == (1, True)


@on_sqlite
def test_what_is_accepted_is_told_as_json(written: Turnlog) -> None:
    told = written.well("accept", "s", "--reason", "records-lost", "--json").document

    assert (told["accepted"], told["readiness"]["ready"]) == (["records-lost"], True)


@on_sqlite
def test_nothing_is_accepted_that_was_not_named(written: Turnlog) -> None:
    refused = written.run("accept", "s", "--reason", "restored", "--json")

    assert (refused.code, "other-reasons" in refused.errors) == (1, True)


@on_sqlite
def test_a_server_accepts_it(server: Served, project: str, tmp_path: Path) -> None:
    record(server, project, [*turn("t1"), LOST])
    user = Turnlog(home=tmp_path, project=project)

    told = user.well("accept", "s", "--url", server.url, "--json").document

    assert told["accepted"] == ["records-lost"]


def test_on_a_terminal_it_is_asked(turnlog: Turnlog, sqlite: SqliteDatabases) -> None:
    url = sqlite.ready()
    with opened(url) as store:
        store.append([*turn("t1"), LOST], "s")
    user = replace(turnlog, database_url=url)

    with in_terminal(user, "accept", "s") as terminal:
        terminal.asks("records-lost: 1 declared losses are not healed")
        terminal.asks("go on? [y/N] ")
        terminal.press("n\n")
        assert terminal.ends().splitlines()[-1] == "nothing was changed"
    with (
        opened(url) as store,
        in_terminal(user, "accept", "s", "--yes") as terminal,
    ):
        shown = terminal.ends()
        assert "accepted at version 9: records-lost" in shown
        assert store.facts("s")[-1].envelope.actor == "local"
