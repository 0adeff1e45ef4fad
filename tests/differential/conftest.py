"""Fixtures of the journeys: each way is walked once in a run of the tests."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.databases import PostgresqlDatabases
from tests.differential.journeys import JOURNEYS, MORE_JOURNEYS, Journey
from tests.differential.results import Results
from tests.differential.server import Starter, starter
from tests.differential.ways import FULL, KILLED, MORE_WAYS, NEWEST, WAYS, Way, sparing

HELD = tuple(map(sparing, WAYS))
"""The four main ways."""
SHORT = tuple(journey for journey in JOURNEYS if len(journey.steps) < 20)
SOME = tuple(
    journey
    for journey in JOURNEYS
    if journey.name in {"parallel tool calls", "approve cold", "partial answers", "attachments"}
)
ON_POSTGRESQL = (FULL, NEWEST, sparing(KILLED))
"""A harness that is gone costs the same reads, whoever took it."""


def journeys_of(way: Way) -> Sequence[Journey]:
    """Return the journeys that are walked by a way: by the four main ones all of them."""
    return (*JOURNEYS, *MORE_JOURNEYS) if way in HELD else SHORT


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of this run of the tests have."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def starting() -> Iterator[Starter]:
    """What starts the servers of this process."""
    with starter() as starting:
        yield starting


@pytest.fixture(scope="session")
def walked(shared: Path, starting: Starter) -> Results:
    """What is left of all journeys, on SQLite."""
    return Results(shared / "journeys", starting, journeys_of, (*HELD, *MORE_WAYS))


@pytest.fixture(scope="session")
def walked_on_postgresql(
    shared: Path, starting: Starter, postgresql: PostgresqlDatabases
) -> Results:
    """What is left of some journeys, on PostgreSQL."""
    folder = shared / "journeys-on-postgresql"
    return Results(folder, starting, lambda _: SOME, ON_POSTGRESQL, lambda _: postgresql.ready())
