"""Which lines of the core do its own tests run?

They are measured in the one run of all tests: what is imported anywhere counts, and beyond that
what the core's tests with fixed data run, not what the laws among them draw or go through.
"""

from collections.abc import Generator
from pathlib import Path

import pytest
from coverage import Coverage

# Names the file that the processes of a run put what they measured beside, each in one of its own.
MEASURE = "TURNLOG_TEST_COVERAGE"

_ROOT = Path(__file__).parent
_CORE = (_ROOT / "domain", _ROOT / "projections")
_LAWS = ("hypothesis", "law")


class Measuring:
    """A plugin that measures while tests of the core run: else it would slow down all others."""

    def __init__(self, data_file: str) -> None:
        self._coverage = Coverage(data_file=data_file, data_suffix=True)
        self._coverage.start()

    def pytest_collection_finish(self) -> None:
        """Leave off once everything is imported."""
        self._coverage.stop()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Measure a test of the core."""
        if not _counts(item):
            return (yield)
        self._coverage.start()
        try:
            return (yield)
        finally:
            self._coverage.stop()

    def pytest_sessionfinish(self) -> None:
        """Keep what was measured."""
        self._coverage.save()


def _counts(item: pytest.Item) -> bool:
    if any(item.get_closest_marker(law) for law in _LAWS):
        return False
    return any(item.path.is_relative_to(folder) for folder in _CORE)
