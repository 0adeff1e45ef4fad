"""Fixtures of tests that attack what keeps the log."""

from collections.abc import Iterator

import pytest

from tests.faults.cluster import Cluster, own_cluster


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
