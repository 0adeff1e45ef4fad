"""A session is marked as long as somebody is about to delete it, whatever comes of that."""

import pytest

from domain.refusals import SessionDeleting
from infrastructure.hosting.deletions import Deletions
from infrastructure.pool.seats import SeatKey

SESSION = SeatKey("p", "s")
BESIDE = SeatKey("p", "other")
ELSEWHERE = SeatKey("q", "s")


def test_nothing_begins_in_what_is_marked_and_everything_does_beside_it() -> None:
    deletions = Deletions()

    with deletions.mark(SESSION):
        with pytest.raises(SessionDeleting):
            deletions.check(SESSION)
        deletions.check(BESIDE)
        deletions.check(ELSEWHERE)

    deletions.check(SESSION)


def test_a_mark_does_not_outlive_a_deletion_that_fails() -> None:
    deletions = Deletions()

    with pytest.raises(OSError, match="away"), deletions.mark(SESSION):
        raise OSError("away")

    deletions.check(SESSION)


def test_of_several_deletions_the_last_one_takes_the_mark_away() -> None:
    deletions = Deletions()

    with deletions.mark(SESSION):
        with deletions.mark(SESSION):
            assert deletions.covers(SESSION)
        assert deletions.covers(SESSION)

    assert not deletions.covers(SESSION)


def test_a_project_that_is_deleted_marks_each_of_its_sessions() -> None:
    deletions = Deletions()

    with deletions.mark("p"):
        assert (deletions.covers(SESSION), deletions.covers(BESIDE)) == (True, True)
        assert not deletions.covers(ELSEWHERE)

    assert not deletions.covers(SESSION)
