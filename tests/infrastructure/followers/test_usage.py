"""Usage follows the log: sums by session, model and day, each record once."""

import sqlite3
from dataclasses import replace

from sqlalchemy import Connection

from domain.commands import OpenSession, Proposal
from domain.events.session import Parent
from infrastructure.lookup import find_head
from infrastructure.reading.usage import UsageItem, UsageQuery, total, usage_by
from projections.prices import Price, Prices
from projections.usage import amount
from tests.infrastructure.followers.watching import begun, following, spent, used
from tests.infrastructure.writing import NEW_YEAR, SECOND, Store, batch, propose

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
    assert {currency: amount(pico) for currency, pico in item.costs.items()} == {
        "": "0.3",
        "USD": "-1.499999999999",
    }
    assert item.usage.records == 7


def test_what_told_no_amount_is_priced_when_it_is_read_or_counted_as_unpriced(
    store: Store,
) -> None:
    store.append(
        [
            begun("t1", "go"),
            spent("t1", 10, "opus-1", cost="null"),
            spent("t1", 5, "opus-1", cost='{"amount":"1","currency":"EUR"}'),
            spent("t1", 7, "unknown", cost="null"),
        ]
    )
    with following(store) as views:
        views.catch_up("usage")

    free, cheap, dear = (whole(store, prices) for prices in (Prices(), priced(1), priced(2)))

    assert (told(free), free.priced, free.unpriced) == ({"EUR": "1"}, 0, 2)
    assert (told(cheap), cheap.priced, cheap.unpriced) == ({"EUR": "1.000012"}, 1, 1)
    assert told(dear) == {"EUR": "1.000024"}


def test_turns_are_counted_by_how_they_ended_and_belong_to_no_model(store: Store) -> None:
    for number, end in enumerate(("completed", "failed", "interrupted", "completed")):
        turn = f"t{number}"
        store.append([begun(turn, "go"), spent(turn, 1), ended(turn, end)])
    with following(store) as views:
        views.catch_up("usage")

    [item] = used(store)
    usage = item.usage
    assert (usage.completed, usage.failed, usage.interrupted) == (2, 1, 1)
    assert usage.success_rate == 0.6667
    assert [(each.name, each.usage.completed) for each in used(store, "model")] == [("m1", 0)]


def test_usage_needs_no_turn(store: Store) -> None:
    body = b'{"model":"m1","input_tokens":3,"output_tokens":1}'
    store.append([propose("usage-recorded", body)])
    with following(store) as views:
        views.catch_up("usage")
    assert [item.usage.input_tokens for item in used(store)] == [3]


def test_usage_folded_anew_is_what_was_folded_as_it_came(store: Store) -> None:
    with following(store) as views:
        for number in range(3):
            turn = f"t{number}"
            store.append([begun(turn, "go"), spent(turn, 1), spent(turn, 2, cost="null")])
            store.append([ended(turn, "failed")])
            views.catch_up("usage")
        before = used(store)
        views.rebuild("usage")
    assert used(store) == before
    assert before[0].usage.failed == 3


def test_usage_of_more_sub_agents_than_a_statement_takes_values_is_summed(store: Store) -> None:
    store.append([begun("t1", "go"), spent("t1", 1)], "top")
    for number in range(12):
        below(store, f"child-{number}", "top", 10)
    below(store, "grandchild", "child-11", 100)
    store.append([begun("t1", "go"), spent("t1", 1_000)], "other")
    with following(store) as views:
        views.catch_up("usage")

    with store.database.read() as connection:
        key, _ = find_head(connection, "default", "top")
        query = UsageQuery(project_id="default", by="model", session_key=key, below=True, limit=2)
        before = values_at_most(connection, 10)
        try:
            [item] = usage_by(connection, query)
            whole_sum = total(connection, query)
            by_session = usage_by(connection, replace(query, by="session"))
        finally:
            values_at_most(connection, before)

    assert item.usage.input_tokens == whole_sum.usage.input_tokens == 1 + 12 * 10 + 100
    assert [each.name for each in by_session] == ["top", "child-0"]


def below(store: Store, session_id: str, parent: str, tokens: int) -> None:
    """Have a sub-agent use so many tokens in a session of its own."""
    opened = OpenSession(parent=Parent(session_id=parent))
    store.send(replace(batch([begun("t1", "go"), spent("t1", tokens)]), open=opened), session_id)


def values_at_most(connection: Connection, count: int) -> int:
    """Have SQLite take so many values with a statement; return how many it took."""
    driven = connection.connection.driver_connection
    if isinstance(driven, sqlite3.Connection):
        return driven.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, count)
    return 0


def priced(millionths: int) -> Prices:
    price = Price(
        currency="EUR",
        input=millionths * 10**6,
        output=2 * millionths * 10**6,
        cache_read=0,
        cache_write=0,
    )
    return Prices(table={"opus*": price})


def whole(store: Store, prices: Prices) -> UsageItem:
    query = UsageQuery(project_id="default", by="session", limit=1)
    with store.database.read() as connection:
        found = total(connection, query, prices)
        assert usage_by(connection, query, prices)[0].costs == found.costs
        return found


def told(item: UsageItem) -> dict[str, str]:
    return {currency: amount(pico) for currency, pico in item.costs.items()}


def ended(turn_id: str, end: str) -> Proposal:
    more = {"failed": b',"error":{"code":"x"}', "interrupted": b',"reason":"stop"'}.get(end, b"")
    return propose(f"turn-{end}", b'{"turn_id":"%s"%s}' % (turn_id.encode(), more))


def test_usage_of_another_project_is_not_seen(store: Store) -> None:
    store.append([begun("t1", "go"), spent("t1", 10)])
    with following(store) as views:
        views.catch_up("usage")
    assert used(store, project_id="other") == []
