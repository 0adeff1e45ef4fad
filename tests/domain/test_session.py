"""A session as a whole: its beginning, name, settings and whereabouts."""

import pytest

from domain import commands as c
from domain import events as e
from domain.events.session import Parent
from domain.evolve import fold
from domain.raw_json import RawJson
from domain.refusals import (
    InvalidValue,
    NoSuchSession,
    SessionExists,
    SessionIsArchived,
    SessionNotDeleted,
    TurnInProgress,
)
from domain.state import Head
from tests.scenario import (
    OPENED,
    asked,
    folded,
    given,
    interrupted,
    record,
    recorded,
    returned,
    started,
)


def test_a_session_is_opened_with_what_it_was_asked_for() -> None:
    given().when(
        c.OpenSession(title="Trip", approval_mode="always-ask", parent=Parent(session_id="main"))
    ).then(
        e.SessionOpened(title="Trip", approval_mode="always-ask", parent=Parent(session_id="main"))
    )


def test_an_opened_session_knows_its_parent_settings_and_time() -> None:
    head = folded(
        e.SessionOpened(
            title="Trip",
            config={},
            approval_mode="deny-all",
            parent=Parent(session_id="main", agent_id="scout", turn_id="t1", tool_call_id="c1"),
        )
    ).head
    assert (head.parent_turn_id, head.parent_call_id, head.agent_id) == ("t1", "c1", "scout")
    assert (head.status, head.title, head.title_by) == ("open", "Trip", "person")
    assert (head.config_version, head.approval_mode) == (1, "deny-all")
    assert (head.parent_session_id, head.created_at) == ("main", 1_000_000)


def test_a_title_that_no_person_gave_is_a_fact_of_its_own() -> None:
    given().when(c.OpenSession(title="Trip", title_by="import")).then(
        e.SessionOpened(), e.SessionRenamed(title="Trip", by="import")
    )


def test_a_session_is_opened_once() -> None:
    given(OPENED).when(c.OpenSession()).then_refused(SessionExists, "session_id")


def test_an_id_is_not_used_again_after_deletion() -> None:
    given(OPENED, e.SessionDeleted()).when(c.OpenSession()).then_refused(
        SessionExists, "session_id"
    )


@pytest.mark.parametrize("session_id", ["", "../x", "a b", "a" * 129])
def test_a_parent_is_named_by_a_session_id(session_id: str) -> None:
    given().when(c.OpenSession(parent=Parent(session_id=session_id))).then_refused(
        InvalidValue, "parent", "session_id"
    )


def test_a_parents_agent_is_named() -> None:
    given().when(c.OpenSession(parent=Parent(session_id="a", agent_id="\0"))).then_refused(
        InvalidValue, "parent", "agent_id"
    )


@pytest.mark.parametrize("title", ["", " \n", "a\0b", "a\x1bb", "\ud800", "t" * 1001])
def test_a_title_can_be_shown(title: str) -> None:
    given().when(c.OpenSession(title=title)).then_refused(InvalidValue, "title")
    given(OPENED).when(c.RenameSession(title=title)).then_refused(InvalidValue, "title")
    given(OPENED).when(record(e.SessionRenamed(title=title), imported=True)).then_refused(
        InvalidValue, "title"
    )


def test_a_title_may_have_lines() -> None:
    given(OPENED).when(c.RenameSession(title="a\n\tb")).then(e.SessionRenamed(title="a\n\tb"))


def test_a_session_is_renamed_and_loses_its_name() -> None:
    head = folded(OPENED, e.SessionRenamed(title="Trip", by="import")).head
    assert (head.title, head.title_by) == ("Trip", "import")
    head = folded(OPENED, e.SessionRenamed(title="Trip"), e.SessionRenamed(title=None)).head
    assert (head.title, head.title_by) == (None, None)


def test_the_same_name_again_changes_nothing() -> None:
    given(OPENED, e.SessionRenamed(title="Trip")).when(c.RenameSession(title="Trip")).then_nothing()
    given(OPENED).when(c.RenameSession(title=None)).then_nothing()


def test_a_person_makes_an_imported_name_their_own() -> None:
    given(OPENED, e.SessionRenamed(title="Trip", by="import")).when(
        c.RenameSession(title="Trip")
    ).then(e.SessionRenamed(title="Trip", by="person"))


def test_a_session_is_configured_whole() -> None:
    given(OPENED).when(c.ConfigureSession(config={"model": "m"})).then(
        e.SessionConfigured(config={"model": "m"})
    )
    assert folded(OPENED, e.SessionConfigured(config={})).head.config_version == 2


def test_an_approval_mode_is_set_once() -> None:
    given(OPENED).when(c.SetApprovalMode(mode="read-only")).then(
        e.ApprovalModeSet(mode="read-only")
    )
    given(OPENED, e.ApprovalModeSet(mode="read-only")).when(
        c.SetApprovalMode(mode="read-only")
    ).then_nothing()


def test_a_session_is_archived_and_unarchived() -> None:
    given(OPENED).when(c.ArchiveSession()).then(e.SessionArchived())
    given(OPENED, e.SessionArchived()).when(c.ArchiveSession()).then_nothing()
    given(OPENED, e.SessionArchived()).when(c.UnarchiveSession()).then(e.SessionUnarchived())
    given(OPENED).when(c.UnarchiveSession()).then_nothing()
    assert folded(OPENED, e.SessionArchived(), e.SessionUnarchived()).head.status == "open"


def test_an_archived_session_knows_why_until_it_is_taken_out_again() -> None:
    ended = e.SessionArchived(reason="lane-reset")
    given(OPENED).when(c.ArchiveSession(reason="lane-reset")).then(ended)
    assert folded(OPENED, ended).head.archived_reason == "lane-reset"
    assert folded(OPENED, ended, e.SessionUnarchived()).head.archived_reason is None
    gone = (e.SessionDeleted(reason="retention"), e.SessionRestored())
    assert folded(OPENED, ended, *gone).head.archived_reason == "lane-reset"


def test_what_ended_by_an_accident_can_still_end_on_purpose_and_not_the_other_way() -> None:
    closed, ended = e.SessionArchived(reason="agent-close"), e.SessionArchived(reason="lane-reset")
    given(OPENED, closed).when(c.ArchiveSession(reason="lane-reset")).then(ended)
    given(OPENED, closed).when(c.ArchiveSession()).then(e.SessionArchived())
    given(OPENED, closed).when(c.ArchiveSession(reason="orphan-reaped")).then_nothing()
    given(OPENED, ended).when(c.ArchiveSession(reason="agent-close")).then_nothing()
    given(OPENED, ended).when(c.ArchiveSession()).then_nothing()
    assert folded(OPENED, closed, ended).head.archived_reason == "lane-reset"


def test_a_session_is_pinned_once_until_it_is_not_any_more() -> None:
    pinned, loose = e.SessionPinned(pinned=True), e.SessionPinned(pinned=False)
    given(OPENED).when(c.PinSession(pinned=True)).then(pinned)
    given(OPENED, pinned).when(c.PinSession(pinned=True)).then_nothing()
    given(OPENED, pinned).when(c.PinSession(pinned=False)).then(loose)
    given(OPENED).when(c.PinSession(pinned=False)).then_nothing()
    given(OPENED, e.SessionArchived()).when(c.PinSession(pinned=True)).then(pinned)
    assert folded(OPENED, pinned).head.pinned
    assert not folded(OPENED, pinned, loose).head.pinned


def test_a_session_is_not_archived_under_a_running_turn() -> None:
    given(OPENED, started()).when(c.ArchiveSession()).then_refused(TurnInProgress)


def test_an_archived_session_takes_no_records_but_imported_ones() -> None:
    archived = given(OPENED, e.SessionArchived())
    archived.when(started()).then_refused(SessionIsArchived)
    archived.when(record(started(), imported=True)).then(started())


def test_a_deleted_session_interrupts_what_runs_and_withdraws_what_waits() -> None:
    given(OPENED, started(), asked()).when(c.DeleteSession()).then(
        e.GateWithdrawn(gate_id="g1", reason="session-deleted"),
        e.TurnInterrupted(turn_id="t1", reason="session-deleted"),
        e.SessionDeleted(),
    )
    given(OPENED).when(c.DeleteSession()).then(e.SessionDeleted())
    given(OPENED).when(c.DeleteSession(reason="retention")).then(
        e.SessionDeleted(reason="retention")
    )


PURGED = (OPENED, started(), e.SessionDeleted(), e.SessionPurged(events=3))


@pytest.mark.parametrize("history", [(), (OPENED, started(), e.SessionDeleted()), PURGED])
@pytest.mark.parametrize(
    "command",
    [
        c.RenameSession(title="a"),
        c.ArchiveSession(),
        c.DeleteSession(),
        c.BeginBatch(events=1),
        record(returned()),
        record(returned(), imported=True),
    ],
)
def test_a_session_out_of_sight_does_not_exist(
    history: tuple[e.SessionEvent, ...], command: c.SessionCommand
) -> None:
    given(*history).when(command).then_refused(NoSuchSession)


def test_a_deleted_session_is_restored() -> None:
    given(OPENED, e.SessionDeleted()).when(c.RestoreSession()).then(e.SessionRestored())
    given(OPENED).when(c.RestoreSession()).then_refused(SessionNotDeleted)
    given().when(c.RestoreSession()).then_refused(NoSuchSession)
    assert folded(OPENED, e.SessionDeleted(), e.SessionRestored()).head.status == "open"


def test_a_deleted_session_is_purged_once_and_for_ever() -> None:
    usage = RawJson(b"[]")
    given(OPENED, started(), e.SessionDeleted()).when(c.PurgeSession(usage=usage)).then(
        e.SessionPurged(events=3, usage=usage)
    )
    given(OPENED).when(c.PurgeSession()).then_refused(SessionNotDeleted)
    given().when(c.PurgeSession()).then_refused(NoSuchSession)
    given(*PURGED).when(c.PurgeSession()).then_refused(NoSuchSession)
    given(*PURGED).when(c.RestoreSession()).then_refused(NoSuchSession)
    given(*PURGED).when(c.OpenSession()).then_refused(SessionExists, "session_id")
    given(*PURGED).when(c.BeginBatch(events=1, open=c.OpenSession())).then_refused(NoSuchSession)


def test_of_a_purged_session_nothing_is_left_but_where_its_log_ends() -> None:
    facts = recorded(*PURGED)
    state = fold(facts)
    assert state.head == Head(status="purged", version=4, hash=facts[-1].hash, updated_at=4_000_000)
    assert state == fold(facts[-1:])  # so that what cannot be read any more is not missed
    assert not state.turns


def test_that_a_harness_went_is_recorded_of_a_deleted_session() -> None:
    started = e.HarnessStarted(seat_id="seat-1", owner="host-1", path="cold")
    gone = e.HarnessEvicted(seat_id="seat-1", owner="host-1", reason="history")
    given(OPENED, started, e.SessionDeleted()).when(c.Note(event=gone)).then(gone)
    given(*PURGED).when(c.Note(event=gone)).then_refused(NoSuchSession)
    others = c.Note(event=e.HarnessResumed(seat_id="seat-1", owner="host-1"))
    given(OPENED, started, e.SessionDeleted()).when(others).then_refused(NoSuchSession)


def test_an_archived_session_is_archived_again_once_its_deletion_is_taken_back() -> None:
    back = (e.SessionDeleted(), e.SessionRestored())
    assert folded(OPENED, e.SessionArchived(), *back).head.status == "archived"
    unarchived = (e.SessionArchived(), e.SessionUnarchived())
    assert folded(OPENED, *unarchived, *back).head.status == "open"


def test_renames_move_the_version_and_not_the_history_version() -> None:
    head = folded(OPENED, started(), e.SessionRenamed(title="a"), interrupted()).head
    assert (head.version, head.history_version) == (4, 4)
    head = folded(OPENED, started(), e.SessionRenamed(title="a")).head
    assert (head.version, head.history_version) == (3, 2)
