"""Fixtures of tests that talk HTTP to a real server, on each database in turn."""

from collections.abc import Iterator
from itertools import count

import httpx
import pytest

from tests.api.chats import Chat, opened
from tests.api.serving import Served, served
from tests.databases import DatabaseKind, Databases, PostgresqlDatabases, SqliteDatabases

_PROJECTS = count(1)


@pytest.fixture(scope="session")
def sqlite_server(sqlite: SqliteDatabases) -> Iterator[Served]:
    """The server of this process on SQLite; it starts at first use."""
    yield from _shared("sqlite", sqlite)


@pytest.fixture(scope="session")
def postgresql_server(postgresql: PostgresqlDatabases) -> Iterator[Served]:
    """The server of this process on PostgreSQL; it starts at first use."""
    yield from _shared("postgresql", postgresql)


@pytest.fixture
def server(request: pytest.FixtureRequest, database_kind: DatabaseKind) -> Served:
    """A server that other tests use too: each in a project of its own."""
    running: Served = request.getfixturevalue(f"{database_kind}_server")
    return running


@pytest.fixture
def project() -> str:
    """A project that no other test uses."""
    return f"project-{next(_PROJECTS)}"


@pytest.fixture
def client(server: Served, project: str) -> Iterator[httpx.Client]:
    """A client of the test's own project, on each database in turn."""
    with server.client(project) as client:
        yield client


@pytest.fixture
def chat(server: Served, client: httpx.Client, project: str) -> Chat:
    """A session of the test's own project, of which this server runs the turns."""
    return opened(Chat(client=client, session_id=f"chat-{project}", harnesses=server.harnesses))


@pytest.fixture
def browser(server: Served) -> Iterator[httpx.Client]:
    """A client of everything that the server has, on each database in turn."""
    with server.browser() as browser:
        yield browser


@pytest.fixture
def own_server(databases: Databases, database_kind: DatabaseKind) -> Iterator[Served]:
    """A server that the test may stop, on a database of its own."""
    url = databases.ready()
    with served(database_kind, url) as running:
        yield running
    databases.drop(url)


def _shared(kind: DatabaseKind, databases: Databases) -> Iterator[Served]:
    url = databases.ready()
    # Tests leave harnesses behind that wait for answers, and none of them makes room for another.
    with served(kind, url, pool_capacity="5000") as running:
        yield running
    databases.drop(url)
