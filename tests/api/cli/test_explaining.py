"""`turnlog why` and `turnlog pool`, on the database and through a server."""

from collections.abc import Iterator

import httpx
import pytest

from domain.commands import Note
from domain.events import DispatchRefused
from domain.pressure import MIB
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog as Log
from tests.api.batches import started
from tests.api.cli.command import Turnlog, on_sqlite
from tests.api.going_back import done, rewind
from tests.api.harnesses import cold, launched, let_go, told, warm
from tests.api.serving import Served


def refuse(log: Log) -> None:
    """Have a request refused."""
    refusal = DispatchRefused(
        code="history-not-ready", request="minimal", reasons=("open-loss",), seat="history"
    )
    target = Target(project_id="default", session_id="s")
    log.runner.run(
        lambda attempt: log.handler.carry_out(
            attempt, target, [Note(event=refusal)], caller=Caller()
        )
    )


@pytest.fixture
def recorded(own_server: Served) -> Iterator[httpx.Client]:
    """A client of a server with turns that were cold, warm and evicted."""
    detail = {"facets": ["model"], "before": "0a", "after": "0b"}
    with own_server.client("default") as client:
        told(client, "s", 1, *cold("t1", reason="no-seat"), *warm("t2"))
        changed = cold("t3", "seat-2", path="evicted", reason="config", detail=detail)
        told(client, "s", 2, *changed, let_go("seat-2", "lru"))
        told(client, "s", 3, *cold("t4", "seat-4", reason="no-seat"))
        done(rewind(client, {"turns": 1}))
        refuse(own_server.log)
        told(client, "s", 4, *cold("t5", "seat-5", path="evicted", reason="history"))
        told(client, "b", 1, started("t1"), launched("t1", "seat-3", reason="no-seat"))
        client.post("/sessions", json={"session_id": "empty"})
        yield client


@pytest.fixture
def here(turnlog: Turnlog, own_server: Served) -> Turnlog:
    """The command line on the server's database."""
    more = {"TURNLOG_ALLOW_UNVERIFIED_TURNS": "true"}  # as the server has it
    return Turnlog(home=turnlog.home, database_url=own_server.database_url, more=more)


def test_why_and_pool_tell_the_same_of_a_database_and_of_a_server(
    here: Turnlog, own_server: Served, recorded: httpx.Client
) -> None:
    url = ("--url", own_server.url)
    stored = here.well("why", "s", "--json").document

    assert stored == here.well("why", "s", *url, "--json").document
    assert stored == recorded.get("/sessions/s/turns/t5/explain").json()

    pool = here.well("pool", "--json").document
    remote = here.well("pool", *url, "--json").document
    assert pool["seats"] == remote["seats"]
    assert pool["counts"]["by_path"] == {"warm": 1, "cold": 3, "evicted": 2}
    assert (pool["more"], remote["more"]) == (False, False)
    relieved = own_server.log.counting.relieved
    relieved.budget, relieved.used, relieved.evicted = 2048 * MIB, 1025 * MIB, 3
    shown = here.well("pool", *url, "--limit", "1").text
    assert "... and more" in shown
    assert "memory: 1,025 of 2,048 MiB, harnesses let go for it 3" in shown


@on_sqlite
@pytest.mark.usefixtures("recorded")
def test_a_person_is_told_in_lines(here: Turnlog) -> None:
    first, sentence, seat, configuration = here.well("why", "s", "t3").text.splitlines()
    assert first == "t3  evicted config"
    assert sentence.startswith("Evicted: the parked harness had to go, since another configuration")
    assert seat.startswith("  seat before    seat-1  of runner-1  idle  history version 9  parked ")
    assert configuration == "  configuration  0a -> 0b"

    newest = here.well("why", "s").text.splitlines()
    assert newest[0] == "t5  evicted history"
    assert newest[3].startswith("  moved by       version 23  history-rewound  local  20")
    assert newest[4] == "  refused        version 24  history-not-ready  history, open-loss"

    busy, parked, *_, turns, reasons = here.well("pool").text.splitlines()
    assert busy.startswith("b  busy  since ")
    assert busy.endswith("turn t1  seat seat-3  of runner-1")
    assert parked.startswith("s  idle  since ")
    assert "seat seat-5" in parked
    assert turns == "turns of the last day: warm 1, cold 3, evicted 2"
    assert reasons.startswith("not warm, since: ")


@on_sqlite
@pytest.mark.usefixtures("recorded")
def test_a_turn_that_is_not_there_is_named(here: Turnlog, own_server: Served) -> None:
    for place in ((), ("--url", own_server.url)):
        assert here.run("why", "s", "t9", *place).code == 1
        none = here.run("why", "empty", *place)
        assert (none.code, "the session has no turn" in none.errors) == (1, True)
    assert here.run("why", "s", "t 9").code == 2


@on_sqlite
def test_an_empty_pool_says_so(on_each: Turnlog) -> None:
    assert on_each.well("pool").text.splitlines()[0] == "no harness is kept"
