"""A lease is held by one: its fence rises with each holder, and stays."""

from dataclasses import dataclass

import pytest
from sqlalchemy import Connection

from domain.refusals import TurnFenced
from infrastructure import runs
from infrastructure import tables as t
from infrastructure.commit import Contended
from infrastructure.runs import Run
from tests.infrastructure.writing import NEW_YEAR, SECOND, Store, turn

NOW = NEW_YEAR
KEY = 1


@dataclass(frozen=True)
class Leases:
    """The leases of a store, each question in a transaction of its own."""

    store: Store

    def begin(self, turn_id: str, owner: str, lease_s: int = 60, now: int = NOW) -> int:
        with self.store.database.write() as connection:
            return runs.begin(connection, KEY, "default", turn_id, owner, lease_s, now)

    def find(self) -> Run:
        with self.store.database.read() as connection:
            run = runs.find(connection, KEY)
        assert run is not None
        return run

    def renew(self, fence: int, now: int, lease_s: int | None = None) -> int | None:
        with self.store.database.write() as connection:
            return runs.renew(connection, KEY, fence, now, lease_s)

    def release(self, fence: int) -> None:
        with self.store.database.write() as connection:
            runs.release(connection, KEY, fence)

    def expired(self, now: int) -> list[tuple[str, str]]:
        with self.store.database.read() as connection:
            return [
                (session_id, run.turn_id) for session_id, run in runs.expired(connection, now, 10)
            ]


@pytest.fixture
def leases(store: Store) -> Leases:
    """Leases of a store with a session whose turn `t1` runs."""
    store.append(turn("t1")[:1])
    return Leases(store)


def test_a_session_that_no_turn_was_leased_in_has_no_lease(leases: Leases) -> None:
    with leases.store.database.read() as connection:
        assert runs.find(connection, KEY) is None
        assert runs.find_named(connection, "default", "s1") is None
    assert not runs.is_live(None, NOW)


def test_a_lease_says_whose_it_is_and_until_when(leases: Leases) -> None:
    assert leases.begin("t1", "r1", lease_s=30) == 1

    assert leases.find() == Run(
        session_key=KEY,
        project_id="default",
        turn_id="t1",
        kind="turn",
        owner="r1",
        fence=1,
        begun=1,
        lease_until=NOW + 30 * SECOND,
        lease_s=30,
        heartbeat_at=NOW,
    )
    with leases.store.database.write() as connection:
        assert runs.find_named(connection, "default", "s1") == leases.find()
        assert runs.find_named(connection, "other", "s1") is None


def test_a_lease_is_live_until_it_ends_or_is_released(leases: Leases) -> None:
    fence = leases.begin("t1", "r1", lease_s=30)

    assert runs.is_live(leases.find(), NOW + 30 * SECOND - 1)
    assert not runs.is_live(leases.find(), NOW + 30 * SECOND)
    leases.release(fence)
    assert not runs.is_live(leases.find(), NOW)


def test_the_fence_rises_with_each_turn_and_never_falls(leases: Leases) -> None:
    assert [leases.begin("t1", "r1"), leases.begin("t2", "r2"), leases.begin("t2", "r3")] == [
        1,
        2,
        3,
    ]
    leases.release(3)
    assert leases.find().fence == 3
    assert leases.begin("t3", "r1") == 4


def test_a_turn_that_is_taken_over_still_tells_the_fence_that_it_began_with(
    leases: Leases,
) -> None:
    leases.begin("t0", "r1")
    leases.begin("t1", "r1")
    with leases.store.database.write() as connection:
        found = runs.find(connection, KEY)
        assert found is not None
        assert runs.take_over(connection, found, "t1", "r2", 30, NOW + 90 * SECOND) == 3

    taken = leases.find()
    assert (taken.owner, taken.begun, taken.lease_until) == ("r2", 2, NOW + 120 * SECOND)
    assert leases.begin("t1", "r3") == 4
    assert leases.find().begun == 2


def test_a_lease_that_is_taken_over_for_another_turn_began_with_its_new_fence(
    leases: Leases,
) -> None:
    leases.begin("t1", "r1")
    with leases.store.database.write() as connection:
        found = runs.find(connection, KEY)
        assert found is not None
        runs.take_over(connection, found, "t2", "r2", 30, NOW)

    assert leases.find()[2:7] == ("t2", "turn", "r2", 2, 2)


@pytest.mark.parametrize("how", ["take_over", "revoke"])
def test_a_lease_whose_holder_was_heard_of_meanwhile_is_not_taken(leases: Leases, how: str) -> None:
    leases.begin("t1", "r1")
    before = leases.find()
    leases.renew(1, NOW + 59 * SECOND)

    def take(connection: Connection) -> int:
        if how == "revoke":
            return runs.revoke(connection, before, NOW + 60 * SECOND)
        return runs.take_over(connection, before, "t1", "r2", 30, NOW + 60 * SECOND)

    with pytest.raises(Contended), leases.store.database.write() as connection:
        take(connection)
    assert leases.find().owner == "r1"


def test_a_revoked_lease_is_nobodys_and_has_another_fence(leases: Leases) -> None:
    leases.begin("t1", "r1")
    with leases.store.database.write() as connection:
        found = runs.find(connection, KEY)
        assert found is not None
        assert runs.revoke(connection, found, NOW + 60 * SECOND) == 2

    assert (leases.find().fence, leases.find().lease_until) == (2, 0)
    assert leases.renew(1, NOW) is None


def test_a_lease_is_renewed_for_as_long_as_it_was_or_as_is_asked(leases: Leases) -> None:
    leases.begin("t1", "r1", lease_s=30)

    assert leases.renew(1, NOW + 10 * SECOND) == NOW + 40 * SECOND
    assert leases.renew(1, NOW + 20 * SECOND, lease_s=3600) == NOW + 3620 * SECOND
    assert leases.renew(1, NOW + 30 * SECOND) == NOW + 3630 * SECOND
    assert leases.renew(2, NOW + 30 * SECOND) is None


def test_a_released_lease_is_taken_again_by_its_fence(leases: Leases) -> None:
    leases.begin("t1", "r1", lease_s=30)
    leases.release(2)
    assert runs.is_live(leases.find(), NOW)
    leases.release(1)

    assert leases.renew(1, NOW + 900 * SECOND) == NOW + 930 * SECOND


def test_only_the_turn_that_is_named_is_let_go(leases: Leases) -> None:
    leases.begin("t1", "r1")
    with leases.store.database.write() as connection:
        runs.let_go(connection, KEY, "t2")
    assert leases.find().lease_until == NOW + 60 * SECOND

    with leases.store.database.write() as connection:
        runs.let_go(connection, KEY, "t1")
    assert leases.find().lease_until == 0


def test_only_leases_that_ended_while_their_turns_run_are_expired(leases: Leases) -> None:
    leases.begin("t1", "r1", lease_s=30)

    assert leases.expired(NOW + 30 * SECOND - 1) == []
    assert leases.expired(NOW + 30 * SECOND) == [("s1", "t1")]
    leases.release(1)
    assert leases.expired(NOW + 30 * SECOND) == []
    leases.begin("another", "r1", lease_s=30)
    assert leases.expired(NOW + 30 * SECOND) == []


def test_a_lease_of_a_compaction_fences_no_turn(leases: Leases) -> None:
    with leases.store.database.write() as connection:
        fence = runs.begin(connection, KEY, "default", "t1", "pool", 30, NOW, "compaction")

    assert leases.expired(NOW + 30 * SECOND) == []
    runs.check_fence(leases.find(), "t1", None)
    runs.check_fence(leases.find(), "t1", fence)


@pytest.mark.parametrize(
    ("turn_id", "fence", "taken"),
    [
        ("t1", 1, True),
        ("t1", None, False),
        ("t1", 0, False),
        ("t1", 2, False),
        ("t2", None, True),
        ("t2", 1, True),
        ("t2", 2, False),
        (None, None, True),
        (None, 2, False),
    ],
)
def test_only_the_current_fence_writes_to_a_leased_turn_and_no_other_fence_to_any(
    leases: Leases, turn_id: str | None, fence: int | None, *, taken: bool
) -> None:
    leases.begin("t1", "r1")
    run = leases.find()

    if taken:
        runs.check_fence(run, turn_id, fence)
        return
    with pytest.raises(TurnFenced) as refused:
        runs.check_fence(run, turn_id, fence)
    told = refused.value
    assert (told.turn_id, told.owner, told.current, told.lease_until) == (
        "t1",
        "r1",
        1,
        NOW + 60 * SECOND,
    )


def test_a_fence_of_a_session_without_a_lease_is_refused() -> None:
    runs.check_fence(None, "t1", None)
    with pytest.raises(TurnFenced) as refused:
        runs.check_fence(None, "t1", 7)
    assert (refused.value.current, refused.value.owner) == (0, None)


def test_a_restored_store_never_gives_out_a_fence_of_before(leases: Leases) -> None:
    with leases.store.database.write() as connection:
        connection.execute(t.store.update().values(incarnation=3))

    first = leases.begin("t1", "r1")

    assert first == 2 * 2**32 + 1
    assert leases.begin("t2", "r1") == first + 1


def test_a_clock_that_stepped_back_keeps_a_lease_for_once_more_at_most(leases: Leases) -> None:
    leases.begin("t1", "r1", lease_s=30)

    def at(now: int) -> int:
        with leases.store.database.write() as connection:
            if runs.any_ahead(connection, now):
                runs.set_back(connection, now)
        return leases.find().lease_until

    assert at(NOW - 30 * SECOND) == NOW + 30 * SECOND  # it ends soon enough by itself
    assert at(NOW - 3600 * SECOND) == NOW - 3570 * SECOND
    leases.release(1)
    assert at(NOW - 7200 * SECOND) == 0
