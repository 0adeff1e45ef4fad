"""Fixtures of tests that use the command line."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.cli.command import Turnlog
from tests.databases import PostgresqlDatabases, SqliteDatabases


@pytest.fixture
def newcomer(tmp_path: Path) -> Turnlog:
    """The command line of somebody who has never used it: there is no database yet."""
    return Turnlog(home=tmp_path)


@pytest.fixture
def turnlog(tmp_path: Path, sqlite: SqliteDatabases) -> Iterator[Turnlog]:
    """The command line of somebody who has recorded nothing yet in a database of their own."""
    url = sqlite.ready()
    yield Turnlog(home=tmp_path, database_url=url)
    sqlite.drop(url)


@pytest.fixture
def on_each(tmp_path: Path, database_url: str) -> Turnlog:
    """The command line on a fresh database, on each engine in turn."""
    return Turnlog(home=tmp_path, database_url=database_url)


@pytest.fixture
def postgresql_without_schema(postgresql: PostgresqlDatabases) -> Iterator[str]:
    """A PostgreSQL database without any table."""
    url = postgresql.empty()
    yield url
    postgresql.drop(url)
