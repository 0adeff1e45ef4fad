"""Fixtures that any test may ask for: a fresh database on each of the two engines."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings

from tests.databases import (
    DATABASE_KINDS,
    DatabaseKind,
    Databases,
    PostgresqlDatabases,
    SqliteDatabases,
    forced_writes,
    in_memory,
    postgresql_databases,
)
from tests.measuring import MEASURE, Measuring

# A change is judged by the same examples each time; whoever works on it meets new ones, and more.
settings.register_profile("ci", derandomize=True, max_examples=50)
if os.environ.get("CI"):
    settings.load_profile("ci")

NewDatabase = Callable[[DatabaseKind], str]


def pytest_configure(config: pytest.Config) -> None:
    """Measure the core if that is asked for, in each process that runs tests."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell's job in the background has
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if (data_file := os.environ.get(MEASURE)) and not config.getoption("numprocesses", None):
        config.pluginmanager.register(Measuring(data_file))


@pytest.fixture(scope="session")
def sqlite() -> Iterator[SqliteDatabases]:
    """Where SQLite databases of this process are."""
    with TemporaryDirectory(prefix="turnlog-sqlite-", dir=in_memory()) as directory:
        yield SqliteDatabases(Path(directory))


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgresqlDatabases]:
    """Where PostgreSQL databases of this process are; the server starts at first use."""
    with postgresql_databases() as databases:
        yield databases


@pytest.fixture(params=DATABASE_KINDS)
def database_kind(request: pytest.FixtureRequest) -> DatabaseKind:
    """Which engine the test runs on: each in turn."""
    kind: DatabaseKind = request.param
    return kind


@pytest.fixture
def databases(request: pytest.FixtureRequest, database_kind: DatabaseKind) -> Databases:
    """Where the test's engine makes databases."""
    return _databases(request, database_kind)


@pytest.fixture
def empty_database_url(databases: Databases) -> Iterator[str]:
    """A fresh database without any table."""
    url = databases.empty()
    yield url
    databases.drop(url)


@pytest.fixture
def database_url(databases: Databases) -> Iterator[str]:
    """A fresh database with the newest schema."""
    url = databases.ready()
    yield url
    databases.drop(url)


@pytest.fixture
def new_database(request: pytest.FixtureRequest) -> Iterator[NewDatabase]:
    """Make databases with the newest schema, for a test that needs several, or both engines."""
    made: list[tuple[Databases, str]] = []

    def make(kind: DatabaseKind) -> str:
        databases = _databases(request, kind)
        url = databases.ready()
        made.append((databases, url))
        return url

    yield make
    for databases, url in made:
        databases.drop(url)


@pytest.fixture
def fsync(postgresql: PostgresqlDatabases) -> Iterator[None]:
    """Have PostgreSQL force its commits to the disk, as it does outside tests."""
    with forced_writes(postgresql):
        yield


def _databases(request: pytest.FixtureRequest, kind: DatabaseKind) -> Databases:
    databases: Databases = request.getfixturevalue(kind)
    return databases
