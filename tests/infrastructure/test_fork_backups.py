"""A backup has forks with all that they share, and what their titles were numbered by."""

from pathlib import Path

from sqlalchemy import make_url

from domain import commands as c
from domain.readiness import Policy, readiness
from infrastructure.backing_up import back_up
from infrastructure.backup_format import Backup
from infrastructure.rebuilding import rebuild
from infrastructure.restoring import restore
from infrastructure.verification import verify_all
from tests.databases import Databases
from tests.infrastructure.families import asked, forked, whole
from tests.infrastructure.reading.alike import read
from tests.infrastructure.writing import NEW_YEAR, Store, opened, target, turn


def test_forks_are_restored_with_what_they_share(
    store: Store, databases: Databases, tmp_path: Path
) -> None:
    store.append([*turn("t1"), *turn("t2")])
    asked(store, "s1", c.RenameSession(title="Trip"))
    forked(store, "s1", "f1", at_turn="t1")
    store.append(turn("t3"), "f1")
    forked(store, "f1", "f2")
    path = tmp_path / "backup"
    back_up(store.database, path, NEW_YEAR)
    url = databases.empty()
    with Backup(path) as backup:
        restore(backup, make_url(url))
    with opened(url) as other:
        assert rebuild(other.database, other.runner, check_only=True).differences == ()
        assert all(each.ok for each in verify_all(other.database))
        for session_id in ("s1", "f1", "f2"):
            newest = whole(store, session_id).head.version
            with store.database.read() as here, other.database.read() as there:
                where = target(session_id)
                assert read(there, where, newest) == read(here, where, newest)
        forked(other, "f2", "f3")
        assert [whole(other, name).head.title for name in ("f1", "f2", "f3")] == [
            "Trip (2)",
            "Trip (3)",
            "Trip (4)",
        ]
        # What is not known since the restore is not known in a fork of it either.
        with other.transaction() as commit:
            policy = Policy(unverified_turns=True, known_after=commit.known_after)
        judged = readiness(whole(other, "f3").head, None, policy)
        assert [reason.code for reason in judged.reasons] == ["restored"]
    databases.drop(url)
