"""What waits for an answer, by REST."""

import httpx
import pytest

from api.paging import Place
from api.paging import cursor as cursor_of
from tests.api.batches import Json, append, batch, called, event, problem, started, turn

NO_GATE = (404, "no-such-gate")


def gate(turn_id: str = "t1", **data: object) -> Json:
    return event("gate-opened", turn_id=turn_id, **{"kind": "permission", **data})


def decided(verdict: str = "approved", **data: object) -> Json:
    given = {"verdict": verdict, "decided_by": "person", "via": "in-band", **data}
    return event("gate-decided", **given)


def waiting(client: httpx.Client, path: str = "/approvals", **query: str | int) -> list[Json]:
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    found: list[Json] = answer.json()["items"]
    return found


@pytest.fixture
def asked(client: httpx.Client) -> str:
    """A session in which one permission is asked for; the id of its gate."""
    ask = gate(
        permission_id="p",
        tool_call_id="c",
        tool="rm",
        arguments={"path": "a.txt"},
        options=[{"id": "once"}],
        expires_at="2999-01-01T00:00:00Z",
    )
    append(client, "s", batch(1, started("t1"), called("t1", "c"), ask))
    gate_id: str = waiting(client)[0]["gate_id"]
    return gate_id


def test_a_question_is_listed_with_everything_that_was_asked(
    client: httpx.Client, asked: str
) -> None:
    (shown,) = waiting(client)
    opened_at = shown.pop("opened_at")

    assert opened_at.endswith("Z")
    assert shown == {
        "gate_id": asked,
        "session_id": "s",
        "turn_id": "t1",
        "kind": "permission",
        "status": "open",
        "permission_id": "p",
        "tool_call_id": "c",
        "tool": "rm",
        "arguments": {"path": "a.txt"},
        "options": [{"id": "once"}],
        "answer_schema": None,
        "opened_version": 4,
        "expires_at": "2999-01-01T00:00:00.000000Z",
        "decision": None,
        "through_version": 4,
    }


@pytest.mark.parametrize("name", ["gate", "p", "c"])
def test_a_gate_is_read_by_any_name_that_is_its_own_below_its_session(
    client: httpx.Client, asked: str, name: str
) -> None:
    known = asked if name == "gate" else name

    assert client.get(f"/sessions/s/approvals/{known}").json()["gate_id"] == asked
    assert client.get(f"/approvals/{asked}").json()["gate_id"] == asked


def test_a_decided_gate_tells_its_decision_and_waits_no_more(
    client: httpx.Client, asked: str
) -> None:
    append(client, "s", batch(2, decided(permission_id="p", option_id="once", message="go")))

    assert waiting(client) == []
    (shown,) = waiting(client, status="all")
    assert (shown["gate_id"], shown["status"]) == (asked, "allowed")
    assert shown["decision"].pop("at").endswith("Z")
    assert shown["decision"] == {
        "verdict": "approved",
        "decided_by": "person",
        "via": "in-band",
        "option_id": "once",
        "arguments": None,
        "answer": None,
        "message": "go",
        "on_behalf_of": None,
        "version": 5,
    }


@pytest.mark.usefixtures("asked")
def test_a_gate_is_seen_as_it_stood_at_a_version(client: httpx.Client) -> None:
    append(client, "s", batch(2, decided(permission_id="p")))

    def then(at: int) -> list[str]:
        found = waiting(client, "/sessions/s/approvals", at=at, status="all")
        return [str(shown["status"]) for shown in found]

    assert [then(at) for at in (3, 4, 5)] == [[], ["open"], ["allowed"]]
    assert len(waiting(client, "/sessions/s/approvals", at=4)) == 1
    assert waiting(client, "/sessions/s/approvals") == []


def test_a_gate_whose_turn_ended_was_withdrawn_without_a_decision(
    client: httpx.Client, asked: str
) -> None:
    append(client, "s", batch(2, event("turn-completed", turn_id="t1")))
    shown = client.get(f"/approvals/{asked}").json()

    assert (shown["status"], shown["decision"]) == ("withdrawn", None)


def test_questions_of_every_session_are_listed_and_paged(client: httpx.Client) -> None:
    for number in range(5):
        append(client, f"s{number}", batch(1, started("t1"), gate(permission_id=f"p{number}")))
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = client.get("/approvals", params={"limit": 2, **cursor}).json()
        found += [item["session_id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}

    assert sorted(found) == [f"s{number}" for number in range(5)]
    assert [item["session_id"] for item in waiting(client, order="asc")] == found[::-1]
    wrong = client.get("/approvals", params={**cursor, "status": "all"})
    assert problem(wrong)[:2] == (400, "invalid-cursor")


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    "place",
    [
        [1, 1, "\x00"],
        ["1", 1, "g"],
        [2**70, 1, "g"],
        [1, 2**31, "g"],
        [1, 0, "g"],
        [1, 1, 1],
        [1, "1", "g"],
        [None, None, None],
        [1, "g"],
    ],
)
def test_a_cursor_that_names_no_place_is_a_problem(
    client: httpx.Client, project: str, place: Place
) -> None:
    made_for = {"route": "approvals", "project": project, "order": "desc", "status": "open"}
    answer = client.get("/approvals", params={"cursor": cursor_of(place, made_for)})

    assert problem(answer)[:2] == (400, "invalid-cursor")


def test_questions_of_one_session_are_paged_too(client: httpx.Client) -> None:
    append(client, "s", batch(1, started("t1"), *(gate(permission_id=f"p{n}") for n in range(3))))
    first = client.get("/sessions/s/approvals", params={"limit": 2}).json()
    rest = waiting(client, "/sessions/s/approvals", limit=2, cursor=first["next_cursor"])

    names = [item["permission_id"] for item in (*first["items"], *rest)]
    assert names == ["p2", "p1", "p0"]


@pytest.mark.parametrize("path", ["/approvals", "/sessions/s/approvals"])
def test_questions_of_one_batch_are_listed_as_they_were_asked(
    client: httpx.Client, path: str
) -> None:
    names = [f"p{number}" for number in range(6)]
    append(client, "s", batch(1, started("t1"), *(gate(permission_id=name) for name in names)))

    assert [item["permission_id"] for item in waiting(client, path, order="asc")] == names
    assert [item["permission_id"] for item in waiting(client, path)] == names[::-1]


@pytest.mark.usefixtures("asked")
def test_questions_of_a_deleted_session_are_gone(client: httpx.Client) -> None:
    client.delete("/sessions/s")

    assert waiting(client) == []
    assert waiting(client, status="all") == []


@pytest.mark.usefixtures("asked")
def test_an_id_of_another_kind_names_no_gate_and_the_answer_says_which_would(
    client: httpx.Client,
) -> None:
    event_id = client.get("/sessions/s/events/4").json()["id"]
    for name in (event_id, "t1:1", "gate-none", "%00"):
        below = client.get(f"/sessions/s/approvals/{name}")
        assert problem(below)[:2] == NO_GATE
        assert "gate_id, permission_id or tool_call_id" in below.json()["detail"]
    for name in ("p", "c", event_id, "%00"):
        beside = client.get(f"/approvals/{name}")
        assert problem(beside)[:2] == NO_GATE
        assert "gate_id" in beside.json()["detail"]


def test_a_name_of_several_gates_is_ambiguous(client: httpx.Client) -> None:
    append(client, "s", batch(1, started("t1"), gate(permission_id="p"), gate(permission_id="p")))

    assert problem(client.get("/sessions/s/approvals/p"))[:2] == (409, "ambiguous-gate")


def test_an_unknown_kind_of_question_is_kept_with_its_schema(client: httpx.Client) -> None:
    schema = {"type": "object", "properties": {"branch": {"type": "string"}}}
    append(client, "s", batch(1, started("t1"), gate(kind="input", answer_schema=schema)))

    (shown,) = waiting(client)
    assert (shown["kind"], shown["answer_schema"]) == ("input", schema)


def test_a_project_without_questions_lists_none(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))

    assert client.get("/approvals").json() == {"items": [], "next_cursor": None}


def test_a_session_has_a_hundred_open_gates_at_most(client: httpx.Client) -> None:
    hundred = [gate(permission_id=f"p{number}") for number in range(100)]
    assert append(client, "s", batch(1, started("t1"), *hundred)).status_code == 201

    refused = append(client, "s", batch(2, gate(permission_id="one more")))

    assert problem(refused) == (409, "too-many-gates", ["/events/0/data"])
    assert refused.json()["action"] == "answer-gate"
    closed = batch(2, decided(permission_id="p0"), gate(permission_id="one more"))
    assert append(client, "s", closed).status_code == 201
