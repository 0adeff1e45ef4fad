"""Ids of every odd kind: refused or distinct, never merged, never a path to somewhere else."""

import unicodedata

import httpx
import pytest

from domain.identifiers import ID_RULE
from tests.api.batches import append, batch, problem, started, turn, types_of
from tests.api.serving import Served

ODD = {
    "trailing space": "a ",
    "leading space": " a",
    "inner space": "a b",
    "newline": "a\n",
    "NUL": "a\0",
    "parent": "..",
    "path": "../x",
    "deep path": "../../etc/passwd",
    "escaped path": "..%2fx",
    "slash": "a/b",
    "escaped slash": "a%2fb",
    "backslash": "a\\b",
    "dot first": ".a",
    "dash first": "-a",
    "underscore first": "_a",
    "composed": unicodedata.normalize("NFC", "é"),
    "decomposed": unicodedata.normalize("NFD", "é"),
    "cyrillic": "\u0430",
    "fullwidth": "\uff41",
    "arabic digit": "\u0661",
    "emoji": "😀",
    "invisible": "a\u200b",
    "byte order mark": "\ufeffa",
    "colon": "a:1",
    "tilde": "~a",
    "plus": "a+b",
    "star": "*",
    "quote": "a'b",
    "semicolon": "a;b",
    "hash": "a#b",
    "question": "a?b",
    "at": "a@b",
    "129 letters": "a" * 129,
    "300 letters": "a" * 300,
    "empty": "",
}
LEGAL = ["a", "A", "a.", "a..", "a-", "a_", "a.b", "a-b", "a_b", "0", "00", "1e5", "a" * 128]


@pytest.mark.parametrize("name", ODD)
def test_an_odd_id_in_a_body_is_refused_with_its_place(client: httpx.Client, name: str) -> None:
    odd = ODD[name]

    opened = client.post("/sessions", json={"session_id": odd})
    produced = append(client, "s", batch(1, *turn("t1"), producer=odd))
    begun = append(client, "s", batch(1, started(odd)))

    assert problem(opened) == (422, "invalid-value", ["/session_id"])
    assert problem(produced) == (422, "invalid-value", ["/producer/id"])
    assert problem(begun) == (422, "invalid-value", ["/events/0/data/turn_id"])
    for answer in (opened, produced, begun):
        assert answer.json()["errors"][0]["detail"] == ID_RULE
    assert client.get("/sessions", params={"status": "all"}).json()["items"] == []


def escaped(text: str) -> str:
    """Return each byte of `text` percent-encoded."""
    return "".join(f"%{byte:02X}" for byte in text.encode())


@pytest.mark.parametrize("name", [name for name in ODD if name != "empty"])
def test_an_odd_id_in_a_path_is_refused_or_names_nothing(
    client: httpx.Client, server: Served, name: str
) -> None:
    odd = escaped(ODD[name])
    answers = [
        client.get(f"/sessions/{odd}"),
        client.get(f"/sessions/{odd}/events"),
        client.patch(f"/sessions/{odd}", json={"title": "x"}),
        client.delete(f"/sessions/{odd}"),
        client.post(f"/sessions/{odd}/events", json=batch(1, *turn("t1"))),
        client.post(f"/producers/{odd}/epochs", json={}),
    ]
    with server.browser() as browser:
        answers += [
            browser.get(f"/v1/projects/{odd}/sessions"),
            browser.post(f"/v1/projects/{odd}/sessions", json={"session_id": "s"}),
        ]

    for answer in answers:
        status, code, pointers = problem(answer)
        if "/" in ODD[name]:  # the server decodes a path before it is matched with any route
            assert (status, code) in {(404, "not-found"), (405, "method-not-allowed")}
        else:
            assert (status, code, len(pointers)) == (422, "invalid-value", 1)
            assert pointers[0] in {"/path/session_id", "/path/producer_id", "/path/project_id"}
    assert client.get("/sessions", params={"status": "all"}).json()["items"] == []


def test_legal_ids_that_look_alike_are_different_sessions(client: httpx.Client) -> None:
    for name in LEGAL:
        append(client, name, batch(1, *turn("t1", name), open={"title": name}))

    listed = client.get("/sessions", params={"limit": 200}).json()["items"]
    assert sorted(item["session_id"] for item in listed) == sorted(LEGAL)
    for name in LEGAL:
        assert client.get(f"/sessions/{name}").json()["title"] == name
        assert client.get(f"/sessions/{escaped(name)}").json()["session_id"] == name
        page = client.get(f"/sessions/{name}/events").json()["items"]
        assert page[1]["data"]["messages"][0]["content"] == name


def test_legal_ids_that_look_alike_are_different_projects(server: Served) -> None:
    for name in LEGAL:
        with server.client(name) as client:
            assert client.post("/sessions", json={"session_id": "s", "title": name}).is_success
    for name in LEGAL:
        with server.client(name) as client:
            assert client.get("/sessions/s").json()["title"] == name


def test_legal_ids_that_look_alike_are_different_turns_and_producers(
    client: httpx.Client,
) -> None:
    for name in LEGAL:
        answer = append(client, "s", batch(1, *turn(name), producer=name))
        assert answer.status_code == 201, answer.text

    assert types_of(client, "s").count("turn-started") == len(LEGAL)
    for name in LEGAL:
        assert client.post(f"/producers/{name}/epochs", json={}).json()["epoch"] == 2


@pytest.mark.parametrize(
    "path",
    [
        "/sessions/",
        "/sessions/s/",
        "//sessions",
        "/sessions//events",
        "/sessions/s/events/1/2",
        "/sessions/s/nothing",
        "/Sessions",
    ],
)
def test_a_path_that_is_no_route_is_told(client: httpx.Client, path: str) -> None:
    client.post("/sessions", json={"session_id": "s"})
    url = str(client.base_url).rstrip("/") + path

    assert problem(client.get(url)) == (404, "not-found", [])
