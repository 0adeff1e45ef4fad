"""Facts about the record itself: losses, opaque data, what only an import may bring."""

import pytest

from domain import events as e
from domain.evolve import fold
from domain.refusals import InvalidValue, NoSuchLoss, NoSuchTurn
from tests.scenario import OPENED, ended, folded, given, record, recorded, said, started

LOST = e.RecordsLost(count=2, reason="crash")
HEALED = e.LossHealed(loss_version=2)


def test_a_loss_is_declared_and_healed_once() -> None:
    given(OPENED).when(LOST).then(LOST)
    assert folded(OPENED, LOST).head.open_losses == 1
    given(OPENED, LOST).when(HEALED).then(HEALED)
    state = folded(OPENED, LOST, HEALED)
    assert (state.head.open_losses, state.losses[2].healed_version) == (0, 3)
    given(OPENED, LOST, HEALED).when(HEALED).then_refused(NoSuchLoss, "loss_version")
    assert folded(OPENED, LOST, HEALED, HEALED).head.open_losses == 0


def test_a_loss_that_was_not_declared_is_not_healed() -> None:
    given(OPENED).when(HEALED).then_refused(NoSuchLoss, "loss_version")
    assert folded(OPENED, HEALED).head.open_losses == 0


@pytest.mark.parametrize("version", [0, -1, 2**70])
def test_a_loss_is_healed_at_a_version(version: int) -> None:
    given(OPENED).when(e.LossHealed(loss_version=version)).then_refused(
        InvalidValue, "loss_version"
    )


def test_a_loss_may_concern_a_turn_that_has_ended() -> None:
    lost = e.RecordsLost(count=None, reason="crash", turn_id="t1")
    given(OPENED, started(), ended()).when(lost).then(lost)
    given(OPENED).when(lost).then_refused(NoSuchTurn, "turn_id")


@pytest.mark.parametrize(
    ("lost", "at"),
    [
        (e.RecordsLost(count=0, reason="crash"), "count"),
        (e.RecordsLost(count=2**40, reason="crash"), "count"),
        (e.RecordsLost(count=1, reason=""), "reason"),
        (e.RecordsLost(count=1, reason="crash", turn_id="/"), "turn_id"),
    ],
)
def test_a_loss_says_how_much_and_why(lost: e.RecordsLost, at: str) -> None:
    given(OPENED).when(lost).then_refused(InvalidValue, at)


def test_data_is_kept_beside_the_conversation() -> None:
    data = e.DataRecorded(kind="x-trace", data={"a": 1})
    given(OPENED).when(data).then(data)
    assert folded(OPENED, data).messages == {}
    given(OPENED).when(e.DataRecorded(kind="\0", data=None)).then_refused(InvalidValue, "kind")


@pytest.mark.parametrize(
    "event",
    [
        e.SessionRenamed(title="Trip", by="import"),
        e.SessionConfigured(config={}),
        e.ApprovalModeSet(mode="allow-all"),
        e.HistoryImported(
            format="claude-code", source_name="a.jsonl", lines=1, digest="00", from_version=1
        ),
    ],
)
def test_an_import_brings_names_and_settings_and_a_producer_does_not(
    event: e.SessionEvent,
) -> None:
    given(OPENED).when(record(event, imported=True)).then(event)
    given(OPENED).when(event).then_refused(InvalidValue)


@pytest.mark.parametrize("event", [e.SessionDeleted(), e.SessionOpened(), e.SessionArchived()])
def test_an_import_neither_opens_nor_ends_a_session_by_a_record(event: e.SessionEvent) -> None:
    given(OPENED).when(record(event, imported=True)).then_refused(InvalidValue)


def test_an_import_makes_the_history_known() -> None:
    imported = e.HistoryImported(
        format="claude-code", source_name="a.jsonl", lines=1, digest="00", from_version=1
    )
    assert folded(OPENED, started(), imported).head.known_position == 3


def test_what_a_newer_build_wrote_is_counted_only_if_it_changes_history() -> None:
    unknown = e.Opaque(reason="unknown-type")
    assert folded(OPENED, unknown).head.unreadable == 1
    quiet = fold(recorded(unknown, after=recorded(OPENED, started(), said("a")), affects="none"))
    assert (quiet.head.unreadable, quiet.head.tail_open) == (0, True)


def test_facts_that_a_damaged_log_has_lost_count_as_unreadable() -> None:
    facts = recorded(OPENED, started(), said("a"), said("b"))
    damaged = fold([*facts[:2], facts[3]])
    assert (damaged.head.unreadable, damaged.head.version) == (1, 4)
    assert damaged.head.messages == 2
