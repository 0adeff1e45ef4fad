"""A key stands for one request for a day, and for nobody else's trouble."""

from types import SimpleNamespace
from typing import Any

import pytest

from infrastructure import idempotency
from infrastructure.commit import Contended
from infrastructure.idempotency import (
    FORGOTTEN_AT_ONCE,
    KEPT_US,
    IdempotencyKey,
    Kept,
    claim,
    keep,
)
from infrastructure.prepared import Rows
from tests.conftest import NewDatabase
from tests.infrastructure.writing import NEW_YEAR, Store, opened

DAY_LATER = NEW_YEAR + KEPT_US
ANSWER = Kept(status=201, first_version=1, last_version=2, result=b"{}")


def named(key: str, request: bytes = b"r") -> IdempotencyKey:
    return IdempotencyKey(project_id="default", key=key, request_digest=request * 32)


def answered(store: Store, *keys: str) -> None:
    with store.database.write() as connection:
        for key in keys:
            assert claim(connection, named(key), NEW_YEAR) is None
            keep(connection, named(key), ANSWER)


def test_a_key_is_kept_for_a_day_and_then_stands_for_another_request(store: Store) -> None:
    answered(store, "a")
    with store.database.write() as connection:
        assert claim(connection, named("a"), DAY_LATER - 1) == ANSWER
        assert claim(connection, named("a", b"s"), DAY_LATER) is None


def test_more_old_keys_than_are_forgotten_at_once_do_not_stand_in_the_way(store: Store) -> None:
    old = [f"key-{number:03}" for number in range(FORGOTTEN_AT_ONCE + 20)]
    answered(store, *old)
    with store.database.write() as connection:
        for key in reversed(old):
            assert claim(connection, named(key, b"s"), DAY_LATER) is None


def test_on_postgresql_forgetting_old_keys_holds_up_no_other_request(
    new_database: NewDatabase,
) -> None:
    with opened(new_database("postgresql")) as store:
        answered(store, "old")
        with store.database.write() as first, store.database.write() as second:
            second.exec_driver_sql("SET LOCAL lock_timeout = '2s'")
            assert claim(first, named("a"), DAY_LATER) is None
            assert claim(second, named("b"), DAY_LATER) is None


def test_on_postgresql_a_key_that_another_request_just_claimed_is_looked_at_again(
    new_database: NewDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(new_database("postgresql")) as store:

        def overtaken(*asked: Any) -> Rows:  # noqa: ANN401
            found = usual.run(*asked)
            monkeypatch.undo()
            answered(store, "a")
            return found

        usual = idempotency._FIND  # pyright: ignore[reportPrivateUsage]
        monkeypatch.setattr("infrastructure.idempotency._FIND", SimpleNamespace(run=overtaken))
        with store.database.write() as connection, pytest.raises(Contended):
            claim(connection, named("a"), NEW_YEAR)
