"""Fixtures of tests that use the page as a reader does: a real server, a real Chromium."""

from collections.abc import Iterator
from itertools import count

import httpx
import pytest
from playwright.sync_api import Browser

from tests.api.serving import Served, served
from tests.databases import SqliteDatabases
from tests.page.chromium import chromium
from tests.page.reader import Reader, reading

_PROJECTS = count(1)


# Playwright's loop counts as running in this thread as long as its browser does, which tests that
# run one of their own could not bear: so the browser is gone when the tests of the page are done.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The one Chromium of these tests."""
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="package")
def page_server(sqlite: SqliteDatabases) -> Iterator[Served]:
    """The server that the page is read from; each test has a project of its own."""
    url = sqlite.ready()
    with served("sqlite", url) as running:
        yield running
    sqlite.drop(url)


@pytest.fixture
def project() -> str:
    """A project that no other test uses."""
    return f"page-{next(_PROJECTS)}"


@pytest.fixture
def client(page_server: Served, project: str) -> Iterator[httpx.Client]:
    """What records in the test's project."""
    with page_server.client(project) as client:
        yield client


@pytest.fixture
def reader(browser: Browser, page_server: Served, project: str) -> Iterator[Reader]:
    """Somebody who reads the page on a wide screen."""
    with reading(browser, page_server.url, project) as reader:
        yield reader
