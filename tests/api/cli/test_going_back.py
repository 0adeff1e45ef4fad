"""`rewind` and `redo`: on the database and through a server, on a terminal and in a script."""

import signal
from dataclasses import replace
from pathlib import Path

import pytest

from api.cli.program import run
from tests.api.cli.command import Turnlog, on_sqlite
from tests.api.cli.recording import record
from tests.api.cli.terminal import in_terminal
from tests.api.serving import Served
from tests.databases import SqliteDatabases
from tests.infrastructure.writing import opened, propose, turn

BEGUN = (
    b'{"turn_id":"t3","messages":[{"role":"user","content":['
    b'{"type":"text","text":"look \\u001b[31m\\nclosely"},'
    b'{"type":"attachment","attachment_id":"a1","filename":"cat.png","media_type":"image/png",'
    b'"data":"iVBO"}]}]}'
)
CONSEQUENCE = [
    "2 turns (4 messages) go out of sight, from turn t2 on",
    "  > go on",
]


@pytest.fixture
def written(database_url: str, tmp_path: Path) -> Turnlog:
    """A session of three turns; the last one began with a picture."""
    with opened(database_url) as store:
        end = propose("turn-completed", b'{"turn_id":"t3","record_count":1}')
        store.append([*turn("t1"), *turn("t2"), propose("turn-started", BEGUN), end], "s")
    return Turnlog(home=tmp_path, database_url=database_url)


@pytest.fixture
def embedded(turnlog: Turnlog, sqlite: SqliteDatabases) -> Turnlog:
    """A session of two turns in a database of one's own."""
    url = sqlite.ready()
    with opened(url) as store:
        store.append([*turn("t1"), *turn("t2")], "s")
    return replace(turnlog, database_url=url)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory, sqlite: SqliteDatabases) -> Turnlog:
    """The same for tests that change nothing."""
    url = sqlite.ready()
    with opened(url) as store:
        store.append([*turn("t1"), *turn("t2")], "s")
    return Turnlog(home=tmp_path_factory.mktemp("home"), database_url=url)


@pytest.fixture
def running(written: Turnlog, database_url: str) -> Turnlog:
    """The same with a turn that runs."""
    with opened(database_url) as store:
        store.append([turn("t4")[0]], "s", "p2")
    return written


@pytest.fixture
def at(server: Served, project: str, tmp_path: Path) -> tuple[Turnlog, str]:
    """A user without a database of their own, and a server with the session."""
    record(server, project, [*turn("t1"), *turn("t2")])
    return Turnlog(home=tmp_path, project=project), server.url


def version(turnlog: Turnlog) -> int:
    [session] = turnlog.well("sessions", "--json").documents
    found: int = session["head"]["version"]
    return found


def test_turns_go_out_of_sight_and_come_back(written: Turnlog) -> None:
    gone = written.well("rewind", "s", "--to-turn", "t2")
    assert gone.text.splitlines() == [
        *CONSEQUENCE,
        "done, the session is at version 12; turnlog redo s takes it back",
    ]
    assert len(written.well("show", "s", "--json").documents) == 3

    back = written.well("redo", "s")

    assert back.text.splitlines() == [
        "2 turns (4 messages) come back into sight",
        "done, the session is at version 13; nothing was lost by it",
    ]
    assert len(written.well("show", "s", "--json").documents) == 7


@on_sqlite
def test_what_was_said_and_attached_is_shown_and_steers_no_terminal(written: Turnlog) -> None:
    [first, *said] = written.well("rewind", "s", "--turns", "1", "--dry-run").text.splitlines()

    assert first == "1 turn (1 message) goes out of sight, from turn t3 on"
    assert said[:2] == ["  > look ␛[31m", "  > closely"]
    assert said[2].startswith("  + cat.png image/png ")
    assert len(said) == 3
    assert version(written) == 11


@on_sqlite
def test_a_script_gets_the_answer_of_the_rest_interface(written: Turnlog) -> None:
    tried = written.well("rewind", "s", "--to-version", "5", "--dry-run", "--json").document
    done = written.well("rewind", "s", "--to-version", "5", "--json").document

    assert (tried["dry_run"], tried["rewind_version"], tried["head"]["hash"]) == (True, None, None)
    assert (done["rewind_version"], done["turns_rewound"]) == (12, 2)
    assert (
        done["target"] == tried["target"] == {"turn_id": "t2", "text": "go on", "attachments": []}
    )
    back = written.well("redo", "s", "--rewind-version", "12", "--json").document
    assert (back["rewind_version"], back["turns_restored"], back["messages_restored"]) == (12, 2, 4)


@on_sqlite
def test_a_turn_that_runs_is_interrupted_only_if_that_is_asked_for(running: Turnlog) -> None:
    refused = running.run("rewind", "s", "--before-message", "t2:1")
    assert (refused.code, refused.errors) == (
        1,
        "turnlog: turn t4 has not ended (turn-in-progress)\n",
    )

    done = running.well("rewind", "s", "--before-message", "t2:1", "--interrupt")

    assert done.text.splitlines()[0] == "turn t4, which runs, is interrupted"


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        (["rewind", "s"], "usage", 2),
        (["rewind", "s", "--turns", "0"], "usage", 2),
        (["rewind", "s", "--turns", "1", "--to-turn", "t1"], "usage", 2),
        (["rewind", "s", "--to-turn", "t9"], "no-such-turn", 1),
        (["rewind", "s", "--to-turn", "../t9"], "invalid-value", 1),
        (["rewind", "s", "--to-version", "3"], "invalid-value", 1),
        (["rewind", "s", "--before-message", "m"], "no-such-message", 1),
        (["rewind", "none", "--turns", "1"], "no-such-session", 1),
        (["redo", "s"], "nothing-to-redo", 1),
        (["redo", "s", "--rewind-version", "3"], "no-such-rewind", 1),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    unchanged: Turnlog,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    arguments: list[str],
    code: str,
    exit_code: int,
) -> None:
    for name, value in unchanged.environment.items():
        monkeypatch.setenv(name, value)

    assert run(arguments) == exit_code

    out, errors = capfd.readouterr()
    assert out == ""
    assert errors.endswith(f"({code})\n")


@on_sqlite
def test_a_server_does_the_same(at: tuple[Turnlog, str]) -> None:
    turnlog, url = at

    gone = turnlog.well("rewind", "s", "--turns", "1", "--url", url)
    back = turnlog.well("redo", "s", "--url", url, "--json").document

    assert gone.text.splitlines()[0] == "1 turn (3 messages) goes out of sight, from turn t2 on"
    assert back["turns_restored"] == 1
    refused = turnlog.run("redo", "s", "--url", url)
    assert (refused.code, "(nothing-to-redo)" in refused.errors) == (1, True)


def test_on_a_terminal_the_consequence_is_shown_and_asked_about(embedded: Turnlog) -> None:
    with in_terminal(embedded, "rewind", "s", "--turns", "1") as terminal:
        terminal.asks("go on? [y/N] ")
        terminal.press("n\n")
        assert terminal.ends().splitlines()[-1] == "nothing was changed"
        assert terminal.process.returncode == 1
    with in_terminal(embedded, "rewind", "s", "--turns", "1") as terminal:
        terminal.asks("1 turn (3 messages) goes out of sight, from turn t2 on")
        terminal.asks("go on? [y/N] ")
        terminal.press("y\n")
        shown = terminal.ends()
        assert shown.count("out of sight") == 1
        assert shown.splitlines()[-1].startswith("done, the session is at version 10;")
    with in_terminal(embedded, "redo", "s", "--yes") as terminal:
        assert "go on?" not in terminal.ends()
        assert terminal.process.returncode == 0
    with in_terminal(embedded, "rewind", "s", "--turns", "1") as terminal:
        terminal.asks("go on? [y/N] ")
        terminal.press("\x04")  # no answer
        assert terminal.ends().splitlines()[-1].endswith("nothing was changed")
    with in_terminal(embedded, "rewind", "s", "--turns", "1") as terminal:
        terminal.asks("go on? [y/N] ")
        terminal.process.send_signal(signal.SIGINT)
        terminal.ends()
        assert terminal.process.returncode == 130
    assert version(embedded) == 11


def test_what_was_not_shown_is_not_done(embedded: Turnlog) -> None:
    with (
        opened(str(embedded.database_url)) as store,
        in_terminal(embedded, "rewind", "s", "--turns", "1") as terminal,
    ):
        terminal.asks("go on? [y/N] ")
        store.append(turn("t3"), "s", "p2")
        terminal.press("y\n")
        assert "(head-behind)" in terminal.ends()
        assert terminal.process.returncode == 1


@on_sqlite
def test_what_went_out_of_sight_is_shown_on_request(at: tuple[Turnlog, str]) -> None:
    turnlog, url = at
    turnlog.well("rewind", "s", "--turns", "1", "--yes", "--url", url)

    def states(*options: str) -> list[str]:
        shown = turnlog.well("show", "s", "--json", "--url", url, *options).documents
        return [message["state"] for message in shown]

    in_sight = states()
    assert set(in_sight) == {"live"}
    assert states("--rewound") == [*in_sight, *["rewound"] * len(in_sight)]
    assert states("--rewound", "--archived", "--limit", "1") == ["rewound"]


@on_sqlite
def test_a_database_shows_the_same_on_request(written: Turnlog) -> None:
    written.well("rewind", "s", "--turns", "1", "--yes")

    assert "[rewound]" in written.well("show", "s", "--rewound").text
    assert "[rewound]" not in written.well("show", "s").text
