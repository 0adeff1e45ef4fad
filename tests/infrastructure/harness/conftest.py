"""Tests here are coroutines; each has an event loop of its own."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
