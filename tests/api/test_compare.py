"""Comparing a client's history by REST, and counting what came of it, on both databases."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.api.batches import (
    NO_SESSION,
    Json,
    answered,
    append,
    batch,
    called,
    completed,
    problem,
    said,
    started,
    turn,
)
from tests.api.compacting import compact
from tests.api.serving import ON_ONE_DATABASE, Served, served
from tests.databases import DatabaseKind

TOLD: list[Json] = [
    {"role": "user", "content": "Hello?"},
    {"role": "assistant", "content": "Hello."},
]
NO_HISTORY: list[tuple[Json, list[str]]] = [
    ({}, ["/messages"]),
    ({"messages": {}}, ["/messages"]),
    ({"messages": [1]}, ["/messages/0"]),
    ({"messages": [{"role": "robot", "content": ""}]}, ["/messages/0/role"]),
    ({"messages": [{"role": "user", "content": 1}]}, ["/messages/0/content"]),
    ({"messages": [{"role": "user", "content": [{}]}]}, ["/messages/0/content/0/type"]),
    (
        {"messages": [{"role": "tool", "content": ""}], "format": "openai"},
        ["/messages/0/tool_call_id"],
    ),
    ({"messages": [{"role": "user"}], "format": "ui"}, ["/messages/0/parts"]),
    ({"messages": [], "format": "acp"}, ["/format"]),
    ({"messages": [], "more": 1}, ["/more"]),
]
NEXT: Json = {"role": "user", "content": "And now?"}


def post(
    client: httpx.Client,
    messages: list[Any],
    session: str = "s",
    key: str | None = None,
    **more: object,
) -> httpx.Response:
    headers = {} if key is None else {"Idempotency-Key": key}
    body = {"messages": messages, **more}
    return client.post(f"/sessions/{session}/compare", json=body, headers=headers)


def compare(client: httpx.Client, messages: list[Any], **more: Any) -> Json:  # noqa: ANN401 - members of a body
    answer = post(client, messages, **more)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def place(found: Json) -> tuple[object, ...]:
    difference = found["difference"]
    return tuple(difference[name] for name in ("kind", "index", "message_id", "pointer"))


@pytest.fixture
def one_turn(client: httpx.Client) -> None:
    assert append(client, "s", batch(1, *turn("t1"))).is_success


@pytest.fixture
def two_turns(client: httpx.Client) -> None:
    events = [
        *turn("t1"),
        started("t2", "Read it"),
        called("t2", "c1", {"path": "a", "n": 1.50}),
        answered("t2", "c1", {"b": 1, "a": 2}),
        said("t2", "It says so."),
        completed("t2"),
    ]
    assert append(client, "s", batch(1, *events)).is_success


@pytest.mark.usefixtures("one_turn")
def test_a_history_that_is_ours_agrees_and_has_our_fingerprint(client: httpx.Client) -> None:
    found = compare(client, TOLD)
    head = client.get("/sessions/s").json()["head"]

    assert found.pop("readiness")["ready"] is True
    assert found == {
        "agrees": True,
        "differences": {},
        "common_prefix": 2,
        "next_input": False,
        "fingerprint": head["fingerprint"],
        "consecutive_agreements": 1,
        "through_version": 4,
        "head": head,
    }


@pytest.mark.usefixtures("one_turn")
def test_the_newest_message_may_be_the_next_input(client: httpx.Client) -> None:
    found = compare(client, [*TOLD, NEXT])

    assert (found["agrees"], found["next_input"], found["common_prefix"]) == (True, True, 2)
    assert "difference" not in found
    assert found["fingerprint"] == found["head"]["fingerprint"]


@pytest.mark.usefixtures("one_turn")
def test_the_reference_s_fingerprint_comes_on_request(client: httpx.Client) -> None:
    answer = client.post("/sessions/s/compare?v1=true", json={"messages": [*TOLD, NEXT]})
    ours = client.get("/sessions/s/fingerprint?v1=true").json()

    assert answer.json()["history_v1"] == ours["history_v1"]


@pytest.mark.usefixtures("one_turn")
def test_the_first_difference_says_where_it_is_on_both_sides(client: httpx.Client) -> None:
    edited = [{"role": "user", "content": "Hullo?", "message_id": "mine"}, TOLD[1]]
    found = compare(client, edited)

    assert found["agrees"] is False
    assert found["common_prefix"] == 0
    assert found["difference"] == {
        "kind": "text",
        "diverges": True,
        "index": 0,
        "message_id": "t1:1",
        "client_index": 0,
        "client_message_id": "mine",
        "pointer": "/messages/0/content/0",
    }
    assert found["consecutive_agreements"] == 0


@ON_ONE_DATABASE
@pytest.mark.usefixtures("two_turns")
@pytest.mark.parametrize("form", ["openai", "anthropic", "ui", "turnlog"])
@pytest.mark.parametrize("stated", [True, False])
def test_what_a_transcript_gave_agrees_in_every_form(
    client: httpx.Client, form: str, *, stated: bool
) -> None:
    transcript = client.get(f"/sessions/s/transcript?format={form}").json()
    messages = transcript.get("messages", transcript.get("items"))
    found = compare(client, messages, **({"format": form} if stated else {}))

    assert (found["agrees"], found["differences"]) == (True, {})


@pytest.mark.usefixtures("two_turns")
def test_the_end_of_a_history_is_a_window_and_no_evidence(client: httpx.Client) -> None:
    messages = client.get("/sessions/s/transcript?format=openai").json()["messages"]
    assert compare(client, messages)["consecutive_agreements"] == 1
    found = compare(client, [*messages[2:], NEXT])

    assert (found["agrees"], place(found)) == (True, ("window", 2, "t2:1", "/messages/0"))
    assert found["consecutive_agreements"] == 1


@pytest.mark.usefixtures("two_turns")
def test_a_summarised_session_agrees_with_either_view(
    client: httpx.Client, server: Served, project: str
) -> None:
    whole = client.get("/sessions/s/transcript?format=openai").json()["messages"]
    compact(server, project, "s", "t1:2")
    short = client.get("/sessions/s/transcript?format=openai").json()["messages"]

    assert short[0] == {"role": "user", "content": "so far"}
    for messages in (whole, short):
        found = compare(client, messages)
        assert (found["agrees"], found["differences"]) == (True, {})


def test_a_long_session_is_compared_by_its_beginning_and_its_end(client: httpx.Client) -> None:
    events = [event for n in range(150) for event in turn(f"t{n}", f"Question {n}?")]
    assert append(client, "s", batch(1, *events)).is_success
    messages = client.get("/sessions/s/transcript?format=openai").json()["messages"]
    end, beginning = compare(client, messages[-4:]), compare(client, messages[:4])

    assert (end["agrees"], place(end)) == (True, ("window", 296, "t148:1", "/messages/0"))
    assert (beginning["agrees"], place(beginning)) == (False, ("missing", 4, "t2:1", None))
    assert compare(client, messages)["agrees"] is True


@pytest.mark.usefixtures("one_turn")
def test_a_long_body_is_compared(client: httpx.Client) -> None:
    long = [{"role": "user", "content": "x" * 70_000}]

    assert compare(client, [*TOLD, *long])["next_input"] is True
    assert place(compare(client, [*long, *TOLD]))[:2] == ("extra", None)


@pytest.mark.usefixtures("one_turn")
def test_each_key_is_counted_once(client: httpx.Client) -> None:
    first = post(client, TOLD, key="k")
    again = post(client, TOLD, key="k")

    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.json() == first.json()
    assert compare(client, TOLD)["consecutive_agreements"] == 2
    assert problem(post(client, [], key="k"))[1] == "idempotency-key-reused"


@pytest.mark.usefixtures("one_turn")
def test_a_session_tells_what_came_of_its_comparisons(client: httpx.Client) -> None:
    assert "agreement" not in client.get("/sessions/s").json()
    compare(client, TOLD)
    compare(client, [{"role": "user", "content": "Hello?\r\n"}, TOLD[1]])
    compare(client, [*TOLD, TOLD[1], TOLD[0], TOLD[1]])
    found = client.get("/sessions/s").json()["agreement"]

    assert found.pop("last").keys() == {"agrees", "version", "at"}
    assert found == {
        "consecutive": 0,
        "compared": 3,
        "agreed": 2,
        "differences": {"text": 1, "extra": 1, "whitespace-only": 1} | found["differences"],
    }
    assert found["differences"].keys() >= {"whitespace-only", "extra"}


def test_a_project_tells_how_often_and_where_not(client: httpx.Client) -> None:
    for name in ("a", "b", "c"):
        assert append(client, name, batch(1, *turn("t1"))).is_success
        compare(client, TOLD, session=name)
    compare(client, TOLD[:1], session="b")
    whole = client.get("/agreement").json()
    pages = [client.get("/agreement", params={"limit": 2}).json()]
    pages.append(
        client.get("/agreement", params={"limit": 2, "cursor": pages[0]["next_cursor"]}).json()
    )

    assert {name: whole[name] for name in ("sessions", "compared", "agreed", "differences")} == {
        "sessions": 3,
        "compared": 4,
        "agreed": 3,
        "differences": {"missing": 1},
    }
    assert [item["session_id"] for page in pages for item in page["items"]] == ["b", "c", "a"]
    assert pages[1]["next_cursor"] is None
    for query in ({"differing": "true"}, {"kind": "missing"}):
        items = client.get("/agreement", params=query).json()["items"]
        assert [item["session_id"] for item in items] == ["b"]
    assert client.get("/agreement", params={"kind": "role"}).json()["items"] == []
    client.delete("/sessions/b")
    assert client.get("/agreement").json()["sessions"] == 2


def test_an_untouched_project_has_compared_nothing(client: httpx.Client) -> None:
    assert client.get("/agreement").json() == {
        "sessions": 0,
        "compared": 0,
        "agreed": 0,
        "differences": {},
        "items": [],
        "next_cursor": None,
    }
    assert problem(client.get("/agreement?cursor=x"))[:2] == (400, "invalid-cursor")


@ON_ONE_DATABASE
@pytest.mark.usefixtures("one_turn")
@pytest.mark.parametrize(("body", "pointers"), NO_HISTORY)
def test_what_is_no_history_is_told_with_its_place(
    client: httpx.Client, body: Json, pointers: list[str]
) -> None:
    answer = client.post("/sessions/s/compare", json=body)

    assert problem(answer) == (422, "invalid-value", pointers)
    assert "agreement" not in client.get("/sessions/s").json()


def test_there_is_nothing_to_compare_with_in_a_session_that_is_not_there(
    client: httpx.Client,
) -> None:
    assert problem(post(client, TOLD)) == NO_SESSION


@ON_ONE_DATABASE
@pytest.mark.usefixtures("one_turn")
def test_nothing_that_was_said_is_repeated(client: httpx.Client) -> None:
    answer = post(client, [{"role": "user", "content": "Secret"}])

    assert "Secret" not in answer.text
    assert "Hello" not in answer.text


@pytest.fixture
def careful(database_url: str, database_kind: DatabaseKind) -> Iterator[httpx.Client]:
    """A client of a server that wants two agreements in a row."""
    with (
        served(database_kind, database_url, require_agreement="2") as running,
        running.client("default") as client,
    ):
        yield client


def test_a_session_waits_for_agreements_in_a_row_wherever_readiness_is_told(
    careful: httpx.Client,
) -> None:
    def ready() -> set[object]:
        told = [
            careful.get("/sessions/s").json()["ready"],
            careful.get("/sessions").json()["items"][0]["ready"],
            careful.get("/sessions/s/readiness").json()["ready"],
            careful.get("/sessions/s/transcript").json()["readiness"]["ready"],
            careful.get("/sessions/s/events").headers["Turnlog-Ready"] == "?1",
            append(careful, "s", batch(1, *turn("t1"))).json()["readiness"]["ready"],
        ]
        return {*told}

    first = append(careful, "s", batch(1, *turn("t1")), {"Idempotency-Key": "a"})
    reasons = first.json()["readiness"]["reasons"]
    assert [reason["code"] for reason in reasons] == ["agreement-required"]
    assert ready() == {False}
    assert compare(careful, TOLD)["readiness"]["ready"] is False
    assert compare(careful, TOLD[1:])["readiness"]["ready"] is False  # a window is no evidence
    assert compare(careful, TOLD)["readiness"]["ready"] is True
    assert ready() == {True}
    again = append(careful, "s", batch(1, *turn("t1")), {"Idempotency-Key": "a"})
    assert (again.headers["Turnlog-Ready"], again.text) == ("?1", first.text)
    more = append(careful, "s", batch(2, *turn("t2"))).json()
    assert more["readiness"]["ready"] is True
    assert compare(careful, [{"role": "user", "content": "other"}])["readiness"]["ready"] is False
    assert ready() == {False}
