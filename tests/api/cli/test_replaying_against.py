"""`turnlog replay --against`: another harness answers the inputs of a session once more."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.api.batches import (
    Json,
    answered,
    append,
    batch,
    completed,
    event,
    events_of,
    said,
    started,
)
from tests.api.cli.command import Turnlog, on_sqlite
from tests.api.serving import Served

MISSPELT = "as I was told"


def calling(turn_id: str, name: str, arguments: Json, output: Json) -> list[Json]:
    called = event(
        "tool-call-requested",
        turn_id=turn_id,
        tool_call_id=f"of-{turn_id}",
        name=name,
        arguments=arguments,
    )
    return [called, answered(turn_id, f"of-{turn_id}", output)]


TURNS: list[list[Json]] = [
    [started("t1", "remember k=v"), said("t1", "I will remember k.")],
    [
        started("t2", 'ask: echo {"x":1}'),
        *calling("t2", "echo", {"x": 1}, {"x": 1}),
        said("t2", 'echo gave {"x":1}.'),
    ],
    [
        started("t3", 'tool: add {"a":1,"b":2}'),
        *calling("t3", "add", {"a": 1, "b": 2}, {"sum": 4}),  # as no demo agent adds
        said("t3", MISSPELT),
    ],
    [started("t4", "what is k?"), said("t4", "k is v.")],
]


@pytest.fixture
def session(server: Served, project: str) -> Served:
    """A server with the session `s`: the demo agent would say otherwise in its third turn."""
    events = [e for number, turn in enumerate(TURNS, 1) for e in (*turn, completed(f"t{number}"))]
    with server.client(project) as client:
        answer = append(client, "s", batch(1, *events))
        assert answer.status_code == 201, answer.text
    return server


@pytest.fixture
def local(session: Served, project: str, tmp_path: Path) -> Turnlog:
    """The command line on that server's database."""
    return Turnlog(home=tmp_path, database_url=session.database_url, project=project)


def recorded(session: Served, project: str) -> list[Json]:
    with session.client(project) as client:
        return events_of(client, "s")


def test_it_stands_side_by_side_with_what_was_recorded(
    local: Turnlog, session: Served, project: str
) -> None:
    before = recorded(session, project)

    done = local.run("replay", "s", "--against", "demo", "--json")

    assert done.code == 1, done.errors
    assert recorded(session, project) == before
    assert [line["turn_id"] for line in done.documents] == ["t1", "t2", "t3", "t4"]
    assert [line["same"] for line in done.documents] == [True, True, False, True]
    third = done.documents[2]
    # What the tool gives is what it gave before, though it would give another sum now.
    assert [step["how"] for step in third["steps"]] == ["same", "same", "differs"]
    assert third["first_difference"]["what"] == "text"
    assert third["first_difference"]["again"] == {"kind": "said", "value": 'add gave {"sum":4}.'}


@on_sqlite
@pytest.mark.parametrize(
    ("tools", "differing"), [("denied", ["t2", "t3"]), ("live", ["t3"]), ("recorded", ["t3"])]
)
def test_tools_give_what_they_gave_or_are_denied_or_run(
    local: Turnlog, tools: str, differing: list[str]
) -> None:
    done = local.run("replay", "s", "--against", "demo", "--tools", tools, "--json")

    assert [line["turn_id"] for line in done.documents if not line["same"]] == differing


@on_sqlite
def test_from_a_turn_on_the_harness_is_told_what_came_before(
    session: Served, project: str, tmp_path: Path
) -> None:
    elsewhere = Turnlog(home=tmp_path, project=project)
    done = elsewhere.run(
        "replay", "s", "--against", "demo", "--from", "t4", "--url", session.url, "--json"
    )

    assert done.code == 0, done.errors
    assert [line["same"] for line in done.documents] == [True]


@on_sqlite
def test_for_a_person_it_is_two_columns_and_a_sentence(local: Turnlog) -> None:
    done = local.run("replay", "s", "--against", "demo", "--limit", "3")

    assert done.code == 1
    assert "1 of 3 differ; first at t3: text" in done.text
    assert f"~ {MISSPELT}" in done.text


@on_sqlite
def test_what_is_not_there_is_said(local: Turnlog) -> None:
    unknown = local.run("replay", "s", "--against", "nobody")
    assert (unknown.code, "unknown-harness" in unknown.errors) == (2, True)

    absent = local.run("replay", "s", "--against", "demo", "--from", "t9")
    assert (absent.code, "no-such-turn" in absent.errors) == (1, True)


@on_sqlite
def test_an_agent_that_cannot_be_told_what_tools_gave_is_not_started(local: Turnlog) -> None:
    more = {"TURNLOG_DEMO_PLAIN": "1"}
    plain = replace(local, more=more)

    refused = plain.run("replay", "s", "--against", "demo")
    denied = plain.run("replay", "s", "--against", "demo", "--tools", "denied", "--json")

    assert (refused.code, "cannot-replay-calls" in refused.errors) == (1, True)
    assert len(denied.documents) == len(TURNS)
