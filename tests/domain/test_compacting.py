"""A summary ends with a turn, keeps the newest ones, and stands for something new."""

import pytest

from domain.compacting import Seen, covered
from domain.refusals import (
    Compacting,
    CompactionFailed,
    CompactionInterrupted,
    NothingToCompact,
    SessionIsSuspended,
    SessionUnrecoverable,
)

TWO = [Seen("a", "t1"), Seen("b", "t1"), Seen("c", "t2"), Seen("d", "t2")]
SUMMARY = Seen("summary:9", None)


@pytest.mark.parametrize(("keep_turns", "count"), [(0, 4), (1, 2)])
def test_the_newest_turns_are_kept(keep_turns: int, count: int) -> None:
    assert covered(TWO, keep_turns) == count


def test_a_summary_is_summed_up_with_what_came_since() -> None:
    assert covered([SUMMARY, *TWO], 1) == 3


@pytest.mark.parametrize(
    ("seen", "keep_turns", "reason"),
    [
        ([], 0, "empty"),
        (TWO, 2, "empty"),
        (TWO, 9, "empty"),
        ([SUMMARY], 0, "already-compacted"),
        ([SUMMARY, *TWO], 2, "already-compacted"),
        ([SUMMARY, *TWO], 9, "already-compacted"),
    ],
)
def test_what_gains_nothing_says_why(seen: list[Seen], keep_turns: int, reason: str) -> None:
    with pytest.raises(NothingToCompact) as refused:
        covered(seen, keep_turns)

    assert refused.value.reason == reason


def test_what_comes_of_none_says_who_and_why() -> None:
    now, stopped, failed = (
        Compacting("c1", "host-1", 9),
        CompactionInterrupted("cancelled", "ann"),
        CompactionFailed("empty-summary", "The harness said nothing."),
    )

    assert "suspended" in SessionIsSuspended().detail
    assert "nothing can run" in SessionUnrecoverable().detail
    assert (now.compaction_id, now.owner, now.lease_until) == ("c1", "host-1", 9)
    assert (stopped.reason, stopped.by) == ("cancelled", "ann")
    assert (failed.code, failed.detail) == ("empty-summary", "The harness said nothing.")
