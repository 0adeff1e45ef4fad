"""Health, readiness of the process, information, and the pages that explain problems."""

import httpx

from api.event_bodies import EVENT_BODIES
from api.problems import TYPES
from domain.registry import KINDS
from tests.api.serving import Served


def test_a_running_process_is_healthy_and_ready(browser: httpx.Client) -> None:
    assert browser.get("/healthz").json() == {"status": "ok"}
    ready = browser.get("/readyz").json()
    assert ready["status"] == "ok"
    assert ready["views"].keys() == {"usage", "errors", "search"}
    assert ready["views"]["usage"].keys() == {"through_position", "lag", "failing"}


def test_information_names_the_database_the_event_types_and_the_limits(
    browser: httpx.Client, server: Served
) -> None:
    info = browser.get("/v1/info").json()

    assert info["name"] == "turnlog"
    assert info["database"] == server.kind
    assert info["embedded"] is (server.kind == "sqlite")
    assert info["event_types"].keys() == KINDS.keys()
    told = {name for name, kind in info["event_types"].items() if kind["producible"]}
    assert told == EVENT_BODIES.keys()
    assert info["limits"]["events_per_batch"] == 1_000
    assert info["limits"]["bytes_per_request"] == 8 * 1024 * 1024
    assert info["limits"]["bytes_per_blob"] == 32 * 1024 * 1024
    assert info["policy"] == {"allow_unverified_turns": True, "require_agreement": 0}


def test_every_problem_has_a_page_that_the_index_links_to(browser: httpx.Client) -> None:
    index = browser.get("/problems")

    assert index.headers["content-type"] == "text/html; charset=utf-8"
    for code, kind in TYPES.items():
        page = browser.get(f"/problems/{code}")
        assert page.status_code == 200, code
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert f"status {kind.status}" in page.text
        assert f'href="/problems/{code}"' in index.text


def test_a_problem_that_does_not_exist_has_no_page(browser: httpx.Client) -> None:
    page = browser.get("/problems/no-such-problem")

    assert (page.status_code, page.json()["code"]) == (404, "not-found")
