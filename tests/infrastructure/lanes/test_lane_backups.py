"""Lanes outlive their database: a backup has them, and what comes next finds its session."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import make_url

from infrastructure.backing_up import back_up
from infrastructure.backup_format import Backup
from infrastructure.rebuilding import rebuild
from infrastructure.restoring import restore
from infrastructure.verification import verify_all
from tests.databases import Databases
from tests.infrastructure.lanes.arrivals import TELEGRAM, resolve
from tests.infrastructure.writing import NEW_YEAR, SECOND, Store, opened


@pytest.fixture
def elsewhere(databases: Databases) -> Iterator[str]:
    """Another empty database of the same kind."""
    url = databases.empty()
    yield url
    databases.drop(url)


def test_a_restored_store_has_the_lanes_of_before(
    store: Store, elsewhere: str, tmp_path: Path
) -> None:
    first = resolve(store)
    resolve(store, force_new=True)
    store.clock.at += 3_600 * SECOND
    kept = resolve(store)
    back_up(store.database, tmp_path / "store.backup", NEW_YEAR)
    with Backup(tmp_path / "store.backup") as backup:
        restore(backup, make_url(elsewhere))
    with opened(elsewhere) as again:
        assert all(each.ok for each in verify_all(again.database))
        assert rebuild(again.database, again.runner, check_only=True).differences == ()
        found = resolve(again, touches=False)
        assert (found.session_id, found.reason) == (kept.session_id, "existing")
        assert found.found.touched_at == store.clock.at
        assert found.found.lane.previous_session_id == first.session_id
        after = resolve(again, force_new=True)
        assert after.found.lane.version == kept.found.lane.version + 1
        other = resolve(again, {**TELEGRAM, "chat_id": "100"})
        assert other.created
