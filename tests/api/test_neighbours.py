"""Without keys, a server answers this machine's own names and pages, and nobody else's."""

import httpx
import pytest


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8765", "[::1]:8765", "LOCALHOST"])
def test_a_request_to_this_machine_is_answered(browser: httpx.Client, host: str) -> None:
    assert browser.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[::2"])
def test_a_request_under_a_foreign_name_is_not_answered(browser: httpx.Client, host: str) -> None:
    answer = browser.get("/healthz", headers={"Host": host})
    assert (answer.status_code, answer.json()["code"]) == (421, "misdirected-request")


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost.evil.example"]
)
def test_a_page_of_another_site_cannot_write(client: httpx.Client, origin: str) -> None:
    answer = client.post("sessions", json={"session_id": "s"}, headers={"Origin": origin})
    assert (answer.status_code, answer.json()["code"]) == (403, "foreign-origin")
    assert client.get("sessions/s").status_code == 404


def test_a_page_of_this_machine_can_write(client: httpx.Client) -> None:
    own = {"Origin": "http://localhost:3000"}
    assert client.post("sessions", json={"session_id": "s"}, headers=own).status_code == 201
