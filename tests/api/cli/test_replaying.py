"""`turnlog replay`: every step in order, as JSON and as text, from a database or a server."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, select

from infrastructure import tables as t
from tests.api.batches import Json, answered, append, batch, called, completed, event, said, started
from tests.api.cli.command import Turnlog, on_sqlite
from tests.api.cli.transcripts import SESSION, sample, written
from tests.api.serving import Served

STEERING = "a\x1b]0;owned\x07\x1b[2Jb\u202ec\x9bd\re\x08f"
LONG = "long " * 30_000


def first_turn() -> list[Json]:
    return [
        started("t1", "please read"),
        said("t1", "I shall."),
        called("t1", "c1", {"path": LONG}),
        answered("t1", "c1", LONG),
        event("usage-recorded", turn_id="t1", model="m", input_tokens=5, output_tokens=1),
        completed("t1", record_count=5),
    ]


def second_turn() -> list[Json]:
    file = {"type": "attachment", "attachment_id": "a", "media_type": "text/csv", "data": "MSwy"}
    asked = {"role": "user", "content": [{"type": "text", "text": STEERING}, file]}
    return [
        event("turn-started", turn_id="t2", messages=[asked]),
        called("t2", "c2"),
        event("gate-opened", turn_id="t2", kind="permission", permission_id="p", tool_call_id="c2"),
        event(
            "gate-decided",
            permission_id="p",
            verdict="denied",
            decided_by="person",
            via="out-of-band",
        ),
        answered("t2", "c2", {"v": 1.50}),
        completed("t2", record_count=5),
        answered("t2", "c9", "too late"),
        event("records-lost", count=2, reason="r"),
        event("data-recorded", kind="note", data=STEERING),
    ]


@pytest.fixture
def session(server: Served, project: str) -> Served:
    """A server with the session `s` of 16 events."""
    with server.client(project) as client:
        for number, events in enumerate((first_turn(), second_turn()), 1):
            answer = append(client, "s", batch(number, *events))
            assert answer.status_code == 201, answer.text
    return server


@pytest.fixture
def local(session: Served, project: str, tmp_path: Path) -> Turnlog:
    """The command line on that server's database."""
    more = {"TURNLOG_ALLOW_UNVERIFIED_TURNS": "true"}
    url = session.database_url
    return Turnlog(home=tmp_path, database_url=url, project=project, more=more)


def versions(documents: list[Any]) -> list[int]:
    return [each["version"] for each in documents]


@on_sqlite
def test_every_step_is_told_in_order_and_the_last_stands_where_the_session_does(
    session: Served, local: Turnlog, project: str
) -> None:
    steps = local.well("replay", "s", "--json").documents
    with session.client(project) as client:
        found = client.get("/sessions/s").json()

    assert versions(steps) == list(range(1, 17)) == list(range(1, found["through_version"] + 1))
    added = [m for s in steps for m in s["changed"].get("messages", []) if m["change"] == "added"]
    assert len(added) == found["messages"]
    heads = [step["changed"].get("head", {}) for step in steps]
    for name in ("fingerprint", "history_version"):
        newest = [head[name]["is"] for head in heads if name in head][-1]
        assert newest == found["head"][name]
    assert list(steps[0]) == [
        "version",
        "type",
        "recorded_at",
        "actor",
        "turn_id",
        "affects",
        "what",
        "changed",
        "words",
    ]


def test_a_server_tells_the_same_steps_as_its_database(
    session: Served, local: Turnlog, tmp_path: Path
) -> None:
    more = ("--json", "--event", "--transcript", "--readiness")

    here = local.well("replay", "s", *more)
    far = Turnlog(home=tmp_path, project=local.project)
    there = far.well("replay", "s", *more, "--url", session.url)

    assert there.out == here.out
    sixth = here.documents[5]
    assert sixth["event"]["version"] == 6
    assert [message["role"] for message in sixth["transcript"]] == ["user", "assistant", "tool"]
    assert [reason["code"] for reason in sixth["readiness"]["reasons"]] == ["turn-running"]
    assert here.documents[-1]["readiness"]["through_version"] == 16


@on_sqlite
def test_a_part_is_named_by_versions_turns_and_types(local: Turnlog) -> None:
    def told(*arguments: str) -> list[int]:
        return versions(local.well("replay", "s", "--json", *arguments).documents)

    assert told("--from", "15") == [15, 16]
    assert told("--from", "17") == []
    assert told("--to", "2") == [1, 2]
    assert told("--from", "t2", "--to", "t2") == list(range(8, 14))
    assert told("--from", "#2", "--limit", "2") == [8, 9]
    assert told("--from", "turn:t1", "--to", "#1") == list(range(2, 8))
    assert told("--from", "end") == [16]
    assert told("--type", "gate", "--type", "records-lost") == [10, 11, 15]
    assert told("--type", "nothing-of-the-kind") == []
    assert told("--to", "2000-01-01T00:00:00Z") == []
    assert told("--from", "2000-01-01T00:00:00Z", "--limit", "1") == [1]
    assert told("--from", "9000-01-01T00:00:00Z") == []


@on_sqlite
def test_a_rewind_and_a_redo_tell_what_went_and_what_came_back(
    session: Served, local: Turnlog, project: str
) -> None:
    with session.client(project) as client:
        client.post("/sessions/s/rewind", json={"turns": 1}).raise_for_status()
        client.post("/sessions/s/redo", json={}).raise_for_status()

    back, again = local.well("replay", "s", "--json", "--from", "17").documents

    went = {"turns_taken_out": 1, "messages_taken_out": 3}
    assert (back["type"], back["changed"]["sight"]) == ("history-rewound", went)
    came = {"turns_brought_back": 1, "messages_brought_back": 3}
    assert (again["type"], again["changed"]["sight"]) == ("rewind-reverted", came)
    assert "redo none -> 17" in back["words"]
    fingerprints = [each["changed"]["head"]["fingerprint"] for each in (back, again)]
    assert fingerprints[0]["was"] == fingerprints[1]["is"]


@on_sqlite
def test_what_is_not_there_is_refused(local: Turnlog) -> None:
    unknown = local.run("replay", "none")
    place = local.run("replay", "s", "--from", "t9")
    other = local.run("replay", "s", "--to", "#3", "--json")

    assert (unknown.code, "no-such-session" in unknown.errors) == (1, True)
    assert (place.code, "no-such-place" in place.errors, place.out) == (1, True, b"")
    assert (other.code, other.out) == (1, b"")
    assert local.run("replay", "s", "--limit", "0").code == 2


@on_sqlite
def test_steps_are_told_in_words_of_which_none_can_steer_the_terminal(local: Turnlog) -> None:
    more = ("--event", "--transcript", "--readiness")
    text = local.well("replay", "s").text
    whole = local.well("replay", "s", *more).text

    lines = text.splitlines()
    assert lines[0].split()[:2] == ["1", "session-opened"]
    assert "    the turn completed" in lines
    assert "    * gate " in text
    assert "    * call c9 late" in lines
    for shown in (text, whole):
        assert not {"\x1b", "\x07", "\u202e", "\x9b", "\r", "\x08"} & set(shown)
        assert "␛]0;owned␇␛[2Jb<U+202E>c<U+009B>d␍e␈f" in shown
    assert max(map(len, lines)) <= 100
    assert "    not ready" in whole.splitlines()


def test_replaying_writes_nothing(on_each: Turnlog, tmp_path: Path) -> None:
    on_each.well("import", sample(tmp_path))
    assert on_each.database_url is not None
    engine = create_engine(on_each.database_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:

        def stored() -> object:
            rows = {
                table.name: sorted(map(repr, connection.execute(select(table))))
                for table in t.metadata.sorted_tables
            }
            if engine.name != "sqlite":
                return rows
            # It changes with every commit of another connection, whatever that wrote.
            return rows, connection.exec_driver_sql("PRAGMA data_version").scalar()

        before = stored()
        on_each.well("replay", SESSION, "--event", "--transcript", "--readiness")
        on_each.well("replay", SESSION, "--json", "--from", "end")
        assert stored() == before
    engine.dispose()


def test_internal_words_of_an_agent_are_steps_and_no_message(
    turnlog: Turnlog, tmp_path: Path
) -> None:
    path = written(tmp_path, "s1", "<local-command-stdout>internal words</local-command-stdout>")
    internal, *_ = path.read_text().splitlines()
    asked = written(tmp_path, "s1", "a question").read_text().replace("null", '"u0"')
    path.write_text("\n".join([internal.replace('"u1"', '"u0"'), asked]))
    turnlog.well("import", path)

    steps = turnlog.well("replay", "s1", "--json", "--event", "--transcript").documents

    inside = [step for step in steps if "internal words" in str(step["event"])]
    assert [step["type"] for step in inside] == ["data-recorded"]
    assert "messages" not in inside[0]["changed"]
    assert not any("internal words" in str(step["transcript"]) for step in steps)
    assert any("a question" in str(step["transcript"]) for step in steps)
