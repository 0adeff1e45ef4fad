"""What cannot be put on record about a turn keeps no turn, no seat and no server from ending."""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import partial

from sqlalchemy import create_engine, text

from api.asks import queued_ask
from domain import commands as c
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog, open_turnlog
from infrastructure.harness.in_process import InProcessHarnesses
from infrastructure.hosting.hosts import Hosting
from infrastructure.hosting.live import Settled
from infrastructure.hosting.opening import hosting
from infrastructure.hosting.outcomes import Finished, Lost
from infrastructure.settings import load
from tests.databases import PostgresqlDatabases

PATIENCE_S = 60.0
TARGET = Target(project_id="default", session_id="s")
HELLO = b'{"messages":[{"role":"user","content":"Hello"}]}'
WAITS = b'{"messages":[{"role":"user","content":"tool: wait {}"}]}'
SQLITE = """
CREATE TRIGGER refuses BEFORE INSERT ON events WHEN NEW.type IN ({types})
BEGIN SELECT RAISE(ABORT, 'no'); END
"""
POSTGRESQL = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN IF NEW.type IN ({types}) THEN RAISE EXCEPTION 'no'; END IF; RETURN NEW; END $$;
CREATE TRIGGER refuses BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION refuse();
"""


@contextmanager
def opened(url: str, *types: str, **settings: str) -> Generator[Turnlog]:
    """Give a log with a session, whose database takes no more facts of these types."""
    given = {f"TURNLOG_{name.upper()}": value for name, value in settings.items()}
    given |= {"TURNLOG_DATABASE_URL": url, "TURNLOG_ALLOW_UNSAFE_DURABILITY": "true"}
    with open_turnlog(load(given)) as log:
        steps = [c.OpenSession()]
        asyncio.run(
            log.write(
                lambda attempt: log.handler.carry_out(attempt, TARGET, steps, caller=Caller())
            )
        )
        words = SQLITE if log.database.kind == "sqlite" else POSTGRESQL
        execute(url, words.format(types=", ".join(f"'{each}'" for each in types)))
        yield log


def refuse_no_more(url: str) -> None:
    """Have the database take everything again."""
    of = "" if url.startswith("sqlite") else " ON events"
    execute(url, f"DROP TRIGGER refuses{of}")


def execute(url: str, words: str) -> None:
    """Do something in a database that is nobody's business."""
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text(words))
    engine.dispose()


def run(log: Turnlog, work: Callable[[Hosting], Awaitable[Settled]]) -> Settled:
    """Return what comes of some work of a server that is then stopped; both in time."""

    async def served() -> Settled:
        async with asyncio.timeout(PATIENCE_S):
            read = partial(queued_ask, log)
            async with hosting(log, read, InProcessHarnesses(), attends=False) as hosts:
                settled = await work(hosts)
                await hosts.launching.drain()
                assert hosts.launching.here.busy() == 0
            assert not hosts.launching.pool.seats()
            return settled

    return asyncio.run(served())


async def said(hosts: Hosting, request: bytes = HELLO) -> Settled:
    """Return how a turn ends."""
    took = await hosts.begin(TARGET, request)
    assert took.live is not None
    return await took.live.wait()


async def stopped(hosts: Hosting) -> Settled:
    """Return how a turn ends that runs as the server stops."""
    took = await hosts.begin(TARGET, WAITS)
    assert took.live is not None
    await hosts.launching.drain()
    return await took.live.wait()


def test_a_seat_whose_end_is_not_recorded_is_free_all_the_same(database_url: str) -> None:
    async def twice(hosts: Hosting) -> Settled:
        first = await said(hosts)
        assert isinstance(first, Finished)
        assert first.status == "completed"
        assert not hosts.launching.pool.seats()
        refuse_no_more(database_url)
        return await said(hosts)

    with opened(database_url, "harness-evicted", pool_idle_ttl_s="0") as log:
        settled = run(log, twice)

    assert isinstance(settled, Finished)
    assert settled.status == "completed"


def test_a_turn_whose_end_is_never_recorded_holds_nobody_up(
    postgresql: PostgresqlDatabases,
) -> None:
    ends = ("turn-completed", "turn-failed", "turn-interrupted")
    with opened(postgresql.ready(), *ends) as log:  # SQLite's refusal is taken for one that passes
        settled = run(log, said)

    assert isinstance(settled, Lost)


def test_a_shutdown_that_can_record_nothing_ends(database_url: str) -> None:
    ends = ("turn-interrupted", "turn-failed", "harness-evicted")
    with opened(database_url, *ends, shutdown_grace_s="0") as log:
        settled = run(log, stopped)

    assert isinstance(settled, Lost)
