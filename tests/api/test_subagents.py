"""Sub-agents' sessions over HTTP: whose they are, which call began each, and what lists them."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.api.batches import (
    answered,
    append,
    batch,
    completed,
    event,
    events_of,
    problem,
    said,
    started,
    types_of,
)
from tests.api.chats import eventually
from tests.api.serving import Served, served
from tests.api.test_append_races import together
from tests.databases import DatabaseKind, Databases

Json = dict[str, Any]


def spawning(turn_id: str, call_id: str, name: str = "Task") -> Json:
    """Return a call that begins a sub-agent."""
    return event(
        "tool-call-requested",
        turn_id=turn_id,
        tool_call_id=call_id,
        name=name,
        arguments={"prompt": "Look."},
    )


def parent_with(client: httpx.Client, *calls: Json, session_id: str = "main") -> None:
    """Record a turn that runs, with these calls."""
    answer = append(client, session_id, batch(1, started("t1"), *calls))
    assert answer.status_code == 201, answer.text


def child(client: httpx.Client, name: str, /, **parent: str) -> Json:
    """Open a sub-agent's session; return it as it is read."""
    whose = {"session_id": "main", **parent}
    answer = client.post("/sessions", json={"session_id": name, "parent": whose})
    assert answer.status_code in {200, 201}, answer.text
    found: Json = answer.json()
    return found


def call_of(session: Json) -> tuple[str | None, str | None]:
    return session["parent_turn_id"], session["parent_tool_call_id"]


def listed(client: httpx.Client, session_id: str, **query: str) -> list[Json]:
    answer = client.get(f"/sessions/{session_id}/subagents", params=query)
    assert answer.status_code == 200, answer.text
    items: list[Json] = answer.json()["items"]
    return items


def test_a_child_belongs_to_the_call_that_is_named(client: httpx.Client) -> None:
    parent_with(client, spawning("t1", "c1"), spawning("t1", "c2", name="bash"))
    opened = child(client, "a", agent_id="scout", tool_call_id="c2")
    assert opened["parent_session_id"] == "main"
    assert (opened["agent_id"], call_of(opened)) == ("scout", ("t1", "c2"))


def test_children_without_a_name_get_the_calls_in_their_order(client: httpx.Client) -> None:
    parent_with(
        client,
        spawning("t1", "c0", name="bash"),
        spawning("t1", "c1"),
        spawning("t1", "c2"),
        spawning("t1", "c3"),
        answered("t1", "c2"),
    )
    calls = [call_of(child(client, name))[1] for name in ("a", "b", "c")]
    assert calls == ["c1", "c3", None]


def test_the_settings_say_which_tools_begin_a_child(
    databases: Databases, database_kind: DatabaseKind
) -> None:
    url = databases.ready()
    with (
        served(database_kind, url, spawning_tools="Hand_Over") as running,
        running.client("p") as client,
    ):
        parent_with(client, spawning("t1", "c1"), spawning("t1", "c2", name="hand_OVER"))
        assert [call_of(child(client, name))[1] for name in ("a", "b")] == ["c2", None]
        batched = append(
            client, "c", batch(1, started("t1"), open={"parent": {"session_id": "main"}})
        )
        assert batched.status_code == 201
        assert call_of(client.get("/sessions/c").json()) == (None, None)
    databases.drop(url)


def test_a_denied_or_failed_call_begins_nothing(client: httpx.Client) -> None:
    parent_with(
        client,
        spawning("t1", "denied"),
        spawning("t1", "failed"),
        spawning("t1", "refused"),
        event(
            "gate-opened", turn_id="t1", kind="permission", permission_id="p", tool_call_id="denied"
        ),
        event(
            "gate-decided",
            permission_id="p",
            verdict="denied",
            decided_by="person",
            via="in-band",
        ),
        event(
            "tool-call-completed", turn_id="t1", tool_call_id="failed", output="no", is_error=True
        ),
        event(
            "tool-call-completed", turn_id="t1", tool_call_id="refused", output="no", denied=True
        ),
    )
    assert call_of(child(client, "any")) == (None, None)
    for name in ("denied", "failed", "refused", "unknown"):
        assert call_of(child(client, f"of-{name}", tool_call_id=name)) == (None, None)


def test_a_call_begins_one_child(client: httpx.Client) -> None:
    parent_with(client, spawning("t1", "c1"))
    assert call_of(child(client, "a")) == ("t1", "c1")
    assert call_of(child(client, "b", tool_call_id="c1")) == (None, None)


def test_of_children_that_open_at_once_each_gets_a_call_of_its_own(
    client: httpx.Client, server: Served, project: str
) -> None:
    calls = [f"c{number}" for number in range(6)]
    parent_with(client, *(spawning("t1", call) for call in calls))

    def opens(name: str) -> Callable[[httpx.Client], httpx.Response]:
        body = {"session_id": name, "parent": {"session_id": "main"}}
        return lambda own: own.post("/sessions", json=body)

    answers = together(server, project, [opens(f"child-{call}") for call in calls])
    assert [answer.status_code for answer in answers] == [201] * len(calls)
    assert sorted(answer.json()["parent_tool_call_id"] for answer in answers) == calls


def test_a_child_is_opened_once_and_has_one_parent(client: httpx.Client) -> None:
    parent_with(client, spawning("t1", "c1"))
    parent_with(client, session_id="other")
    first = child(client, "a", agent_id="scout")
    assert child(client, "a", agent_id="scout") == first
    assert child(client, "a", agent_id="scout", tool_call_id="c1") == first
    for whose in ({"session_id": "other"}, {"session_id": "main", "agent_id": "cook"}):
        again = client.post("/sessions", json={"session_id": "a", "parent": whose})
        assert problem(again)[:2] == (409, "session-exists")
        by_batch = append(client, "a", batch(1, started("t1"), open={"parent": whose}))
        assert problem(by_batch) == (409, "session-exists", ["/open/parent"])
    assert child(client, "a", agent_id="scout") == first


def test_a_batch_opens_a_child_and_writes_to_it_again(client: httpx.Client) -> None:
    parent_with(client, spawning("t1", "c1"))
    whose = {"parent": {"session_id": "main", "agent_id": "scout"}}
    first = append(client, "a", batch(1, started("t1"), open=whose))
    assert first.status_code == 201, first.text
    assert append(client, "a", batch(2, said("t1", "Hm."), open=whose)).status_code == 201
    assert append(client, "a", batch(1, started("t1"), open=whose)).json() == first.json() | {
        name: append(client, "a", batch(1, started("t1"), open=whose)).json()[name]
        for name in ("head", "readiness")
    }
    assert call_of(client.get("/sessions/a").json()) == ("t1", "c1")


def test_a_parent_has_to_be_there_and_above(client: httpx.Client) -> None:
    parent_with(client)
    child(client, "a")
    nobody = {"session_id": "x", "parent": {"session_id": "nobody"}}
    answer = client.post("/sessions", json=nobody)
    assert problem(answer) == (404, "no-such-parent", ["/parent/session_id"])
    itself = {"session_id": "x", "parent": {"session_id": "x"}}
    assert problem(client.post("/sessions", json=itself))[:2] == (409, "parent-is-below")
    batched = batch(1, started("t1"), open={"parent": {"session_id": "nobody"}})
    answer = append(client, "x", batched)
    assert problem(answer) == (404, "no-such-parent", ["/open/parent/session_id"])
    client.delete("/sessions/main")
    gone = {"session_id": "x", "parent": {"session_id": "main"}}
    assert problem(client.post("/sessions", json=gone))[:2] == (404, "no-such-parent")
    assert client.get("/sessions/x").status_code == 404


@pytest.mark.parametrize("name", ["session_id", "agent_id", "tool_call_id"])
def test_a_parent_is_named_as_such_things_can_be(client: httpx.Client, name: str) -> None:
    parent_with(client, spawning("t1", "c1"))
    odd = {"session_id": "main", name: "c1\0"}

    answer = client.post("/sessions", json={"session_id": "x", "parent": odd})
    batched = append(client, "x", batch(1, started("t1"), open={"parent": odd}))

    assert problem(answer) == (422, "invalid-value", [f"/parent/{name}"])
    assert problem(batched) == (422, "invalid-value", [f"/open/parent/{name}"])
    assert client.get("/sessions/x").status_code == 404


def test_children_are_not_deeper_than_the_limit(client: httpx.Client) -> None:
    parent_with(client, session_id="n0")
    for number in range(1, 17):
        child(client, f"n{number}", session_id=f"n{number - 1}")
    body = {"session_id": "n17", "parent": {"session_id": "n16"}}
    assert problem(client.post("/sessions", json=body))[:2] == (409, "subagents-too-deep")


def test_a_childs_approvals_are_settled_as_its_parents(client: httpx.Client) -> None:
    client.post("/sessions", json={"session_id": "main", "approval_mode": "deny-all"})
    assert child(client, "a")["approval_mode"] == "deny-all"
    own = {"session_id": "b", "approval_mode": "allow-all", "parent": {"session_id": "main"}}
    assert client.post("/sessions", json=own).json()["approval_mode"] == "allow-all"


def test_lists_leave_children_out_unless_they_are_asked_for(client: httpx.Client) -> None:
    parent_with(client)
    child(client, "a")

    def names(**query: str) -> set[str]:
        items = client.get("/sessions", params=query).json()["items"]
        return {item["session_id"] for item in items}

    assert names() == {"main"} == names(parent="-")
    assert names(include="subagents") == {"main", "a"}
    assert names(parent="main") == {"a"}


def test_a_session_lists_its_children_by_pages(client: httpx.Client) -> None:
    parent_with(client, spawning("t1", "c1"))
    child(client, "a", agent_id="scout")
    child(client, "b")
    child(client, "below", session_id="a")
    used = event("usage-recorded", turn_id="t1", model="m", input_tokens=7, output_tokens=2)
    append(client, "a", batch(1, started("t1"), used, open=None))
    first, second = listed(client, "main")
    assert (first["session_id"], first["agent_id"]) == ("a", "scout")
    assert (first["turn_id"], first["tool_call_id"]) == ("t1", "c1")
    assert (first["status"], first["turn_status"], first["turns"]) == ("open", "running", 1)
    assert (first["usage"]["input_tokens"], first["usage"]["output_tokens"]) == (7, 2)
    assert (first["subagents"], second["subagents"]) == (1, 0)
    assert (second["session_id"], second["tool_call_id"]) == ("b", None)
    page = client.get("/sessions/main/subagents", params={"limit": 1}).json()
    rest = listed(client, "main", limit="1", cursor=page["next_cursor"])
    assert [page["items"][0], *rest] == [first, second]
    client.delete("/sessions/a")
    assert [each["session_id"] for each in listed(client, "main")] == ["b"]
    assert problem(client.get("/sessions/nobody/subagents"))[:2] == (404, "no-such-session")


def test_a_lineage_names_the_parent(client: httpx.Client) -> None:
    parent_with(client, spawning("t1", "c1"))
    child(client, "a", agent_id="scout")
    lineage = client.get("/sessions/a/lineage").json()
    assert lineage["parent"] == {
        "session_id": "main",
        "agent_id": "scout",
        "turn_id": "t1",
        "tool_call_id": "c1",
    }
    assert client.get("/sessions/main/lineage").json()["parent"] is None


@pytest.mark.parametrize("session_id", ["main", "fork"])
def test_a_transcript_points_to_what_its_calls_began(client: httpx.Client, session_id: str) -> None:
    parent_with(client, said("t1", "I ask."), spawning("t1", "c1"), spawning("t1", "c2"))
    plain = client.get("/sessions/main/transcript").json()["items"]
    child(client, "a")
    client.post("/sessions/main/fork", json={"session_id": "fork"})
    path = f"/sessions/{session_id}/transcript"
    answer = client.get(path, params={"include": "subagents"})
    items = answer.json()["items"][: len(plain)]
    calls = [part for part in items[1]["parts"] if part["type"] == "tool_call"]
    assert [part.pop("subagent_session_id", None) for part in calls] == ["a", None]
    if session_id == "main":
        assert items == plain
    tag = {"If-None-Match": answer.headers["ETag"]}
    again = client.get(path, params={"include": "subagents"}, headers=tag)
    assert again.status_code == 200


def test_what_stops_a_turn_stops_the_children_below_it(client: httpx.Client) -> None:
    parent_with(client, spawning("t1", "c1"))
    for name, above in (("a", "main"), ("below", "a")):
        child(client, name, session_id=above)
        append(client, name, batch(1, started("t1"), spawning("t1", "c1"), open=None))
    child(client, "idle")
    stop = event("turn-interrupted", turn_id="t1", reason="user-asked")
    assert append(client, "main", batch(2, stop)).status_code == 201
    for name in ("a", "below"):
        ended = client.get(f"/sessions/{name}/events/4").json()
        assert (ended["type"], ended["data"]["reason"]) == ("turn-interrupted", "user-asked")
    assert types_of(client, "idle") == ["session-opened"]


def test_a_child_goes_on_when_its_parents_turn_ends_by_itself(client: httpx.Client) -> None:
    parent_with(client, spawning("t1", "c1"), answered("t1", "c1"))
    child(client, "a", tool_call_id="c1")
    append(client, "a", batch(1, started("t1"), open=None))
    append(client, "main", batch(2, completed("t1")))
    assert append(client, "a", batch(2, completed("t1"))).status_code == 201


def test_deletion_takes_the_children_along_and_restoring_brings_them_back(
    client: httpx.Client,
) -> None:
    parent_with(client, spawning("t1", "c1"))
    for name, above in (("a", "main"), ("below", "a"), ("gone", "main")):
        child(client, name, session_id=above)
    append(client, "below", batch(1, started("t1"), open=None))
    client.delete("/sessions/gone")

    assert client.delete("/sessions/main").status_code == 204
    assert [client.get(f"/sessions/{name}").status_code for name in ("a", "below")] == [404, 404]

    assert client.post("/sessions/main/restore", json={}).status_code == 200
    assert [client.get(f"/sessions/{name}").status_code for name in ("a", "below")] == [200, 200]
    assert client.get("/sessions/gone").status_code == 404
    assert client.get("/sessions/below").json()["turn_status"] is None


def test_usage_is_summed_up_with_that_of_the_children(client: httpx.Client) -> None:
    def used(model: str, tokens: int) -> Json:
        return event(
            "usage-recorded", turn_id="t1", model=model, input_tokens=tokens, output_tokens=1
        )

    parent_with(client, used("large", 100))
    for name, above, tokens in (("a", "main", 20), ("below", "a", 3)):
        child(client, name, session_id=above)
        append(client, name, batch(1, started("t1"), used("small", tokens), open=None))

    def summed(**query: str) -> dict[str, int]:
        answer = client.get("/sessions/main/usage", params=query)
        assert answer.status_code == 200, answer.text
        return {
            item[query.get("by", "model")]: item["input_tokens"] for item in answer.json()["items"]
        }

    every = {"large": 100, "small": 23}
    assert eventually(lambda: summed(include="subagents"), lambda sums: sums == every) == every
    assert summed() == {"large": 100}
    assert summed(include="subagents", by="session") == {"main": 100, "a": 20, "below": 3}


def test_a_childs_place_is_kept_when_its_server_is_started_anew(
    databases: Databases, database_kind: DatabaseKind
) -> None:
    """See langgraph issue 8458: a nested agent of 3 steps, resumed at the second."""
    url = databases.ready()

    def step(number: int) -> list[Json]:
        call = event(
            "tool-call-requested",
            turn_id="t1",
            tool_call_id=f"s{number}",
            name="bash",
            arguments={},
        )
        return [call, answered("t1", f"s{number}")]

    with served(database_kind, url) as running, running.client("p") as client:
        parent_with(client, spawning("t1", "c1"))
        child(client, "a", agent_id="nested")
        second = event(
            "gate-opened", turn_id="t1", kind="permission", permission_id="p", tool_call_id="s2"
        )
        first = [started("t1"), *step(1), step(2)[0], second]
        assert append(client, "a", batch(1, *first, open=None)).status_code == 201
    with served(database_kind, url) as running, running.client("p") as client:
        (open_,) = client.get("/approvals").json()["items"]
        assert (open_["session_id"], open_["tool_call_id"]) == ("a", "s2")
        assert listed(client, "main")[0]["turn_status"] == "paused"
        decided = client.post(f"/approvals/{open_['gate_id']}", json={"verdict": "approved"})
        assert decided.status_code == 202
        rest = [step(2)[1], *step(3), said("t1", "Done."), completed("t1")]
        assert append(client, "a", batch(2, *rest, open=None)).status_code == 201
        ends = [answered("t1", "c1"), completed("t1")]
        assert append(client, "main", batch(2, *ends)).status_code == 201
        calls = [
            item["data"]["tool_call_id"]
            for item in events_of(client, "a")
            if item["type"] == "tool-call-requested"
        ]
        assert calls == ["s1", "s2", "s3"]
    databases.drop(url)
