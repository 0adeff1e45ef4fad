"""A database is served only if it is ours, of this build's schema, and flushes its commits."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, create_engine, inspect, make_url, select, text
from sqlalchemy.pool import NullPool

import migrations
from infrastructure import tables as t
from infrastructure.connecting import UnfitDatabase
from infrastructure.database import (
    Database,
    create_schema,
    migration_config,
    open_database,
    schema_versions,
)
from infrastructure.settings import BadSetting, default_database, load
from tests.conftest import NewDatabase
from tests.databases import PostgresqlDatabases
from tests.infrastructure.writing import note, opened


def refusal(url: str, *, allow_unsafe: bool = True, create: bool = False) -> str:
    with pytest.raises(UnfitDatabase) as refused:
        open_database(make_url(url), allow_unsafe=allow_unsafe, create=create)
    return str(refused.value)


def run(url: str, *statements: str) -> None:
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))


def migrate(url: str, change: str) -> None:
    """Run `command.upgrade` or `command.downgrade` as the program does."""
    database = Database(make_url(url), allow_unsafe=True)
    with database.write() as connection:
        config = migration_config()
        config.attributes["connection"] = connection
        if change == "base":
            command.downgrade(config, change)
        else:
            command.upgrade(config, change)
    database.close()


@pytest.fixture
def absent(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'share' / 'turnlog' / 'turnlog.db'}"


def test_an_absent_embedded_database_is_created_at_first_use(absent: str) -> None:
    database = open_database(make_url(absent), create=True)
    with database.read() as connection:
        found, newest = schema_versions(connection)
        (row,) = connection.execute(select(t.store)).all()
    database.close()
    assert found == newest
    assert (row.one, row.incarnation, row.known_after, row.base) == (1, 1, 0, 0)


def test_a_database_that_is_not_there_is_not_made_by_looking_for_it(absent: str) -> None:
    path = Path(make_url(absent).database or "")
    path.parent.mkdir(parents=True)
    assert "is not there" in refusal(absent)
    assert not path.exists()


def test_a_database_may_have_any_name_that_a_file_can_have(tmp_path: Path) -> None:
    url = URL.create("sqlite", database=str(tmp_path / "50% of? my #logs & ü.db"))
    open_database(url, create=True).close()
    open_database(url).close()
    assert [path.name for path in tmp_path.iterdir()] == ["50% of? my #logs & ü.db"]


def test_an_empty_file_becomes_the_embedded_database(absent: str) -> None:
    path = Path(make_url(absent).database or "")
    path.parent.mkdir(parents=True)
    path.touch()
    open_database(make_url(absent), create=True).close()


def test_a_database_that_was_only_looked_at_still_counts_as_empty(absent: str) -> None:
    """As after a start that was killed before its first commit."""
    path = Path(make_url(absent).database or "")
    path.parent.mkdir(parents=True)
    run(absent, "PRAGMA journal_mode=WAL")
    assert path.stat().st_size > 0
    assert "has no turnlog schema" in refusal(absent)
    open_database(make_url(absent), create=True).close()


def test_opening_again_keeps_what_is_there(absent: str) -> None:
    for number in range(2):
        open_database(make_url(absent), create=True).close()
        with opened(absent) as store:
            store.append([note(b"1")], f"s{number}")
    with opened(absent) as store, store.database.read() as connection:
        assert len(store.sessions()) == 2
        assert len(connection.execute(select(t.store)).all()) == 1


def test_a_database_without_the_schema_is_refused_with_the_command_that_makes_it(
    empty_database_url: str,
) -> None:
    assert refusal(empty_database_url).endswith("has no turnlog schema; run: turnlog db upgrade")
    create_schema(empty_database_url)
    open_database(make_url(empty_database_url), allow_unsafe=True).close()


def test_postgresql_is_never_created_on_the_way(new_database: NewDatabase) -> None:
    url = new_database("postgresql")
    migrate(url, "base")
    assert "run: turnlog db upgrade" in refusal(url, create=True)


def test_somebody_else_s_sqlite_database_is_not_written_to(absent: str) -> None:
    path = Path(make_url(absent).database or "")
    path.parent.mkdir(parents=True)
    run(absent, "CREATE TABLE notes (text TEXT)")
    assert "has no turnlog schema" in refusal(absent, create=True)
    engine = create_engine(absent, poolclass=NullPool)
    assert inspect(engine).get_table_names() == ["notes"]


def test_a_file_that_is_no_database_is_refused(absent: str) -> None:
    path = Path(make_url(absent).database or "")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"these are not the bytes of a database" * 200)
    before = path.read_bytes()
    assert refusal(absent, create=True).endswith("cannot be read as a database")
    assert path.read_bytes() == before


def test_a_database_that_cannot_be_reached_is_refused_without_its_password() -> None:
    said = refusal("postgresql://ann:secret@127.0.0.1:1/turnlog?connect_timeout=2")
    assert said == "the PostgreSQL database turnlog cannot be reached"


NEWEST = ScriptDirectory.from_config(migration_config()).get_current_head()
NEXT = """
from alembic import op

revision = "next"
down_revision = "{newest}"


def upgrade():
    op.execute("CREATE TABLE later (one INTEGER)")
"""


@pytest.fixture
def next_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this build be the next one, which has one migration more."""
    folder = tmp_path / "migrations"
    shutil.copytree(Path(migrations.__file__).parent, folder)
    (folder / "versions" / "next_later.py").write_text(NEXT.format(newest=NEWEST))
    monkeypatch.setattr(migrations, "__file__", str(folder / "__init__.py"))


def test_an_older_schema_is_refused_with_the_command_that_upgrades_it(
    database_url: str, request: pytest.FixtureRequest
) -> None:
    with opened(database_url) as store:
        kept = store.append([note(b"1")]).facts
    request.getfixturevalue("next_build")
    assert refusal(database_url).endswith(
        f"has schema {NEWEST}, this build serves next; run: turnlog db upgrade"
    )
    create_schema(database_url)
    with opened(database_url) as store:
        assert store.facts() == list(kept)


def test_a_newer_schema_is_refused_with_the_advice_to_upgrade_turnlog(database_url: str) -> None:
    run(database_url, "UPDATE alembic_version SET version_num = '9999'")
    said = refusal(database_url)
    assert "has schema 9999, newer than" in said
    assert said.endswith("upgrade turnlog")


@pytest.fixture
def unflushed(postgresql: PostgresqlDatabases) -> Iterator[str]:
    if postgresql.setting("fsync") == "on":
        pytest.fail("the test cluster flushes; nothing to refuse")
    url = postgresql.ready()
    yield url
    postgresql.drop(url)


def test_a_postgresql_that_does_not_flush_is_refused_unless_it_is_allowed(unflushed: str) -> None:
    said = refusal(unflushed, allow_unsafe=False)
    assert said.startswith("PostgreSQL's fsync is off: commits could be lost")
    assert "TURNLOG_ALLOW_UNSAFE_DURABILITY=true" in said
    open_database(make_url(unflushed), allow_unsafe=True).close()


@pytest.mark.usefixtures("fsync")
def test_a_postgresql_that_flushes_is_served(new_database: NewDatabase) -> None:
    open_database(make_url(new_database("postgresql"))).close()


@pytest.mark.usefixtures("fsync")
def test_a_postgresql_that_answers_before_it_flushes_is_refused(new_database: NewDatabase) -> None:
    url = new_database("postgresql")
    name = make_url(url).database
    run(url, f'ALTER DATABASE "{name}" SET synchronous_commit = off')
    assert refusal(url, allow_unsafe=False).startswith("PostgreSQL's synchronous_commit is off")


def test_sqlite_flushes_every_commit_to_its_write_ahead_log(new_database: NewDatabase) -> None:
    database = open_database(make_url(new_database("sqlite")))
    for transaction in (database.read, database.write):
        with transaction() as connection:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
    database.close()


def test_a_read_sees_one_moment_throughout(database_url: str) -> None:
    with opened(database_url) as store, store.database.read() as connection:
        events = select(t.events.c.version)
        assert connection.execute(events).all() == []
        store.append([note(b"1")])
        assert connection.execute(events).all() == []


def test_the_migrations_make_exactly_the_tables_that_the_program_declares(
    database_url: str,
) -> None:
    engine = create_engine(database_url, poolclass=NullPool)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, t.metadata) == []


def test_a_database_goes_down_to_nothing_and_up_again(database_url: str) -> None:
    migrate(database_url, "base")
    engine = create_engine(database_url, poolclass=NullPool)
    assert inspect(engine).get_table_names() == ["alembic_version"]
    create_schema(database_url)
    create_schema(database_url)
    with opened(database_url) as store:
        store.append([note(b"1")])
        assert [fact.version for fact in store.facts()] == [1, 2]


def test_without_settings_the_embedded_database_of_the_user_is_served() -> None:
    settings = load({})
    assert settings.embedded
    assert settings.database_url.database == str(default_database())
    assert default_database() == Path.home() / ".local/share/turnlog/turnlog.db"
    assert (settings.allow_unverified_turns, settings.allow_unsafe_durability) == (True, False)


def test_on_postgresql_turns_are_verified_unless_it_is_said_otherwise() -> None:
    given = {"TURNLOG_DATABASE_URL": "postgresql://ann:secret@db/turnlog"}
    settings = load(given)
    assert not settings.embedded
    assert (settings.allow_unverified_turns, settings.pool_size) == (False, 8)
    assert load(given | {"TURNLOG_ALLOW_UNVERIFIED_TURNS": " Yes "}).allow_unverified_turns


def test_settings_are_read_from_the_environment() -> None:
    settings = load(
        {
            "TURNLOG_DATABASE_URL": "sqlite:////srv/log.db",
            "TURNLOG_POSTGRES_POOL_SIZE": "20",
            "TURNLOG_ALLOW_UNSAFE_DURABILITY": "1",
            "TURNLOG_ALLOW_UNVERIFIED_TURNS": "off",
        }
    )
    assert settings.database_url.database == "/srv/log.db"
    assert (settings.pool_size, settings.allow_unsafe_durability) == (20, True)
    assert not settings.allow_unverified_turns


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TURNLOG_DATABASE_URL", "no url"),
        ("TURNLOG_DATABASE_URL", "mysql://db/turnlog"),
        ("TURNLOG_DATABASE_URL", "sqlite://"),
        ("TURNLOG_DATABASE_URL", "sqlite:///:memory:"),
        ("TURNLOG_POSTGRES_POOL_SIZE", "0"),
        ("TURNLOG_POSTGRES_POOL_SIZE", "101"),
        ("TURNLOG_POSTGRES_POOL_SIZE", "-1"),
        ("TURNLOG_POSTGRES_POOL_SIZE", "8.0"),
        ("TURNLOG_POSTGRES_POOL_SIZE", "\u0668"),
        ("TURNLOG_POSTGRES_POOL_SIZE", "9" * 5000),
        ("TURNLOG_ALLOW_UNVERIFIED_TURNS", "maybe"),
        ("TURNLOG_ALLOW_UNSAFE_DURABILITY", "2"),
    ],
)
def test_a_setting_that_means_nothing_is_refused_by_its_name(name: str, value: str) -> None:
    with pytest.raises(BadSetting, match=name):
        load({name: value})
