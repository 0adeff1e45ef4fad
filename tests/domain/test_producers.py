"""What must a producer's batch name, in which order is it checked, and who is let in?"""

import pytest

from domain import events as e
from domain.commands import Batch, BeginBatch, HeadClaim, OpenSession
from domain.fingerprints import EMPTY
from domain.recorded import ProducerStamp
from domain.refusals import (
    Fenced,
    HeadAheadOfLog,
    HeadBehind,
    HeadMismatch,
    InvalidValue,
    NoSuchSession,
    SequenceGap,
    SessionFull,
    UnknownEpoch,
    VersionMoved,
)
from domain.state import Head, State
from tests.scenario import OPENED, RUNNER, folded, given, started


def batch(
    sequence: int,
    *,
    epoch: int = 1,
    current: int = 1,
    previous: tuple[int, int] | None = None,
    loss: bool = False,
    expected_version: int | None = None,
) -> BeginBatch:
    return BeginBatch(
        batch=Batch(
            producer_id="runner",
            epoch=epoch,
            sequence=sequence,
            current=current,
            previous=previous,
        ),
        events=1,
        opens_with_loss=loss,
        expected_version=expected_version,
    )


WROTE_ONE = given(OPENED, started(), producer=RUNNER)


def test_the_first_batch_of_a_producer_has_sequence_1() -> None:
    given(OPENED).when(batch(1)).then_nothing()
    given(OPENED).when(batch(2)).then_refused(SequenceGap, "producer")
    given(OPENED).when(batch(0)).then_refused(SequenceGap, "producer")


def test_batches_of_an_epoch_follow_one_another() -> None:
    WROTE_ONE.when(batch(2)).then_nothing()
    WROTE_ONE.when(batch(3)).then_refused(SequenceGap, "producer")


def test_a_gap_names_the_expected_sequence() -> None:
    with pytest.raises(SequenceGap) as caught:
        WROTE_ONE.when(batch(9)).then()
    assert caught.value.expected == 2


def test_an_older_epoch_is_fenced() -> None:
    WROTE_ONE.when(batch(2, epoch=1, current=2)).then_refused(Fenced)


def test_an_epoch_below_one_that_wrote_here_is_fenced_though_this_store_minted_none() -> None:
    stamp = ProducerStamp(producer_id="runner", epoch=5, sequence=1)
    imported = given(OPENED, started(), producer=stamp)
    imported.when(batch(1, epoch=1, current=1, previous=(5, 1))).then_refused(Fenced)


def test_an_epoch_that_was_not_minted_is_unknown() -> None:
    WROTE_ONE.when(batch(1, epoch=2, current=1)).then_refused(UnknownEpoch)


def test_a_later_epoch_starts_at_1_and_states_what_it_wrote_last() -> None:
    WROTE_ONE.when(batch(1, epoch=2, current=2, previous=(1, 1))).then_nothing()
    WROTE_ONE.when(batch(2, epoch=2, current=2, previous=(1, 1))).then_refused(
        SequenceGap, "producer"
    )


def test_a_later_epoch_that_states_nothing_opens_with_its_loss() -> None:
    WROTE_ONE.when(batch(1, epoch=2, current=2)).then_refused(SequenceGap, "producer")
    WROTE_ONE.when(batch(1, epoch=2, current=2, previous=(1, 7))).then_refused(
        SequenceGap, "producer"
    )
    WROTE_ONE.when(batch(1, epoch=2, current=2, loss=True)).then_nothing()


def test_a_batch_that_the_log_does_not_have_is_missed() -> None:
    given(OPENED).when(batch(1, epoch=2, current=2, previous=(1, 7))).then_refused(
        SequenceGap, "producer"
    )
    given(OPENED).when(batch(1, epoch=2, current=2)).then_nothing()


def test_the_log_remembers_the_last_batch_of_each_producer() -> None:
    assert folded(OPENED, producer=RUNNER).producers == {"runner": RUNNER}
    later = ProducerStamp(producer_id="runner", epoch=2, sequence=1)
    assert folded(OPENED, producer=later).producers == {"runner": later}


def test_the_fence_is_checked_before_the_gap_and_the_gap_before_the_version() -> None:
    WROTE_ONE.when(batch(9, epoch=1, current=2, expected_version=9)).then_refused(Fenced)
    WROTE_ONE.when(batch(9, expected_version=9)).then_refused(SequenceGap, "producer")
    WROTE_ONE.when(batch(2, expected_version=9)).then_refused(VersionMoved)
    WROTE_ONE.when(batch(2, expected_version=2)).then_nothing()


def test_a_writer_names_the_version_that_it_saw() -> None:
    given(OPENED).when(BeginBatch(events=1, expected_version=0)).then_refused(VersionMoved)
    with pytest.raises(VersionMoved) as caught:
        given(OPENED).when(BeginBatch(events=1, expected_version=5)).then()
    assert (caught.value.expected, caught.value.actual) == (5, 1)


def test_a_claimed_head_is_the_logs() -> None:
    head = folded(OPENED, started()).head

    def claim(history_version: int, fingerprint: str) -> BeginBatch:
        return BeginBatch(
            events=1,
            claim=HeadClaim(history_version=history_version, fingerprint=fingerprint),
        )

    log = given(OPENED, started())
    log.when(claim(2, head.fingerprint.hex())).then_nothing()
    log.when(claim(3, head.fingerprint.hex())).then_refused(HeadAheadOfLog, "head")
    log.when(claim(0, EMPTY.hex())).then_refused(HeadBehind, "head")
    log.when(claim(2, EMPTY.hex())).then_refused(HeadMismatch, "head")


def test_a_batch_can_open_its_session() -> None:
    opening = BeginBatch(events=1, open=OpenSession(title="Trip"), expected_version=0)
    given().when(opening).then(e.SessionOpened(title="Trip"))
    given().when(BeginBatch(events=1)).then_refused(NoSuchSession)


def test_a_batch_opens_no_session_that_exists() -> None:
    given(OPENED).when(BeginBatch(events=1, open=OpenSession(title="Trip"))).then_nothing()


def test_a_batch_does_not_open_a_deleted_session() -> None:
    given(OPENED, e.SessionDeleted()).when(BeginBatch(events=1, open=OpenSession())).then_refused(
        NoSuchSession
    )


def test_what_is_wrong_with_an_opening_is_said_where_it_is() -> None:
    given().when(BeginBatch(events=1, open=OpenSession(title=" "))).then_refused(
        InvalidValue, "open", "title"
    )


def test_a_full_session_takes_no_batch() -> None:
    full = State(head=Head(status="open", version=999_999))
    fits = type(given())(full)
    fits.when(BeginBatch(events=1)).then_nothing()
    fits.when(BeginBatch(events=2)).then_refused(SessionFull)
