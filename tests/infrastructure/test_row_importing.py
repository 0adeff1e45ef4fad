"""Rows of one's own table come in once each, whichever file they come in and in whatever order."""

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest

from domain.commands import DeleteSession
from domain.raw_json import RawJson
from domain.refusals import ImportConflict
from infrastructure.command_handler import Caller
from infrastructure.import_writing import PIECE
from infrastructure.importing import FileImport, OnConflict
from infrastructure.rebuilding import rebuild
from infrastructure.row_importing import RowImport
from infrastructure.verification import verify
from tests.infrastructure.writing import NEW_YEAR, Store, note, target, turn


def row(session: str, external: str, role: str, content: object, **more: object) -> bytes:
    value = {"session_id": session, "external_id": external, "role": role, "content": content}
    return json.dumps(value | more).encode()


FIRST = [
    row("a", "a1", "user", "hi", occurred_at="2025-12-31T23:59:59Z", author="ann"),
    row("b", "b1", "user", "what?"),
    row("a", "a2", "assistant", "hello", usage={"input_tokens": 3, "output_tokens": 2}),
]
CALL = {"type": "tool_call", "tool_call_id": "c1", "name": "look", "arguments": {"at": "."}}
RESULT = {"type": "tool_result", "tool_call_id": "c1", "output": ["x"]}
THEN = [
    row("a", "a3", "user", "look"),
    row("a", "a4", "assistant", [{"type": "text", "text": "Looking."}, CALL]),
    row("a", "a5", "tool", [RESULT]),
    row("a", "a6", "assistant", "There."),
]


def take(
    store: Store,
    lines: list[bytes],
    on_conflict: OnConflict = "refuse",
    heard: Callable[[int, int], None] = lambda _lines, _events: None,
) -> FileImport:
    importing = RowImport(store.database, store.runner, store.handler, "default", heard)
    return importing.take("rows.jsonl", BytesIO(b"\n".join(lines) + b"\n"), on_conflict)


def types(store: Store, session_id: str) -> list[str]:
    return [fact.envelope.type for fact in store.facts(session_id)]


def said(store: Store, session_id: str) -> list[str]:
    own = ("history-imported", "records-lost", "loss-healed")
    return [kind for kind in types(store, session_id) if kind not in own]


def codes(taken: FileImport) -> list[str]:
    return [loss.code for loss in taken.report.losses]


def sound(store: Store, *session_ids: str) -> bool:
    views = rebuild(store.database, store.runner, check_only=True)
    chains = [verify(store.database, "default", session_id).ok for session_id in session_ids]
    return all(chains) and not views.differences


def test_rows_of_two_sessions_in_turns_become_two_sessions(store: Store) -> None:
    taken = take(store, [*FIRST, *THEN])
    assert (taken.status, taken.sessions, codes(taken)) == ("imported", ("a", "b"), [])
    assert (taken.report.turns, taken.report.messages, taken.report.lines) == (3, 6, 7)
    assert types(store, "a") == [
        "session-opened",
        "turn-started",
        "message-recorded",
        "usage-recorded",
        "turn-completed",
        "turn-started",
        "message-recorded",
        "tool-call-requested",
        "tool-call-completed",
        "message-recorded",
        "turn-completed",
        "history-imported",
    ]
    started = store.facts("a")[1]
    assert started.envelope.occurred_at == NEW_YEAR - 1_000_000
    data: Any = json.loads(started.body or b"")
    assert data["messages"] == [
        {
            "role": "user",
            "content": "hi",
            "message_id": "a1",
            "author": {"subject_id": "ann"},
        }
    ]
    assert sound(store, "a", "b")


def test_the_same_rows_again_add_nothing_in_any_file(store: Store) -> None:
    take(store, [*FIRST, *THEN])
    before = types(store, "a")
    again = take(store, [*THEN, FIRST[1]])
    assert (again.status, again.facts, again.report.repeats_dropped) == ("unchanged", 0, 5)
    assert types(store, "a") == before


@pytest.mark.parametrize("cut", range(1, len(FIRST + THEN)))
def test_a_growing_file_adds_what_is_new(store: Store, cut: int) -> None:
    take(store, (FIRST + THEN)[:cut])
    take(store, FIRST + THEN)
    assert [kind for kind in said(store, "a") if kind != "turn-completed"] == [
        "session-opened",
        "turn-started",
        "message-recorded",
        "usage-recorded",
        "turn-started",
        "message-recorded",
        "tool-call-requested",
        "tool-call-completed",
        "message-recorded",
    ]
    assert take(store, FIRST + THEN).status == "unchanged"
    assert sound(store, "a", "b")


def test_another_file_with_later_rows_goes_on_with_the_session(store: Store) -> None:
    take(store, FIRST)
    taken = take(store, THEN)
    assert (taken.status, taken.report.tool_results) == ("imported", 1)
    assert sound(store, "a", "b")


def test_a_row_that_changed_since_is_told_and_left(store: Store) -> None:
    take(store, FIRST)
    taken = take(store, [row("a", "a2", "assistant", "HELLO")])
    assert (taken.status, codes(taken)) == ("unchanged", ["changed-row"])


def test_a_bad_line_stops_no_other(store: Store) -> None:
    odd = [
        b"{",
        b"[1]",
        row("", "x", "user", "no session"),
        row("a", "", "user", "no id"),
        row("a", "x", "narrator", "no role"),
        row("a", "a1", "user", "twice"),
    ]
    taken = take(store, [FIRST[0], *odd, *FIRST[1:]])
    assert taken.sessions == ("a", "b")
    assert sorted(codes(taken)) == [
        "no-external-id",
        "no-session-id",
        "repeated-row",
        "unknown-role",
        "unreadable-line",
        "unreadable-line",
    ]


def test_configuration_waits_for_the_input_that_comes_later(store: Store) -> None:
    config = row("a", "a0", "system", "Be brief.")
    alone = take(store, [config])
    assert (alone.status, codes(alone), store.sessions()) == ("unchanged", ["waits-for-input"], [])
    assert take(store, [config, *FIRST]).status == "imported"
    data: Any = json.loads(store.facts("a")[1].body or b"")
    assert [message["message_id"] for message in data["messages"]] == ["a0", "a1"]


def test_a_session_that_went_on_here_is_refused_and_others_go_on(store: Store) -> None:
    take(store, FIRST)
    store.append(turn("t9"), "a")
    taken = take(store, [*FIRST, *THEN, row("b", "b2", "assistant", "this")])
    assert (taken.status, codes(taken)) == ("imported", ["session-refused"])
    assert types(store, "b")[-1] == "history-imported"
    assert take(store, THEN, "skip").report.losses[0].code == "session-skipped"


def test_a_session_that_began_elsewhere_or_was_deleted_is_refused(store: Store) -> None:
    store.append([note(b"1")], "a")
    assert take(store, FIRST[:1]).status == "refused"
    take(store, FIRST[1:2])
    store.runner.run(
        lambda attempt: store.handler.carry_out(
            attempt, target("b"), [DeleteSession()], caller=Caller()
        )
    )
    assert take(store, [row("b", "b2", "user", "more")]).status == "refused"


def test_rows_cannot_fork(store: Store) -> None:
    with pytest.raises(ImportConflict):
        take(store, FIRST, "fork")


def test_results_without_an_id_are_paired_by_position(store: Store) -> None:
    call = row("a", "a2", "assistant", [{"type": "tool_call", "name": "look"}])
    taken = take(store, [FIRST[0], call, row("a", "a3", "tool", "found")])
    assert codes(taken) == ["call-without-id", "paired-by-position"]
    assert "tool-call-completed" in types(store, "a")


def test_a_call_left_open_is_answered_by_a_later_file(store: Store) -> None:
    take(store, [*FIRST, *THEN[:2]])
    taken = take(store, THEN[2:])
    assert (codes(taken), taken.report.tool_results) == ([], 1)
    assert types(store, "a")[-2:] == ["turn-completed", "history-imported"]


def test_a_table_may_come_as_csv(store: Store) -> None:
    table = (
        "external_id,session_id,role,content,occurred_at,author,usage,mood\r\n"
        'a1,a,user,"hi, you\nthere",1767225600,"{""subject_id"":""ann""}",,glad\r\n'
        'a2,a,assistant,"[{""type"":""text"",""text"":""yes""}]",,,"{""input_tokens"":3}",\r\n'
        "a3,a,user\r\n"
        "a4,a,user,[sic],soon,,free,\r\n"
    )
    importing = RowImport(store.database, store.runner, store.handler, "default")
    taken = importing.take("t.csv", BytesIO(b"\xef\xbb\xbf" + table.encode()), "refuse")
    assert codes(taken) == [
        "unreadable-line",
        "unreadable-time",
        "unreadable-usage",
        "fields-not-carried",
    ]
    started, answer = store.facts("a")[1:3]
    assert started.envelope.occurred_at == NEW_YEAR
    assert json.loads(started.body or b"")["messages"][0]["content"] == "hi, you\nthere"
    assert json.loads(answer.body or b"")["message"]["content"] == [{"type": "text", "text": "yes"}]


class Stop(Exception):
    """The process ends here."""


def test_a_long_session_says_that_records_are_missing_until_the_last_piece(store: Store) -> None:
    lines = [row("a", f"m{number}", "user", "again") for number in range(2 * PIECE)]

    def stop(_: int, events: int) -> None:
        if events:
            raise Stop

    with pytest.raises(Stop):
        take(store, lines, heard=stop)
    assert types(store, "a")[-2:] == ["records-lost", "history-imported"]
    other = take(store, [row("a", "z", "user", "other")])
    assert (other.status, codes(other)) == ("refused", ["session-refused"])

    taken = take(store, [*lines, row("a", "z", "user", "other")])

    assert (taken.status, taken.report.losses) == ("imported", ())
    assert types(store, "a").count("turn-started") == 2 * PIECE + 1
    assert types(store, "a").count("records-lost") == 1
    assert types(store, "a")[-2:] == ["loss-healed", "history-imported"]
    assert sound(store, "a")


def test_many_small_sessions_share_transactions(store: Store) -> None:
    lines = [row(f"s{number}", "m", "user", "hi") for number in range(PIECE + 10)]
    commits = 0

    def heard(_: int, __: int) -> None:
        nonlocal commits
        commits += 1

    taken = take(store, lines, heard=heard)
    assert taken.report.sessions == PIECE + 10
    assert len(store.sessions()) == PIECE + 10
    opened = store.facts("s7")[0].event
    assert getattr(opened, "source", None) == RawJson(
        b'{"format":"rows","name":"rows.jsonl","session_id":"s7"}'
    )


def test_lists_of_what_was_lost_do_not_grow_with_the_file(store: Store) -> None:
    taken = take(store, [*FIRST, *[b"x"] * 1_500])
    assert len(taken.report.losses) == 1_001
    assert taken.report.losses[-1].detail == "500"
