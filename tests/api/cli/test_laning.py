"""`turnlog lanes`, on the database and through a server."""

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from api.cli.program import run
from domain.json_text import JsonValue, dump
from tests.api.cli.command import Outcome
from tests.api.serving import Served
from tests.api.test_lane_pruning import rest

ONE = "agent:main:telegram:dm:99"


@dataclass(frozen=True)
class Here:
    """The command line in this process, which is quicker than in one of its own."""

    project: str
    captured: pytest.CaptureFixture[bytes]
    there: Sequence[str] = ()

    def run(self, *arguments: str) -> Outcome:
        project = ("--project", self.project)
        code = run(["lanes", *arguments, *project, *self.there])
        out, errors = self.captured.readouterr()
        return Outcome(code, out, errors.decode())

    def well(self, *arguments: str) -> Outcome:
        outcome = self.run(*arguments)
        assert (outcome.code, outcome.errors) == (0, "")
        return outcome

    def resolve(self, *arguments: str) -> Any:  # noqa: ANN401 - any JSON
        return self.well("resolve", "--json", *arguments).document


@pytest.fixture(params=["database", "server"])
def here(
    request: pytest.FixtureRequest,
    sqlite_server: Served,
    project: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> Here:
    """The command line on a server's database, or on the server."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TURNLOG_ALLOW_UNSAFE_DURABILITY", "true")
    if request.param == "server":
        return Here(project, capsysbinary, ("--url", sqlite_server.url))
    monkeypatch.setenv("TURNLOG_DATABASE_URL", sqlite_server.database_url)
    return Here(project, capsysbinary)


def test_a_lane_is_resolved_listed_shown_and_reset_by_its_id_or_its_key(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert here.well().text == "there are no such lanes\n"
    made = here.resolve("--platform", "telegram", "--chat-id", "99")
    assert (made["lane_key"], made["reason"]) == (ONE, "created")
    lane_id, first = made["lane_id"], made["session_id"]
    told = here.well("resolve", "--platform", "telegram", "--chat-id", "99").text
    assert told == f"{first}  existing\nlane {lane_id}  {ONE}\n"
    bad_name = (
        b'{"platform":"slack","chat_type":"channel","chat_id":"C1","chat_name":"a\\u001b[31mb"}'
    )
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(bad_name)))
    other = here.resolve("--source", "-")["lane_id"]

    lines = here.well("--limit", "1").text.splitlines()
    assert lines[1].split()[0] == other[:12]
    assert lines[1].endswith("agent:main:slack:channel:C1")
    assert lines[2] == "and more: --limit is 1"
    (only,) = here.well("--platform", "telegram", "--json").documents
    assert (only["lane_id"], only["session_id"]) == (lane_id, first)
    assert here.well("--key", ONE, "--json").document == only
    assert here.well("--status", "pruned").text == "there are no such lanes\n"
    assert b"\x1b" not in here.well("show", other).out

    reset = here.well("reset", lane_id[:6], "--json").document
    second = reset["session_id"]
    assert (reset["reason"], reset["previous_session_id"]) == ("forced", first)
    third = here.well("reset", ONE).text.split()[0]
    shown = here.well("show", lane_id[:8], "--json").document
    assert shown["lane"]["session_id"] == third
    assert [each["session_id"] for each in shown["sessions"]] == [third, second, first]
    types = [each["type"] for each in shown["events"]]
    assert types == ["lane-opened", "lane-bound", "lane-reset", "lane-reset"]
    text = here.well("show", lane_id, "--limit", "1").text
    assert f"lane {lane_id}  open\nkey {ONE}\nsession {third}\n" in text
    assert f"  *  {third}  since " in text
    assert first not in text
    assert "lane-opened" not in text


def test_a_message_begins_one_session_however_often_and_by_whichever_way_it_is_told(
    here: Here, sqlite_server: Served
) -> None:
    def asked(message_id: str) -> tuple[str, ...]:
        said: dict[str, JsonValue] = {"platform": "telegram", "chat_id": "99"}
        said["message_id"] = message_id
        return ("--new", "--source", dump(said).decode())

    old = here.resolve("--platform", "telegram", "--chat-id", "99")["session_id"]
    first, again = here.resolve(*asked("7")), here.resolve(*asked("7"))
    other = here.resolve(*asked("8"))

    assert (first["reason"], first["previous_session_id"]) == ("forced", old)
    assert again == first
    assert (other["reason"], other["previous_session_id"]) == ("forced", first["session_id"])
    assert here.resolve(*asked("7")) == first
    with sqlite_server.client(here.project) as client:
        body = {"source": {"platform": "telegram", "chat_id": "99", "message_id": "8"}}
        told = client.post("/lanes/resolve", json=body | {"force_new": True})
    assert (told.json(), told.headers["Idempotent-Replayed"]) == (other, "true")
    blank = ("--new", "--platform", "telegram", "--chat-id", "99")
    assert here.resolve(*blank)["session_id"] != here.resolve(*blank)["session_id"]


def test_a_lane_is_purged_once_its_sessions_are_deleted(here: Here, sqlite_server: Served) -> None:
    made = here.resolve("--platform", "telegram", "--chat-id", "99")
    lane_id = made["lane_id"]
    assert here.run("purge", ONE, "--yes").errors.endswith("(lane-has-sessions)\n")
    with sqlite_server.client(here.project) as client:
        assert client.delete(f"/sessions/{made['session_id']}").status_code == 204
    would = here.well("purge", ONE, "--dry-run").text
    assert would == f"2 facts of lane {lane_id} would go\n"
    refused = here.run("purge", ONE)
    assert refused.code == 1
    assert "give --yes" in refused.errors
    gone = here.well("purge", lane_id[:8], "--yes", "--json").document
    assert (gone["lane_id"], gone["events"]) == (lane_id, 2)
    shown = here.well("show", lane_id).text
    assert shown.startswith(f"a lane of which nothing is known\nlane {lane_id}  purged\n")
    assert lane_id[:12] in here.well("--status", "purged").text
    assert here.run("purge", lane_id, "--yes").errors.endswith("(no-such-lane)\n")


def test_lanes_that_rest_are_pruned_or_told(here: Here, sqlite_server: Served) -> None:
    known = rest(sqlite_server.database_url, here.project, "a", "pinned", "b")
    a, pinned, b = (known[chat].found.lane_id for chat in ("a", "pinned", "b"))
    kept = "kept are 1 pinned, 0 suspended, 0 in use, 0 resume pending\n"
    would = here.well("prune", "--older-than", "30", "--dry-run", "--limit", "1").text
    assert would == f"{a}\n1 lanes would go\n1 more could go; {kept}"
    went = here.well("prune", "--older-than", "30").text
    assert went == (
        f"{a}\n{b}\n2 lanes are given up; what was said in them stays\n0 more could go; {kept}"
    )
    assert here.run("prune").code == 1  # nobody says how long
    assert here.run("prune", "--older-than", "0").code == 1
    shown = here.well("show", known["a"].found.lane.lane_key).text
    assert f"lane {a}  pruned\n" in shown
    assert f"lane {pinned}  open, pinned\n" in here.well("show", pinned).text
    assert here.run("reset", a).errors.endswith("(no-such-lane)\n")


def test_what_means_nothing_is_refused_in_a_sentence(here: Here) -> None:
    for arguments, code in (
        (("show", "abcdef"), "no-such-lane"),
        (("show", "0" * 32), "no-such-lane"),
        (("reset", "agent:main:nowhere"), "no-such-lane"),
        (("show", "a\x1b[31mb"), "no-such-lane"),
        (("resolve",), "usage"),
        (("resolve", "--source", "[1]"), "usage"),
        (("resolve", "--source", "{}", "--chat-id", "1"), "usage"),
        (("resolve", "--platform", "x"), "invalid-value"),
        (("--json", "show", "abcdef"), "usage"),
        (("--key", "a\x1bb"), "usage"),
    ):
        failed = here.run(*arguments)
        assert failed.code == (2 if code == "usage" else 1), arguments
        assert failed.errors.endswith(f"({code})\n"), failed.errors
        assert "\x1b" not in failed.errors
