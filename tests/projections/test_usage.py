"""What facts tell of usage, and how amounts add up."""

from decimal import Decimal

import pytest

from domain import events as e
from domain.raw_json import RawJson
from projections.usage import ENDS, MOST_TOKENS, Usage, day_of, used


def told(cost: object = None, **more: int) -> e.UsageRecorded:
    counts = {"input_tokens": 1, "output_tokens": 2} | more
    return e.UsageRecorded(turn_id="t1", model="m1", cost=cost, **counts)


@pytest.mark.parametrize(
    ("cost", "currency", "amount"),
    [
        (RawJson(b"0.1"), "", "0.1"),
        (1, "", "1"),
        (Decimal("0.000000000001"), "", "0.000000000001"),
        ("-0.5", "", "-0.5"),
        ({"amount": "2.50", "currency": "eur"}, "EUR", "2.5"),
        ({"amount": 2}, "", "2"),
        ({"amount": 2, "currency": 7}, "", "2"),
    ],
)
def test_an_amount_counts_under_its_currency(cost: object, currency: str, amount: str) -> None:
    found = used(told(cost))
    assert found is not None
    assert (found.currency, found.usage.cost, found.usage.costs) == (currency, amount, 1)


@pytest.mark.parametrize(
    "cost",
    [None, True, "free", "NaN", "Infinity", "1e300", [], {}, {"amount": "x", "currency": "EUR"}],
)
def test_what_is_no_amount_counts_as_none(cost: object) -> None:
    found = used(told(cost))
    assert found is not None
    assert (found.currency, found.usage.costs, found.usage.cost) == ("", 0, "0")


def test_tokens_are_counted_within_what_every_database_can_sum() -> None:
    found = used(told(cache_read_tokens=2**62, cache_write_tokens=-5))
    assert found is not None
    assert found.usage == Usage(
        records=1, input_tokens=1, output_tokens=2, cache_read_tokens=MOST_TOKENS
    )


def test_sums_add_up_exactly() -> None:
    found = used(told("0.1"))
    assert found is not None
    assert (found.usage + found.usage + found.usage).cost == "0.3"


def test_other_facts_tell_nothing_and_names_fit_every_database() -> None:
    assert used(e.TurnCompleted(turn_id="t1")) is None
    named = used(
        e.UsageRecorded(turn_id="t1", model="a\x00" + "b" * 400, input_tokens=1, output_tokens=1)
    )
    assert named is not None
    assert named.model == "a" + "b" * 255


def test_a_day_is_one_of_utc() -> None:
    day = 24 * 3600 * 10**6
    assert [day_of(0), day_of(day - 1), day_of(day), day_of(-1)] == [0, 0, 1, -1]


def test_a_turn_that_was_stopped_has_not_failed() -> None:
    ended = ENDS["turn-completed"] + ENDS["turn-interrupted"] + ENDS["turn-interrupted"]
    assert (ended.interrupted, ended.failed, ended.success_rate) == (2, 0, 1.0)
    assert (ended + ENDS["turn-failed"]).success_rate == 0.5
    assert ENDS["turn-interrupted"].success_rate is None
