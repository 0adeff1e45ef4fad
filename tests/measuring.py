"""Which lines of the core do its own tests run?

They are measured in the one run of all tests: what importing runs counts, and beyond that what the
core's tests with fixed data run, not what the laws among them draw or go through.
"""

from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest
from coverage import Coverage

# Names the file that the processes of a run put what they measured beside, each in one of its own.
MEASURE = "TURNLOG_TEST_COVERAGE"

_ROOT = Path(__file__).parent
_CORE = ("domain", "projections")
_LAWS = ("hypothesis", "law")


class Measuring:
    """A plugin that measures while tests of the core run: else it would slow down all others."""

    def __init__(self, data_file: str) -> None:
        self._coverage = Coverage(data_file=data_file, data_suffix=True)
        self._coverage.start()
        modules = [
            import_module(module.name)
            for package in _CORE
            for module in walk_packages([str(_ROOT.parent / package)], f"{package}.")
        ]
        self._coverage.stop()
        found = (value for module in modules for value in vars(module).values())
        self._cached = [value for value in found if hasattr(value, "cache_clear")]

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, object, object]:
        """Measure what the core's tests make as they are loaded."""
        return (yield from self._measured(collector))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Measure a test of the core."""
        return (yield from self._measured(item))

    def pytest_sessionfinish(self) -> None:
        """Keep what was measured."""
        self._coverage.save()

    def _measured(self, node: pytest.Collector | pytest.Item) -> Generator[None, object, object]:
        if not _counts(node):
            return (yield)
        for cached in self._cached:  # what a test that does not count ran first would be missing
            cached.cache_clear()
        self._coverage.start()
        try:
            return (yield)
        finally:
            self._coverage.stop()


def _counts(node: pytest.Collector | pytest.Item) -> bool:
    if any(node.get_closest_marker(law) for law in _LAWS):
        return False
    return any(node.path.is_relative_to(_ROOT / package) for package in _CORE)
