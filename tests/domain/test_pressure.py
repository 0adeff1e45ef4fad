"""Which parked harnesses go when memory gets short, and which must not?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.pressure import (
    BATCH,
    MIB,
    PROTECT_RECENT,
    Budget,
    Candidate,
    Garbage,
    Plan,
    auto_budget,
    plan,
    read_batch,
    read_budget,
    read_protected,
)

GIB = 1024 * MIB


def idle(*names: str, durable: bool | None = True) -> list[Candidate]:
    """Seats that wait for a turn, the one that was not used for longest first."""
    return [
        Candidate(seat_id=name, last_used=number, durable=durable)
        for number, name in enumerate(names)
    ]


def busy(*names: str) -> list[Candidate]:
    return [Candidate(seat_id=name, last_used=0, busy=True, durable=True) for name in names]


def chosen(
    seats: list[Candidate], *, protect_recent: int = 0, batch: int = BATCH, used: int = 101
) -> tuple[str, ...]:
    return plan(seats, used=used, budget=100, protect_recent=protect_recent, batch=batch).chosen


@pytest.mark.parametrize("used", [0, 99, 100])
def test_while_no_more_than_the_budget_is_used_none_goes(used: int) -> None:
    assert plan(idle("a", "b"), used=used, budget=100, protect_recent=0) == Plan()


def test_the_one_not_used_for_longest_goes_first_whatever_the_order_of_seats() -> None:
    first, second, third, fourth = idle("a", "b", "c", "d")

    assert chosen([third, first, fourth, second], batch=3) == ("a", "b", "c")


def test_those_used_last_stay() -> None:
    names = [f"{number:02}" for number in range(20)]

    assert chosen(idle(*names), protect_recent=8) == tuple(names[:12])
    assert chosen(idle(*names), protect_recent=0) == tuple(names[:16])
    assert PROTECT_RECENT == 8


def test_of_a_few_seats_half_can_go_however_many_are_to_stay() -> None:
    assert chosen(idle("a", "b", "c", "d", "e"), protect_recent=8) == ("a", "b", "c")
    assert chosen(idle("a"), protect_recent=8) == ("a",)


def test_of_several_the_one_used_last_stays() -> None:
    assert chosen(idle("a", "b"), protect_recent=8) == ("a",)
    assert chosen(idle("a", "b", "c"), protect_recent=1) == ("a", "b")


def test_at_most_a_batch_goes_and_one_that_is_passed_over_takes_no_place_in_it() -> None:
    kept = idle(*(f"k{number}" for number in range(30)), durable=False)
    gone = [Candidate(seat_id=f"g{n:02}", last_used=100 + n, durable=True) for n in range(30)]

    assert chosen([*kept, *gone]) == tuple(f"g{number:02}" for number in range(16))
    assert chosen([*kept, *gone], batch=2) == ("g00", "g01")


def test_one_that_a_turn_has_or_that_waits_for_a_decision_never_goes() -> None:
    seats = [*busy("a", "b", "c"), *idle("d", "e", "f")]

    found = plan(seats, used=101, budget=100, protect_recent=8)

    assert found == Plan(chosen=("d", "e"), busy=3)


def test_one_that_is_not_on_record_stays_until_it_is() -> None:
    before = plan(idle("a", durable=False), used=101, budget=100)
    after = plan(idle("a", durable=True), used=101, budget=100)

    assert before == Plan(undurable=1, unevictable=True)
    assert after == Plan(chosen=("a",))


@given(
    st.lists(
        st.builds(
            Candidate,
            seat_id=st.uuids().map(str),
            last_used=st.integers(0, 20),
            busy=st.booleans(),
            durable=st.sampled_from([True, False, None]),
        ),
        max_size=40,
    ),
    st.integers(0, 10),
    st.integers(1, 20),
)
def test_whatever_there_is_none_goes_that_has_to_stay_and_none_stays_that_could_go(
    seats: list[Candidate], protect_recent: int, batch: int
) -> None:
    found = plan(seats, used=101, budget=100, protect_recent=protect_recent, batch=batch)

    by_id = {each.seat_id: each for each in seats}
    gone = [by_id[seat_id] for seat_id in found.chosen]
    waiting = [each for each in seats if not each.busy]
    stay = [each for each in waiting if each not in gone]
    kept = min(protect_recent, len(waiting) // 2)
    assert all(each.durable and not each.busy for each in gone)
    assert gone == sorted(gone, key=lambda each: each.last_used)
    assert len(gone) <= batch
    assert sum(each.last_used >= old.last_used for each in stay for old in gone[-1:]) >= (
        kept if gone else 0
    )
    if len(gone) < batch:
        assert sum(each.durable is True for each in stay) <= kept
    assert found.unevictable == (bool(seats) and not gone)
    assert (found.busy, found.undurable) == (
        len(seats) - len(waiting),
        sum(not each.durable for each in waiting),
    )


def test_what_nobody_knows_to_be_on_record_is_taken_for_not_being() -> None:
    seats = [*idle("a", durable=None), Candidate(seat_id="b", last_used=5)]

    assert plan(seats, used=101, budget=100, protect_recent=0).chosen == ()


def test_without_a_budget_or_without_seats_nothing_is_done_or_complained_of() -> None:
    assert plan(idle("a", "b"), used=10**12, budget=None) == Plan()
    assert plan([], used=10**12, budget=100) == Plan()


def test_where_none_can_go_it_is_said_why() -> None:
    seats = [*busy("a", "b"), *idle("c", "d", "e", durable=False)]

    found = plan(seats, used=101, budget=100)

    assert found == Plan(chosen=(), busy=2, undurable=3, unevictable=True)


@pytest.mark.parametrize(
    ("high", "maximum", "v1", "total", "budget"),
    [
        (GIB, 2 * GIB, 3 * GIB, 4 * GIB, GIB * 65 // 100),
        (None, 2 * GIB, 3 * GIB, 4 * GIB, 2 * GIB * 65 // 100),
        (None, None, 3 * GIB, 4 * GIB, 3 * GIB * 65 // 100),
        (None, None, None, 4 * GIB, 4 * GIB * 65 // 100),
        (None, None, 2**63 - 4096, 4 * GIB, 4 * GIB * 65 // 100),
        (None, 2 * GIB, None, None, 2 * GIB * 65 // 100),
        (None, 787 * MIB, None, 4 * GIB, None),
        (None, 788 * MIB, None, 4 * GIB, 788 * MIB * 65 // 100),
        (None, None, None, None, None),
    ],
)
def test_the_budget_is_a_share_of_the_first_limit_and_none_if_that_is_little(
    high: int | None, maximum: int | None, v1: int | None, total: int | None, budget: int | None
) -> None:
    assert auto_budget(high=high, maximum=maximum, v1=v1, total=total) == budget


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        (None, "auto"),
        ("auto", "auto"),
        (" AUTO ", "auto"),
        ("2048", 2048),
        ("1536.5", 1536),
        ("1e3", 1000),
        ("0.25", 1),
        ("0", None),
        ("0.0", None),
        ("", None),
        (" ", None),
        ("false", None),
        ("None", None),
        ("off", None),
        ("no", None),
    ],
)
def test_a_budget_is_a_number_of_mib_auto_or_none(text: str | None, budget: Budget) -> None:
    assert read_budget(text) == budget


@pytest.mark.parametrize(
    "text", ["lots", "-1", "nan", "inf", "1_000", "٣", "2 GiB", "true", "99999999999"]
)
def test_a_budget_that_is_none_of_these_is_garbage(text: str) -> None:
    with pytest.raises(Garbage):
        read_budget(text)


@pytest.mark.parametrize(
    ("text", "count"),
    [(None, 8), ("", 8), ("false", 8), ("False", 8), ("none", 8), ("0", 0), ("3", 3), ("3.0", 3)],
)
def test_none_to_protect_has_to_be_said_by_a_zero(text: str | None, count: int) -> None:
    assert read_protected(text) == count


@pytest.mark.parametrize("text", ["some", "-1", "1.5", "10001"])
def test_what_is_no_count_to_protect_is_garbage(text: str) -> None:
    with pytest.raises(Garbage):
        read_protected(text)


@pytest.mark.parametrize(("text", "count"), [(None, 16), ("", 16), ("1", 1), ("100", 100)])
def test_a_batch_is_sixteen_unless_something_else_is_said(text: str | None, count: int) -> None:
    assert read_batch(text) == count


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5", "false"])
def test_a_batch_of_none_is_garbage(text: str) -> None:
    with pytest.raises(Garbage):
        read_batch(text)
