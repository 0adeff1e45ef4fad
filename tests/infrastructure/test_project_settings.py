"""What a project sets is found again, changed by one at a time, and never read wrongly."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import make_url

from domain.json_text import JsonValue, dump
from domain.lanes.keys import KeyPolicy
from domain.lanes.project_aliases import read_project_aliases
from domain.lanes.whatsapp import NO_ALIASES, Aliases, canonical
from domain.patch_settings import UnreadableSettings
from domain.project_settings import ProjectSettings
from domain.read_settings import InvalidSettings
from domain.refusals import SettingsUnreadable, VersionMoved
from infrastructure import lane_aliases
from infrastructure import tables as t
from infrastructure.backing_up import back_up
from infrastructure.backup_format import Backup
from infrastructure.commit import Contended
from infrastructure.lane_aliases import replace_aliases, stored_aliases
from infrastructure.project_settings import (
    aliases_of,
    change_settings,
    key_policy,
    settings_of,
    stored_settings,
)
from infrastructure.restoring import restore
from infrastructure.setting_rows import Change, Name, Stored, replaced, stored
from tests.databases import Databases
from tests.infrastructure.writing import NEW_YEAR, SECOND, Store, opened

PHONE = "15551234567"
ONE_PERSON: JsonValue = {"whatsapp": {"999999999999999@lid": [f"{PHONE}@s.whatsapp.net"]}}


def by(expected: int | None = None, now: int = NEW_YEAR) -> Change:
    return Change(actor="ann", now=now, expected=expected)


def read(value: JsonValue) -> tuple[Aliases, bytes]:
    return read_project_aliases(value), dump(value)


def change(store: Store, patch: JsonValue, made: Change | None = None) -> Stored:
    return store.runner.run(
        lambda attempt: change_settings(attempt.connection, "p", patch, made or by())
    )


def name_people(store: Store, value: JsonValue, made: Change | None = None) -> Stored:
    return store.runner.run(
        lambda attempt: replace_aliases(attempt.connection, "p", read(value), made or by())
    )


def settings(store: Store, project_id: str = "p") -> ProjectSettings:
    with store.database.read() as connection:
        return settings_of(connection, project_id)


def policy(store: Store, platform: str) -> KeyPolicy:
    with store.database.read() as connection:
        return key_policy(connection, "p", platform)


def damage(store: Store, value: bytes) -> None:
    with store.database.write() as connection:
        later = t.project_settings.c.changed_at + 1
        connection.execute(t.project_settings.update().values(value=value, changed_at=later))


def test_what_was_never_set_is_the_defaults_at_version_zero(store: Store) -> None:
    assert settings(store) == ProjectSettings()
    assert policy(store, "whatsapp") == KeyPolicy()


def test_each_change_is_a_version_of_one_project_and_one_without_effect_is_none(
    store: Store,
) -> None:
    first = change(store, {"lanes": {"group_sessions_per_user": False, "profiles": True}})
    again = change(store, {"lanes": {"profiles": True}}, by(now=NEW_YEAR + SECOND))
    second = change(store, {"lanes": {"profiles": None}}, by(1, NEW_YEAR + SECOND))
    assert first == again == Stored(1, first.value, NEW_YEAR, "ann")
    assert second == Stored(
        2, b'{"lanes":{"group_sessions_per_user":false}}', NEW_YEAR + SECOND, "ann"
    )
    assert settings(store).version == 2
    assert policy(store, "telegram") == KeyPolicy(group_sessions_per_user=False)
    assert settings(store, "other") == ProjectSettings()
    with store.database.read() as connection:
        assert stored_settings(connection, "p") == second
        assert stored_aliases(connection, "p").version == 0


def test_whoever_saw_another_version_and_whoever_means_nothing_change_nothing(
    store: Store,
) -> None:
    change(store, {"lanes": {"redact_ids": True}})
    with pytest.raises(VersionMoved) as moved:
        change(store, {"lanes": {"redact_ids": False}}, by(0))
    assert str(moved.value) == "expected version 0; what is set is at 1"
    assert moved.value.actual == 1
    with pytest.raises(InvalidSettings):
        change(store, {"lanes": {"redact_ids": "yes"}})
    assert settings(store).version == 1
    assert settings(store).lanes.redact_ids


def test_a_change_rests_on_the_version_that_it_has_seen(store: Store) -> None:
    name = Name("p", "settings")
    with store.database.read() as connection:
        never = stored(connection, name)
    change(store, {"lanes": {"profiles": True}})
    with store.database.read() as connection:
        first = stored(connection, name)
    change(store, {"lanes": {"redact_ids": True}})
    for seen in (never, first):
        with store.database.write() as connection, pytest.raises(Contended):
            replaced(connection, name, seen, b"[]", by())
    assert settings(store).version == 2


@pytest.mark.parametrize("value", [b'{"lanes":{"later":true}}', b"not JSON", b"[]"])
def test_what_cannot_be_read_allows_nobody_and_is_not_changed_by_the_way(
    store: Store, value: bytes
) -> None:
    change(store, {"lanes": {"allowed_users": {"telegram": ["42"]}}})
    damage(store, value)
    found = settings(store)
    assert (found.readable, found.version) == (False, 1)
    assert found.lanes == ProjectSettings().lanes
    assert not found.allows("telegram", "42")
    with pytest.raises(SettingsUnreadable):  # no default says who shares a conversation
        policy(store, "telegram")
    with pytest.raises(UnreadableSettings):
        change(store, {"sessions": {"retain_ended_days": 5}})
    change(store, {"lanes": None, "sessions": None})
    assert settings(store) == ProjectSettings(version=2)


def test_ids_of_one_person_are_known_from_the_next_message_on(store: Store) -> None:
    lid = "999999999999999@lid"
    assert canonical(lid, policy(store, "whatsapp").aliases) == "999999999999999"
    name_people(store, ONE_PERSON)
    known = policy(store, "whatsapp").aliases
    assert canonical(lid, known) == PHONE
    assert policy(store, "whatsapp").aliases is known
    assert policy(store, "telegram").aliases is NO_ALIASES
    assert name_people(store, ONE_PERSON, by(1)).version == 1
    name_people(store, {}, by(1))
    assert canonical(lid, policy(store, "whatsapp").aliases) == "999999999999999"
    with pytest.raises(VersionMoved):
        name_people(store, ONE_PERSON, by(1))


def test_ids_that_many_ask_for_at_once_are_read_once(store: Store) -> None:
    people = {str(10**14 + number): str(10**10 + number) for number in range(2_000)}
    name_people(store, {"whatsapp": dict(people)})
    damage(store, dump({"whatsapp": dict(people)}))
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(policy, store, "whatsapp") for _ in range(4)]
        known = [each.result().aliases for each in asked]
    assert all(each is known[0] for each in known)


def test_ids_that_cannot_be_read_are_nobody_elses(store: Store) -> None:
    name_people(store, ONE_PERSON)
    damage(store, b'{"whatsapp":5}')
    with pytest.raises(SettingsUnreadable):
        policy(store, "whatsapp")
    assert policy(store, "signal") == KeyPolicy()


def test_what_was_read_longest_ago_is_let_go(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_aliases, "IDS_KEPT", 3)
    for project_id in ("a", "b"):
        with store.database.write() as connection:
            replace_aliases(connection, project_id, read(ONE_PERSON), by())
    with store.database.read() as connection:
        first = aliases_of(connection, "a")
        second = aliases_of(connection, "b")
        assert aliases_of(connection, "b") is second
        assert aliases_of(connection, "a") is not first
        assert aliases_of(connection, "a") == first


def test_what_was_set_is_in_a_backup(store: Store, databases: Databases, tmp_path: Path) -> None:
    change(store, {"lanes": {"profiles": True}})
    name_people(store, ONE_PERSON)
    path = tmp_path / "store.backup"
    back_up(store.database, path, NEW_YEAR)
    url = databases.empty()
    with Backup(path) as backup:
        restore(backup, make_url(url))
    with opened(url) as again:
        assert settings(again) == settings(store)
        assert policy(again, "whatsapp") == policy(store, "whatsapp")
    databases.drop(url)
