"""Fixtures of tests that attack what keeps the log."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.cluster import Cluster, own_cluster
from tests.faults.forked import Forked, forked
from tests.faults.hosting import Forking, Servers, forking, servers_of


@pytest.fixture(scope="session")
def own_postgresql() -> Iterator[Cluster]:
    """A PostgreSQL that these tests may kill; it starts at first use, and runs between tests."""
    with own_cluster() as cluster:
        yield cluster


@pytest.fixture
def cluster_url(own_postgresql: Cluster) -> Iterator[str]:
    """A fresh database in the cluster that may be killed."""
    url = own_postgresql.databases.ready()
    yield url
    own_postgresql.databases.drop(url)


@pytest.fixture(scope="session")
def forking_process() -> Iterator[Forking]:
    """The process that real servers are forked from; it starts at first use."""
    with forking() as process:
        yield process


@pytest.fixture
def servers(forking_process: Forking, database_url: str, tmp_path: Path) -> Iterator[Servers]:
    """What starts real servers of a database, on each of the two engines in turn."""
    with servers_of(forking_process, tmp_path, database_url) as servers:
        yield servers


@pytest.fixture
def processes(database_url: str) -> Iterator[Forked]:
    """What starts processes of a database, on each of the two engines in turn."""
    with forked(database_url) as processes:
        yield processes
