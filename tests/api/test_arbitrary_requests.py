"""Whatever is sent: never a mistake of ours, one answer on both databases, and nothing repeated."""

import json
from collections.abc import Iterator
from copy import deepcopy
from itertools import count
from typing import Any, Final, cast

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.problems import TYPES
from tests.api.batches import (
    Json,
    answered,
    batch,
    called,
    completed,
    event,
    problem,
    said,
    started,
)
from tests.api.serving import Served

SECRET: Final = "what was said: 4711"
JSON: Final = {"content-type": "application/json"}
EXAMPLES: Final = settings(
    max_examples=7,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
_NAMES: Final = count(1)

NUMBERS = st.integers() | st.floats(allow_nan=False) | st.sampled_from([2**63, -(2**70), 10**300])
SCALARS = st.none() | st.booleans() | NUMBERS | st.text(max_size=20) | st.just(SECRET)
VALUES: st.SearchStrategy[object] = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=8,
)
PROPER: Final[list[tuple[str, str, Json]]] = [
    ("POST", "/sessions", {"title": SECRET, "config": {"a": SECRET}, "source": {}}),
    ("PATCH", "/sessions/s", {"title": SECRET, "config": {"a": SECRET}, "archived": False}),
    ("POST", "/sessions/s/restore", {}),
    ("POST", "/producers/r/epochs", {"on_open_turns": "list"}),
    ("POST", "/sessions/s/verify", {"version": 1, "hash": "0" * 64}),
    (
        "POST",
        "/sessions/s/dispatch",
        {
            "messages": [
                {"role": "user", "content": SECRET},
                {"role": "assistant", "content": SECRET},
                {"role": "user", "content": SECRET},
            ],
            "owner": "r",
            "config_facets": {"model": SECRET},
            "applied_facets": {"model": SECRET},
            "seat": {"seat_id": "seat-1", "state": "idle"},
            "begin": {
                "turn_id": "t9",
                "producer": {"id": "r", "epoch": 1, "sequence": 1},
                "lease_s": 60,
            },
            "include": "history",
            "on_divergence": "adopt",
        },
    ),
    (
        "POST",
        "/sessions/s/dispatch",
        {
            "answers": [{"gate": "p1", "verdict": "approved", "message": SECRET}],
            "owner": "r",
            "dry_run": True,
        },
    ),
    (
        "POST",
        "/sessions/s/events",
        batch(
            1,
            started("t1", SECRET, message_id="m", author={"subject_id": SECRET}),
            called("t1", "c1", {"a": [SECRET]}),
            event(
                "gate-opened",
                turn_id="t1",
                kind="permission",
                permission_id="p1",
                options=[SECRET],
                expires_at="2026-01-01T00:00:00Z",
            ),
            event(
                "gate-decided",
                permission_id="p1",
                verdict="approved",
                decided_by="person",
                via="in-band",
                message=SECRET,
            ),
            answered("t1", "c1", {"a": SECRET}),
            said("t1", SECRET, message_id="m2", status="partial"),
            said("t1", SECRET, message_id="m2"),
            event("data-recorded", kind="k", data=SECRET),
            event("usage-recorded", turn_id="t1", model="m", input_tokens=1, output_tokens=2),
            event("records-lost", count=1, reason="r"),
            event("loss-healed", loss_version=11),
            completed("t1", timings={"total": 1.5}, record_count=3),
            expected_version=0,
        ),
    ),
]


class Pair:
    """The same project on both databases; a new one after each `begin`."""

    def __init__(self, *clients: httpx.Client) -> None:
        self._clients: Final = clients
        self._base = ""

    def begin(self) -> None:
        self._base = f"/v1/projects/arbitrary-{next(_NAMES)}"

    def send(
        self,
        method: str,
        path: str,
        content: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        """Send to both, and return the answer that both gave."""
        declared = (JSON if content is not None else {}) | (headers or {})
        one, two = (
            client.request(method, self._base + path, content=content, headers=declared)
            for client in self._clients
        )
        assert told(one) == told(two)
        return one


def told(answer: httpx.Response) -> object:
    """Return what of an answer is the same on both databases; see to it that it may be said."""
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        status, code, pointers = problem(answer)
        assert TYPES[code].status == status
        assert SECRET not in _words(answer.json())
        return status, code, pointers
    if answer.headers.get("content-type") != "application/json":
        return answer.status_code
    head: Json = answer.json().get("head") or {}
    return answer.status_code, head.get("version"), head.get("fingerprint")


def _words(document: Json) -> str:
    """Return everything that a problem says, but for names of members in its pointers."""
    flaws = [{**flaw, "pointer": ""} for flaw in document.get("errors", [])]
    return json.dumps({**document, "errors": flaws})


@pytest.fixture
def pair(
    sqlite_server: Served, postgresql_server: Served, caplog: pytest.LogCaptureFixture
) -> Iterator[Pair]:
    with sqlite_server.browser() as one, postgresql_server.browser() as two:
        yield Pair(one, two)
    assert SECRET not in caplog.text
    assert [entry for entry in caplog.records if entry.levelname in {"WARNING", "ERROR"}] == []


def places(value: object, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of everything inside `value`."""
    if at:
        yield at
    if isinstance(value, dict):
        for name, item in cast("Json", value).items():
            yield from places(item, (*at, name))
    elif isinstance(value, list):
        for number, item in enumerate(cast("list[object]", value)):
            yield from places(item, (*at, number))


def changed(body: Json, at: tuple[str | int, ...], change: str, value: object) -> Json:
    """Return `body` with one thing in it put, taken out or added."""
    new = deepcopy(body)
    holder: Any = new
    for step in at[:-1]:
        holder = holder[step]
    if change == "put":
        holder[at[-1]] = value
    elif change == "take out":
        del holder[at[-1]]
    elif isinstance(holder, list):
        cast("list[object]", holder).insert(int(at[-1]), value)
    else:
        holder["something else"] = value
    return new


def test_what_is_varied_here_is_taken_as_it_is(pair: Pair) -> None:
    pair.begin()
    for method, path, body in reversed(PROPER):
        if path.endswith("/restore"):
            pair.send("DELETE", "/sessions/s")

        answer = pair.send(method, path, json.dumps(body).encode())

        assert answer.is_success, answer.text


@EXAMPLES
@given(data=st.data())
@pytest.mark.parametrize(("method", "path", "body"), [way for way in PROPER if way[2]])
def test_a_body_with_anything_in_one_place_is_taken_or_told(
    pair: Pair, method: str, path: str, body: Json, data: st.DataObject
) -> None:
    at = data.draw(st.sampled_from(sorted(places(body), key=str)))
    change = data.draw(st.sampled_from(["put", "put", "take out", "add"]))
    sent = changed(body, at, change, data.draw(VALUES))
    pair.begin()
    if path != "/sessions/s/events":
        pair.send("POST", "/sessions", b'{"session_id":"s"}')

    pair.send(method, path, json.dumps(sent).encode())

    pair.send("GET", "/sessions/s/events")
    pair.send("GET", "/sessions/s/transcript")
    pair.send("GET", "/sessions")


@EXAMPLES
@given(value=VALUES)
@pytest.mark.parametrize(("method", "path", "body"), PROPER)
def test_any_json_is_taken_or_told(
    pair: Pair, method: str, path: str, body: Json, value: object
) -> None:
    _ = body
    pair.begin()

    pair.send(method, path, json.dumps(value).encode())


@EXAMPLES
@given(data=st.data())
@pytest.mark.parametrize(("method", "path", "body"), PROPER)
def test_any_bytes_are_taken_or_told(
    pair: Pair, method: str, path: str, body: Json, data: st.DataObject
) -> None:
    proper = json.dumps(body, ensure_ascii=False).encode()
    start = data.draw(st.integers(0, len(proper)))
    end = data.draw(st.integers(start, min(len(proper), start + 8)))
    middle = data.draw(st.binary(max_size=8))

    pair.begin()

    pair.send(method, path, proper[:start] + middle + proper[end:])


SEGMENTS = st.text(max_size=12).map(
    lambda text: "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))
)
PATHS = (
    "/sessions/{}",
    "/sessions/{}/events",
    "/sessions/s/events/{}",
    "/sessions/{}/transcript",
    "/sessions/s/turns/{}",
    "/sessions/s/approvals/{}",
    "/approvals/{}",
    "/imports/{}",
    "/sessions/{}/audit",
    "/sessions/{}/export",
)


@EXAMPLES
@given(segment=SEGMENTS, method=st.sampled_from(["GET", "DELETE", "PATCH", "POST"]))
@pytest.mark.parametrize("path", PATHS)
def test_any_path_is_answered_or_told(pair: Pair, path: str, segment: str, method: str) -> None:
    pair.begin()
    pair.send("POST", "/sessions", b'{"session_id":"s"}')

    pair.send(method, path.format(segment), b"{}" if method in {"PATCH", "POST"} else None)


QUERIES = {
    "/sessions": ["limit", "cursor", "order", "status", "parent", "title", "updated_since"],
    "/sessions/s/events": ["after", "limit", "cursor", "order", "types"],
    "/sessions/s/transcript": ["limit", "cursor", "order", "include", "around", "format", "at"],
    "/sessions/s/turns": ["limit", "cursor", "order", "status", "at"],
    "/sessions/s/fingerprint": ["v1", "at"],
    "/sessions/s/readiness": ["at"],
    "/approvals": ["limit", "cursor", "order", "status"],
    "/sessions/s/approvals": ["limit", "cursor", "order", "status", "at"],
    "/sessions/s/audit": [
        "limit",
        "cursor",
        "order",
        "type",
        "actor",
        "turn_id",
        "tool",
        "effect",
        "since",
        "until",
        "at",
        "format",
    ],
}
WORDS = st.text(max_size=20) | st.integers().map(str) | st.sampled_from(["asc", "all", "0", SECRET])


@EXAMPLES
@given(data=st.data())
@pytest.mark.parametrize("path", QUERIES)
def test_any_query_is_answered_or_told(pair: Pair, path: str, data: st.DataObject) -> None:
    query = data.draw(st.dictionaries(st.sampled_from(QUERIES[path]), WORDS, max_size=3))
    pair.begin()
    pair.send("POST", "/sessions", b'{"session_id":"s"}')

    pair.send("GET", f"{path}?{httpx.QueryParams(query)}")


HEADERS = ["If-Match", "If-None-Match", "Idempotency-Key", "traceparent", "Last-Event-ID"]


@EXAMPLES
@given(
    name=st.sampled_from(HEADERS),
    value=st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30).map(str.strip),
)
@pytest.mark.parametrize(("method", "path", "body"), PROPER)
def test_any_header_is_read_or_told(
    pair: Pair, method: str, path: str, body: Json, name: str, value: str
) -> None:
    pair.begin()

    pair.send(method, path, json.dumps(body).encode(), {name: value})
    pair.send("GET", "/sessions/s", None, {name: value})
