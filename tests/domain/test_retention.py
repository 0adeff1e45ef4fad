"""Which ended sessions are kept no longer, and which are."""

import pytest

from domain import events as e
from domain.retention import DAY_US, Retention, kept_for, may_go
from domain.state import Head
from tests.scenario import OPENED, folded

ENDED = folded(OPENED, e.SessionArchived()).head
OLD = Retention(before=ENDED.updated_at + 1)


def test_a_session_goes_once_its_last_fact_is_older_and_not_before() -> None:
    assert may_go(ENDED, OLD)
    assert not may_go(ENDED, Retention(before=ENDED.updated_at))
    assert kept_for(2, 5 * DAY_US) == Retention(before=3 * DAY_US)


@pytest.mark.parametrize(
    "head",
    [
        folded(OPENED).head,
        folded(OPENED, e.SessionArchived(), e.SessionUnarchived()).head,
        folded(OPENED, e.SessionArchived(), e.SessionDeleted()).head,
        Head(),
        ENDED._replace(turn_id="t1"),
        ENDED._replace(queued=1),
        ENDED._replace(open_gates=1),
    ],
)
def test_what_did_not_end_or_still_waits_is_kept(head: Head) -> None:
    assert not may_go(head, Retention(before=DAY_US, include_pinned=True))


def test_a_pinned_session_goes_only_where_that_is_said() -> None:
    pinned = ENDED._replace(pinned=True)
    assert not may_go(pinned, OLD)
    assert may_go(pinned, Retention(before=OLD.before, include_pinned=True))
