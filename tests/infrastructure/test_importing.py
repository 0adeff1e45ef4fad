"""A transcript is imported once, grows where it grew, and never mixes with what went on here."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select

from domain.commands import DeleteSession
from domain.events import DataRecorded, HistoryImported, SessionOpened, SessionRenamed
from domain.events.session import Parent
from domain.raw_json import RawJson
from domain.recorded import Recorded
from domain.refusals import ImportConflict, VersionMoved
from infrastructure import tables as t
from infrastructure.canonical_import import import_export
from infrastructure.command_handler import Caller
from infrastructure.export import export_session
from infrastructure.import_planning import Transcript, plan
from infrastructure.import_sources import Lines, Source, files, given, split
from infrastructure.import_writing import addition, write_session
from infrastructure.importing import FileImport, OnConflict, TranscriptImport
from infrastructure.imports.formats import FORMATS
from infrastructure.rebuilding import rebuild
from infrastructure.verification import verify
from tests.conftest import NewDatabase
from tests.databases import DATABASE_KINDS, DatabaseKind
from tests.infrastructure.imports.session_file import A, R, U, call, js, text
from tests.infrastructure.large import LONG, PICTURE, PNG
from tests.infrastructure.writing import NEW_YEAR, Store, note, opened, target, turn

ONE = [U("u1", None, "hi"), A("a1", "u1", "m1", text("hello"), stop="end_turn")]
TWO = [
    U("u2", "a1", "look"),
    A("a2", "u2", "m2", call("c1", path="x"), stop="tool_use"),
    R("r2", "a2", "c1", "found"),
    A("a3", "r2", "m3", text("there"), stop="end_turn"),
]
SAMPLE = Path(__file__).parents[2] / "infrastructure" / "samples" / "claude-code-session.jsonl"
CLAUDE = FORMATS["claude-code"]
FIRST_TURN = ["turn-started", "message-recorded", "turn-completed"]
SECOND_TURN = [
    "turn-started",
    "tool-call-requested",
    "tool-call-completed",
    "message-recorded",
    "turn-completed",
]


def importer(store: Store) -> TranscriptImport:
    return TranscriptImport(store.database, store.runner, store.handler, "default")


def source(lines: list[bytes], name: str = "s-1.jsonl") -> Source:
    return given(name, b"".join(line + b"\n" for line in lines))


def take(
    store: Store, lines: list[bytes], on_conflict: OnConflict = "refuse", name: str = "s-1.jsonl"
) -> FileImport:
    return importer(store).take(source(lines, name), on_conflict)


def types(store: Store, session_id: str = "s-1") -> list[str]:
    return [fact.envelope.type for fact in store.facts(session_id)]


def sound(store: Store, session_id: str = "s-1") -> bool:
    views = rebuild(store.database, store.runner, check_only=True)
    return verify(store.database, "default", session_id).ok and not views.differences


def marker(fact: Recorded) -> HistoryImported:
    assert isinstance(fact.event, HistoryImported)
    return fact.event


def test_a_file_becomes_a_session_with_its_marker_last(store: Store) -> None:
    taken = take(store, ONE)
    assert (taken.status, taken.sessions, taken.facts) == ("imported", ("s-1",), 5)
    assert (taken.report.turns, taken.report.messages) == (1, 2)
    assert types(store) == ["session-opened", *FIRST_TURN, "history-imported"]
    opened, *_, last = store.facts("s-1")
    assert opened.event == SessionOpened(
        source=RawJson(b'{"format":"claude-code","name":"s-1.jsonl","session_id":"s-1"}')
    )
    event = marker(last)
    assert (event.format, event.source_name, event.lines) == ("claude-code", "s-1.jsonl", 2)
    assert (event.from_version, len(event.digest), event.losses) == (1, 64, 0)
    assert {fact.envelope.actor for fact in store.facts("s-1")} == {"import"}
    assert {fact.envelope.recorded_at for fact in store.facts("s-1")} == {NEW_YEAR}
    assert sound(store)


def test_events_keep_the_time_at_which_they_happened(store: Store) -> None:
    take(store, [U("u1", None, "hi", timestamp="2025-12-31T23:59:59.5Z")])
    assert store.facts("s-1")[1].envelope.occurred_at == NEW_YEAR - 500_000


def test_the_same_file_again_adds_nothing(store: Store) -> None:
    take(store, ONE)
    before = store.facts("s-1")
    again = take(store, ONE)
    assert (again.status, again.facts, again.report.turns) == ("unchanged", 0, 0)
    assert store.facts("s-1") == before


def test_a_longer_version_of_a_file_adds_what_is_new(store: Store) -> None:
    take(store, ONE)
    taken = take(store, [*ONE, *TWO])
    assert (taken.status, taken.facts) == ("imported", 6)
    assert (taken.report.turns, taken.report.messages, taken.report.lines) == (1, 3, 4)
    assert types(store) == [
        "session-opened",
        *FIRST_TURN,
        "history-imported",
        *SECOND_TURN,
        "history-imported",
    ]
    assert marker(store.facts("s-1")[-1]).from_version == 6
    assert take(store, [*ONE, *TWO]).status == "unchanged"
    assert sound(store)


def test_an_earlier_version_of_a_file_adds_nothing(store: Store) -> None:
    take(store, ONE)
    take(store, [*ONE, *TWO])
    assert take(store, ONE).status == "unchanged"


@pytest.mark.parametrize("cut", range(1, len(ONE + TWO)))
def test_a_file_may_grow_anywhere(store: Store, cut: int) -> None:
    take(store, (ONE + TWO)[:cut])
    take(store, ONE + TWO)
    told = [kind for kind in types(store) if kind != "history-imported"]
    assert told == ["session-opened", *FIRST_TURN, *SECOND_TURN]
    assert sound(store)


def test_half_a_last_line_waits_for_its_end(store: Store) -> None:
    whole = b"\n".join([*ONE, *TWO])
    half = importer(store).take(given("s-1.jsonl", whole[:-10]))
    assert (half.report.turns, half.report.lines) == (2, 5)
    assert half.report.losses[-1].code == "incomplete-last-line"
    assert half.report.losses[-1].line == 6
    assert importer(store).take(given("s-1.jsonl", whole)).facts > 0
    assert importer(store).take(given("s-1.jsonl", whole + b"\n")).status == "unchanged"
    told = [kind for kind in types(store) if kind != "history-imported"]
    assert told == ["session-opened", *FIRST_TURN, *SECOND_TURN]


def test_other_lines_under_the_same_id_are_refused(store: Store) -> None:
    take(store, ONE)
    before = store.facts("s-1")
    with pytest.raises(ImportConflict, match="other lines"):
        take(store, [U("u9", None, "something else"), *ONE[1:]])
    assert store.facts("s-1") == before


def test_a_session_that_was_not_imported_is_left_alone(store: Store) -> None:
    store.append([note(b"1")], "s-1")
    with pytest.raises(ImportConflict):
        take(store, ONE)
    assert take(store, ONE, "skip").status == "skipped"
    assert take(store, ONE, "fork").sessions == ("s-1-2",)


def test_a_session_that_went_on_here_is_not_mixed_with_the_file(store: Store) -> None:
    take(store, ONE)
    store.append(turn("live"), "s-1")
    before = store.facts("s-1")
    assert take(store, ONE).status == "unchanged"
    with pytest.raises(ImportConflict, match="went on here"):
        take(store, [*ONE, *TWO])
    assert take(store, [*ONE, *TWO], "skip").status == "skipped"
    assert store.facts("s-1") == before


def test_what_changes_no_history_does_not_stop_an_import(store: Store) -> None:
    take(store, ONE)
    store.append([note(b"1")], "s-1")
    assert take(store, [*ONE, *TWO]).status == "imported"


def test_a_fork_holds_the_whole_file_and_goes_on_with_it(store: Store) -> None:
    take(store, ONE)
    store.append(turn("live"), "s-1")
    forked = take(store, [*ONE, *TWO[:1]], "fork")
    assert forked.sessions == ("s-1-2",)
    assert types(store, "s-1-2")[:4] == ["session-opened", *FIRST_TURN]
    assert take(store, [*ONE, *TWO[:1]], "fork").status == "unchanged"
    grown = take(store, [*ONE, *TWO])
    assert (grown.status, grown.sessions) == ("imported", ("s-1-2",))
    assert sound(store, "s-1-2")


def test_going_back_to_before_what_was_imported_is_a_conflict(store: Store) -> None:
    take(store, [*ONE, *TWO])
    elsewhere = [*ONE, *TWO, U("u3", "a1", "the right way")]
    with pytest.raises(ImportConflict, match="line 3"):
        take(store, elsewhere)
    assert take(store, elsewhere, "fork").sessions == ("s-1-2",)
    assert sound(store, "s-1-2")


def test_a_deleted_session_does_not_come_back(store: Store) -> None:
    take(store, ONE)
    store.runner.run(
        lambda attempt: store.handler.carry_out(
            attempt, target("s-1"), [DeleteSession()], caller=Caller()
        )
    )
    assert take(store, ONE).status == "unchanged"
    with pytest.raises(ImportConflict, match="deleted"):
        take(store, [*ONE, *TWO])


def test_a_sub_agent_is_a_session_of_its_own(store: Store) -> None:
    side = U("x1", None, "explore", isSidechain=True, agentId="ag")
    lines = [*ONE, side, A("x2", "x1", "m9", text("done"), isSidechain=True, agentId="ag")]
    assert take(store, lines).sessions == ("s-1", "s-1.ag")
    opened = store.facts("s-1.ag")[0].event
    assert isinstance(opened, SessionOpened)
    assert opened.parent == Parent(session_id="s-1", agent_id="ag")
    assert types(store, "s-1.ag")[-1] == "history-imported"
    assert take(store, lines).status == "unchanged"
    store.append(turn("live"), "s-1.ag")
    lines += [A("x3", "x2", "m10", text("more"), isSidechain=True, agentId="ag")]
    assert take(store, lines, "fork").sessions == ("s-1-2", "s-1.ag-2")
    opened = store.facts("s-1.ag-2")[0].event
    assert isinstance(opened, SessionOpened)
    assert opened.parent == Parent(session_id="s-1-2", agent_id="ag")


def test_an_import_that_stopped_between_two_sessions_is_completed(store: Store) -> None:
    side = U("x1", None, "explore", isSidechain=True, agentId="ag")
    lines = [*ONE, side]
    transcript = Transcript("s-1.jsonl", Lines(lines=tuple(lines), cut_off=False), CLAUDE)
    file = plan(transcript, "", lambda _: None, lambda _: ())
    write_session(store.handler, store.runner, "default", addition(file, file.sessions[0]))
    assert store.sessions() == [("default", "s-1")]
    assert take(store, lines).facts == len(types(store, "s-1.ag"))
    assert take(store, lines).status == "unchanged"


def test_a_session_that_moved_since_it_was_compared_is_compared_again(store: Store) -> None:
    lines = tuple(ONE)
    transcript = Transcript("s-1.jsonl", Lines(lines=lines, cut_off=False), CLAUDE)
    file = plan(transcript, "", lambda _: None, lambda _: ())
    take(store, ONE)
    with pytest.raises(VersionMoved):
        write_session(store.handler, store.runner, "default", addition(file, file.sessions[0]))
    assert types(store)[-1] == "history-imported"
    assert len(types(store)) == 5


def titled(title: str) -> bytes:
    return js(type="custom-title", customTitle=title, sessionId="s-1")


def test_a_title_comes_along_until_a_person_gives_another(store: Store) -> None:
    take(store, [titled("a\u0000b"), *ONE])
    assert store.facts("s-1")[1].event == SessionRenamed(title="a\ufffdb", by="import")
    take(store, [titled("a\u0000b"), *ONE, titled("second")])
    renamed = [f.event for f in store.facts("s-1") if isinstance(f.event, SessionRenamed)]
    assert renamed[-1] == SessionRenamed(title="second", by="import")


def test_a_long_title_is_cut_between_characters(store: Store) -> None:
    take(store, [titled("x" + "e\u0301" * 600), *ONE])
    renamed = store.facts("s-1")[1].event
    assert isinstance(renamed, SessionRenamed)
    assert renamed.title == "x" + "e\u0301" * (len(renamed.title or "") // 2)


def test_what_the_rules_refuse_is_kept_as_data_and_named(store: Store) -> None:
    reserved = U("u1:9", "a1", "an id that is the log's to give")
    taken = take(store, [*ONE, reserved, A("a9", "u1:9", "m9", text("yes"), stop="end_turn")])
    refused = [loss for loss in taken.report.losses if loss.code == "refused-on-import"]
    assert [(loss.line, loss.detail) for loss in refused] == [
        (3, "turn-started: invalid-value"),
        (4, "message-recorded: no-such-turn"),
        (4, "turn-completed: no-such-turn"),
    ]
    assert types(store) == [
        "session-opened",
        *FIRST_TURN,
        "data-recorded",
        "data-recorded",
        "data-recorded",
        "history-imported",
    ]
    event = store.facts("s-1")[4].event
    assert isinstance(event, DataRecorded)
    assert event.kind == "turnlog/refused-on-import"
    assert isinstance(event.data, RawJson)
    data = json.loads(event.data)
    assert (data["type"], data["reason"]) == ("turn-started", "invalid-value")
    assert data["data"]["messages"][0]["message_id"] == "u1:9"
    assert marker(store.facts("s-1")[-1]).losses == 3
    assert sound(store)


def test_a_file_without_a_conversation_makes_no_session(store: Store) -> None:
    taken = take(store, [js(type="summary", summary="x", leafUuid="u"), b"no json"])
    assert (taken.status, taken.facts) == ("no-conversation", 0)
    assert [x.code for x in taken.report.losses] == ["foreign-title", "unreadable-line"]
    assert store.sessions() == []


def test_files_of_a_folder_are_taken_newest_first_and_a_bad_one_stops_none(
    store: Store, tmp_path: Path
) -> None:
    store.append([note(b"1")], "s-1")
    for age, (name, lines) in enumerate(
        {
            "old": ONE,
            "s-1": ONE,
            "new": ONE,
        }.items()
    ):
        path = tmp_path / "project" / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        renamed = [line.replace(b'"s-1"', b'"%s"' % name.encode()) for line in lines]
        path.write_bytes(b"\n".join(renamed))
        os.utime(path, (age, age))
    (tmp_path / "notes.txt").write_text("nothing")
    heard: list[tuple[int, int, int]] = []
    found = files([tmp_path])
    gone = Source(name="gone.jsonl", read=(tmp_path / "gone.jsonl").read_bytes)
    report = importer(store).take_all(
        [*found, gone], progress=lambda done, of, facts: heard.append((done, of, facts))
    )
    assert [(file.name, file.status) for file in report.files] == [
        ("new.jsonl", "imported"),
        ("s-1.jsonl", "refused"),
        ("old.jsonl", "imported"),
        ("gone.jsonl", "unreadable"),
    ]
    assert heard == [(1, 4, 5), (2, 4, 5), (3, 4, 10), (4, 4, 10)]
    assert (report.facts, report.total.turns, report.counted("imported")) == (10, 2, 2)


def test_a_path_to_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        files([tmp_path / "nothing"])


def test_lines_are_split_at_newlines_only() -> None:
    found = split('{"a":"\u2028"}\r\n\n1'.encode())
    assert (found.lines, found.cut_off) == (('{"a":"\u2028"}'.encode(), b"", b"1"), False)


def test_a_long_session_is_appended_in_pieces_and_whole_at_the_end(store: Store) -> None:
    lines: list[bytes] = []
    parent: str | None = None
    for number in range(400):
        lines.append(U(f"u{number}", parent, "hi"))
        lines.append(A(f"a{number}", f"u{number}", f"m{number}", text("yes"), stop="end_turn"))
        parent = f"a{number}"
    assert take(store, lines).facts == 1 + 3 * 400 + len(["lost", "healed"]) + 3
    assert sound(store)


@pytest.mark.parametrize("other", DATABASE_KINDS)
def test_an_imported_file_is_exported_the_same_from_either_database(
    store: Store, new_database: NewDatabase, other: DatabaseKind
) -> None:
    lines = SAMPLE.read_bytes().splitlines()
    assert take(store, lines, name=SAMPLE.name).status == "imported"
    [(_, session_id)] = store.sessions()
    exported = list(export_session(store.database, "default", session_id))
    with opened(new_database(other)) as elsewhere:
        import_export(elsewhere.log, elsewhere.runner, "default", exported)
        assert list(export_session(elsewhere.database, "default", session_id)) == exported
        assert take(elsewhere, lines, name=SAMPLE.name).status == "unchanged"
        assert sound(elsewhere, session_id)


def test_one_file_imported_several_times_at_once_is_one_session(store: Store) -> None:
    with ThreadPoolExecutor(4) as threads:
        taken = list(threads.map(take, [store] * 8, [[*ONE, *TWO]] * 8))
    assert sorted(each.status for each in taken) == ["imported", *["unchanged"] * 7]
    assert sum(each.facts for each in taken) == len(types(store))
    assert sound(store)


IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": PICTURE},
}
LARGE = [
    U("u1", None, [text(LONG), IMAGE]),
    A("a1", "u1", "m1", call("c1", text=LONG), stop="tool_use"),
    R("r1", "a1", "c1", [IMAGE, text(LONG)]),
    A("a2", "r1", "m2", text(LONG), stop="end_turn"),
]


def test_what_is_large_in_a_file_is_kept_once_and_known_again(store: Store) -> None:
    take(store, [*LARGE, U("u2", "a2", [IMAGE])])
    with store.database.read() as connection:
        kept = {bytes(row.content) for row in connection.execute(select(t.blobs))}
    assert kept == {PNG, LONG.encode()}
    assert max(len(fact.body or b"") for fact in store.facts("s-1")) < 20_000
    assert sound(store)
    for older in (LARGE[:1], LARGE[:3], LARGE, [*LARGE, U("u2", "a2", [IMAGE])]):
        assert take(store, older).status == "unchanged"
    with pytest.raises(ImportConflict):
        take(store, [U("u1", None, [text(LONG + "."), IMAGE]), *LARGE[1:]])
