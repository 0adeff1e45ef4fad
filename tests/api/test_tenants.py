"""What is asked of a session of another project is not there: on every route that names one."""

from collections.abc import Iterator

import httpx
import pytest

from tests.api.batches import Json, append, batch, event, problem, started, turn
from tests.api.serving import Served

SESSION = "/v1/projects/{project_id}/sessions/{session_id}"
THEIRS = {
    "session_id": "theirs",
    "turn_id": "t2",
    "queue_id": "q",
    "name": "p1",
    "gate_id": "p1",
    "version": "1",
}
BODIES: dict[str, Json] = {
    "/turns/{turn_id}/deltas": {"fence": 1, "deltas": ["Hm."]},
    "/turns/{turn_id}/heartbeat": {"fence": 1},
}
NEEDS = {("get", "/diff"): {"from": "1", "to": "2"}}


@pytest.fixture
def theirs(server: Served, project: str) -> Iterator[httpx.Client]:
    """Another project, whose session `theirs` has a turn that is over, and one that asks."""
    with server.client(f"{project}-of-others") as client:
        gate = event("gate-opened", turn_id="t2", kind="input", permission_id="p1")
        events = [*turn("t1"), started("t2"), gate]
        assert append(client, "theirs", batch(1, *events, lease_s=600)).status_code == 201
        yield client


def operations(described: Json) -> Iterator[tuple[str, str, Json | None]]:
    """Yield the operations below a session, each with a body that it takes."""
    for path, item in described["paths"].items():
        if path.startswith(SESSION):
            for method, operation in item.items():
                content = operation.get("requestBody", {}).get("content", {})
                example: Json | None = content.get("application/json", {}).get("example")
                below = path.removeprefix(SESSION)
                yield method, below, BODIES.get(below, example)


def asked(
    client: httpx.Client, method: str, path: str, example: Json | None
) -> tuple[int, str, list[str]]:
    """Return what is answered to somebody of this project."""
    body = None if example is None else {name: example[name] for name in example if name != "open"}
    url = f"/sessions/{{session_id}}{path}".format(**THEIRS)
    answer = client.request(method, url, json=body, params=NEEDS.get((method, path)))
    return problem(answer)


def test_no_route_of_a_session_tells_one_of_another_project_from_one_that_never_was(
    client: httpx.Client, theirs: httpx.Client, server: Served
) -> None:
    with server.browser() as browser:
        described = browser.get("/openapi.json").json()
    before = theirs.get("/sessions/theirs").json()

    found = {
        f"{method} {path}": asked(client, method, path, example)
        for method, path, example in operations(described)
    }

    assert len(found) > 30
    others = {name: told for name, told in found.items() if told[:2] != (404, "no-such-session")}
    assert others == {}
    assert theirs.get("/sessions/theirs").json() == before
    assert client.get("/sessions").json()["items"] == []


def test_nor_does_a_route_of_the_project(client: httpx.Client, theirs: httpx.Client) -> None:
    (gate,) = theirs.get("/approvals").json()["items"]
    path = f"/approvals/{gate['gate_id']}"

    assert problem(client.get(path))[:2] == (404, "no-such-gate")
    answered = client.post(path, json={"verdict": "answered", "answer": "x"})
    assert problem(answered)[:2] == (404, "no-such-gate")
    assert client.get("/approvals").json()["items"] == []
    assert client.get("/turns").json()["items"] == []
    assert client.get("/pool").json()["seats"] == []
    assert problem(client.delete("/pool/theirs"))[0] == 404
    assert theirs.get(path).json()["status"] == "open"
