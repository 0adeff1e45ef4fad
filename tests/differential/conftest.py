"""Fixtures of the journeys: each way is walked once in a run of the tests."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.databases import PostgresqlDatabases
from tests.differential.journeys import JOURNEYS, MORE_JOURNEYS, Journey
from tests.differential.results import Results, results
from tests.differential.ways import MORE_WAYS, WAYS, Way

SHORT = tuple(journey for journey in JOURNEYS if len(journey.steps) < 20)
SOME = tuple(
    journey
    for journey in JOURNEYS
    if journey.name in {"parallel tool calls", "approve cold", "partial answers", "attachments"}
)


def journeys_of(way: Way) -> Sequence[Journey]:
    """Return the journeys that are walked by a way: by the four main ones all of them."""
    return (*JOURNEYS, *MORE_JOURNEYS) if way in WAYS else SHORT


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of this run of the tests have."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def walked(shared: Path) -> Iterator[Results]:
    """What is left of all journeys, on SQLite."""
    with results(shared / "journeys", journeys_of, (*WAYS, *MORE_WAYS)) as found:
        yield found


@pytest.fixture(scope="session")
def walked_on_postgresql(shared: Path, postgresql: PostgresqlDatabases) -> Iterator[Results]:
    """What is left of some journeys, on PostgreSQL."""
    with results(
        shared / "journeys-on-postgresql", lambda _: SOME, (), lambda _: postgresql.ready()
    ) as found:
        yield found
