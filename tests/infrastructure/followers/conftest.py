"""Fixtures of tests that follow the log."""

from collections.abc import Iterator

import pytest

from tests.infrastructure.writing import Store, opened


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """An open log on a fresh database, on each engine in turn."""
    with opened(database_url) as store:
        yield store
