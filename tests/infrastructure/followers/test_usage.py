"""Usage follows the log: sums by session, model and day, each record once."""

from tests.infrastructure.followers.watching import begun, following, spent, used
from tests.infrastructure.writing import NEW_YEAR, SECOND, Store

DAY = 24 * 3600 * SECOND


def test_usage_is_summed_by_session_model_and_day(store: Store) -> None:
    store.append([begun("t1", "go"), spent("t1", 10), spent("t1", 20, "m2")], "s1")
    store.clock.at = NEW_YEAR + DAY
    store.append([begun("t1", "go"), spent("t1", 5)], "s2")
    with following(store) as views:
        views.catch_up("usage")
    by_session = {item.name: item.usage.input_tokens for item in used(store, "session")}
    by_model = {item.name: item.usage.input_tokens for item in used(store, "model")}
    by_day = {item.key: item.usage.input_tokens for item in used(store, "day")}
    assert by_session == {"s1": 30, "s2": 5}
    assert by_model == {"m1": 15, "m2": 20}
    assert by_day == {20454: 30, 20455: 5}


def test_amounts_are_summed_exactly_and_each_currency_by_itself(store: Store) -> None:
    store.append(
        [
            begun("t1", "go"),
            *(spent("t1", 1, cost="0.1") for _ in range(3)),
            spent("t1", 1, cost='{"amount":"1.000000000001","currency":"usd"}'),
            spent("t1", 1, cost='{"amount":-2.5,"currency":"USD"}'),
            spent("t1", 1, cost='"a lot"'),
            spent("t1", 1, cost="null"),
        ]
    )
    with following(store) as views:
        views.catch_up("usage")
    [item] = used(store)
    assert {currency: usage.cost for currency, usage in item.costs.items()} == {
        "": "0.3",
        "USD": "-1.499999999999",
    }
    assert item.usage.records == 7


def test_usage_of_another_project_is_not_seen(store: Store) -> None:
    store.append([begun("t1", "go"), spent("t1", 10)])
    with following(store) as views:
        views.catch_up("usage")
    assert used(store, project_id="other") == []
