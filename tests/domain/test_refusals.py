"""A refusal tells what was wrong, where, and what the caller needs to know to go on."""

import pytest

from domain import refusals as r


@pytest.mark.parametrize(
    ("fence", "current", "told"),
    [
        (None, 3, "no fence was given; the current one is 3"),
        (2, 3, "fence 2 is not the current one; the current one is 3"),
        (2, 0, "fence 2 is not the current one; there is no lease"),
    ],
)
def test_whoever_is_fenced_is_told_the_current_fence(
    fence: int | None, current: int, told: str
) -> None:
    refused = r.TurnFenced(fence, current=current, turn_id="t1", owner="one", lease_until=9)

    assert str(refused) == told
    assert (refused.fence, refused.current) == (fence, current)
    assert (refused.turn_id, refused.owner, refused.lease_until) == ("t1", "one", 9)


def test_whoever_names_no_harness_that_is_defined_is_told_where() -> None:
    refused = r.NoSuchHarness("config", "harness")

    assert str(refused) == "no harness of this name is defined here"
    assert refused.at == ("config", "harness")


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        (
            r.TooManyFacts(5, "messages"),
            "this would be more than 5 events at once; import it first",
        ),
        (r.TooManyBytes(5, "messages"), "this would be more than 5 bytes at once; import it first"),
    ],
)
def test_whoever_says_too_much_at_once_is_told_the_limit(
    refused: r.TooManyFacts | r.TooManyBytes, told: str
) -> None:
    assert str(refused) == told
    assert (refused.limit, refused.at) == (5, ("messages",))


def test_where_nothing_is_missing_nothing_is_accepted() -> None:
    assert str(r.NothingToAccept()) == "nothing is missing that could be accepted as missing"


def test_whoever_accepts_less_than_is_missing_is_told_all_reasons() -> None:
    refused = r.OtherReasons(["tail-open", "turn-unverified"])

    assert refused.reasons == ("tail-open", "turn-unverified")
    assert refused.at == ("reasons",)


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        (r.NoSuchParent(), "there is no such parent in this project"),
        (r.ParentIsBelow(), "the parent is the session itself, or below it"),
        (r.TooDeepBelow(16), "at most 16 sessions are above one"),
    ],
)
def test_whoever_names_a_parent_that_cannot_be_one_is_told_where(
    refused: r.NoSuchParent | r.ParentIsBelow | r.TooDeepBelow, told: str
) -> None:
    assert str(refused) == told
    assert refused.at == ("parent", "session_id")


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        (r.SessionDeleting(), "the session is being deleted"),
        (
            r.HasForks(),
            "the session has forks that share its history; they have to be purged first",
        ),
    ],
)
def test_a_session_that_is_going_or_has_to_stay_says_so(refused: r.Refusal, told: str) -> None:
    assert str(refused) == told


def test_whoever_needs_what_cannot_be_read_is_told_what_that_is() -> None:
    told = "who is whom cannot be read: a later turnlog set it, or it is damaged"

    assert str(r.SettingsUnreadable("who is whom")) == told


def test_whoever_meets_a_lost_lane_is_told_how_it_is_mended() -> None:
    told = "what is kept of the lane is lost; an operator runs: turnlog rebuild --all"

    assert str(r.LaneDamaged()) == told


def test_whoever_says_again_what_nobody_said_is_told_so() -> None:
    assert str(r.NothingToRetry()) == "nothing that was said is in sight"
