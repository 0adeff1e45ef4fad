"""The page's files as a browser gets them: policy, entity tags, and nothing from elsewhere."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from api.routes.page import page_files
from tests.api.serving import Served

PAGE = Path(__file__).parents[2] / "api" / "page"
SCRIPTS = sorted(path.name for path in PAGE.glob("*.js"))


@pytest.fixture
def browser(page_server: Served) -> Iterator[httpx.Client]:
    with page_server.browser() as browser:
        yield browser


def test_every_file_of_the_page_is_served_under_its_type(browser: httpx.Client) -> None:
    kinds = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    for path in PAGE.iterdir():
        if path.suffix in kinds:
            answer = browser.get(f"/page/{path.name}")
            assert answer.status_code == 200, path.name
            assert answer.headers["content-type"].startswith(kinds[path.suffix])
            assert answer.content == path.read_bytes()


@pytest.mark.parametrize("path", ["/", "/page/main.js", "/page/style.css", "/page/icon.svg"])
def test_a_browser_may_run_and_ask_for_nothing_that_is_not_this_servers(
    browser: httpx.Client, path: str
) -> None:
    headers = browser.get(path).headers

    policy = headers["content-security-policy"].split("; ")
    assert policy[:5] == [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
    ]
    assert {"frame-ancestors 'none'", "require-trusted-types-for 'script'"} < set(policy)
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_a_browser_that_has_a_file_is_told_so(browser: httpx.Client) -> None:
    for path in ("/", "/page/main.js"):
        first = browser.get(path)
        assert first.headers["cache-control"] == "no-cache"

        again = browser.get(path, headers={"If-None-Match": first.headers["etag"]})

        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]
        assert browser.head(path).headers["etag"] == first.headers["etag"]


@pytest.mark.parametrize("name", ["nothing.js", "page.py", "..%2fapp.py", ".", "%00"])
def test_nothing_else_is_served(browser: httpx.Client, name: str) -> None:
    answer = browser.get(f"/page/{name}")

    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


def test_the_page_names_no_other_host() -> None:
    for name, file in page_files().items():
        words = file.content.decode().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|//[a-z]+\.[a-z]", words), name


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_makes_markup_or_code_of_a_text(name: str) -> None:
    words = (PAGE / name).read_text()

    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", words)
    assert not re.search(r"new Function|srcdoc|setTimeout\(\"|javascript:", words)


def needed(name: str) -> set[str]:
    """Return a script and all that it needs before it runs."""
    found = re.findall(r'^import .* from "\./(\w+\.js)"', (PAGE / name).read_text(), re.MULTILINE)
    return {name}.union(*map(needed, found))


def test_the_browser_is_told_at_once_of_every_script_that_the_first_screen_needs() -> None:
    index = (PAGE / "index.html").read_text()

    loaded = re.findall(r'(?:src|href)="/page/(\w+\.js)"', index)

    assert sorted(loaded) == sorted(needed("main.js") | {"theme.js"})
    assert len(loaded) < 16


def test_a_script_that_comes_later_is_there() -> None:
    for name in SCRIPTS:
        later = re.findall(r'import\("\./(\w+\.js)"\)', (PAGE / name).read_text())
        assert set(later) <= set(SCRIPTS), name


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_short_enough_to_be_read(name: str) -> None:
    assert len((PAGE / name).read_text().splitlines()) < 250
