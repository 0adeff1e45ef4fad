"""Where do settings come from, and which are refused?"""

from pathlib import Path

import pytest

from infrastructure.settings import MEANINGS, BadSetting, load, unknown_variables


def test_without_anything_said_the_log_is_a_file_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    settings = load({})

    assert settings.database_url.database == f"{tmp_path}/.local/share/turnlog/turnlog.db"
    assert settings.embedded
    assert settings.allow_unverified_turns
    assert set(settings.sources.values()) == {"default"}


def test_a_home_with_odd_characters_is_one_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", f"{tmp_path}/a?b%20#c")

    found = load({}).database_url.database

    assert found == f"{tmp_path}/a?b%20#c/.local/share/turnlog/turnlog.db"


def test_postgresql_asks_for_verified_turns_unless_told_otherwise() -> None:
    url = "postgresql://host/db"

    assert not load({"TURNLOG_DATABASE_URL": url}).allow_unverified_turns
    assert load(
        {"TURNLOG_DATABASE_URL": url, "TURNLOG_ALLOW_UNVERIFIED_TURNS": "yes"}
    ).allow_unverified_turns


def test_the_environment_wins_over_the_file_and_each_setting_says_its_source(
    tmp_path: Path,
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('database_url = "sqlite:////in/file.db"\npostgres_pool_size = 3\n')

    settings = load({"TURNLOG_CONFIG": str(file), "TURNLOG_POSTGRES_POOL_SIZE": "5"})

    assert settings.database_url.database == "/in/file.db"
    assert settings.pool_size == 5
    assert settings.sources == {
        "database_url": str(file),
        "allow_unverified_turns": "default",
        "require_agreement": "default",
        "postgres_pool_size": "TURNLOG_POSTGRES_POOL_SIZE",
        "allow_unsafe_durability": "default",
        "search": "default",
        "default_harness": "default",
        "gate_ttl_s": "default",
        "approval_mode": "default",
        "spawning_tools": "default",
        "state_dir": "default",
        "harness_start_timeout_s": "default",
        "harness_first_output_timeout_s": "default",
        "harness_idle_timeout_s": "default",
        "harness_total_timeout_s": "default",
        "harness_lease_s": "default",
        "compaction_prompt": "default",
        "delete_wait_s": "default",
        "deleted_keep_days": "default",
        "shutdown_grace_s": "default",
        "recovery_wait_s": "default",
        "auto_resume": "default",
        "auto_resume_fresh_s": "default",
        "pool_enabled": "default",
        "pool_idle_ttl_s": "default",
        "pool_approval_ttl_s": "default",
        "pool_capacity": "default",
        "pool_wait_s": "default",
        "pool_memory_budget": "default",
        "pool_pressure_protect_recent": "default",
        "pool_pressure_batch": "default",
        "pool_pressure_every_s": "default",
        "pool_shutdown_s": "default",
    }


def test_the_file_in_the_home_is_read_for_the_process_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ".config" / "turnlog"
    folder.mkdir(parents=True)
    (folder / "settings.toml").write_text("allow_unsafe_durability = true\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("TURNLOG_ALLOW_UNSAFE_DURABILITY", raising=False)
    monkeypatch.delenv("TURNLOG_CONFIG", raising=False)

    assert load().allow_unsafe_durability


@pytest.mark.parametrize(
    ("environment", "complaint"),
    [
        ({"TURNLOG_DATABASE_URL": "nonsense"}, "TURNLOG_DATABASE_URL is no database URL"),
        ({"TURNLOG_DATABASE_URL": "mysql://h/d"}, "neither sqlite nor postgresql"),
        ({"TURNLOG_DATABASE_URL": "postgresql+asyncpg://h/d"}, "neither sqlite nor postgresql"),
        ({"TURNLOG_DATABASE_URL": "sqlite://"}, "names no file"),
        ({"TURNLOG_DATABASE_URL": "sqlite:///:memory:"}, "names no file"),
        ({"TURNLOG_DATABASE_URL": "sqlite:///file:x?mode=memory&uri=true"}, "as a URI"),
        ({"TURNLOG_POSTGRES_POOL_SIZE": "0"}, "no whole number between 1 and 100"),
        ({"TURNLOG_POSTGRES_POOL_SIZE": "0008123"}, "no whole number between 1 and 100"),
        ({"TURNLOG_POSTGRES_POOL_SIZE": "٣"}, "no whole number between 1 and 100"),
        ({"TURNLOG_ALLOW_UNVERIFIED_TURNS": "maybe"}, "TURNLOG_ALLOW_UNVERIFIED_TURNS is none of"),
        ({"TURNLOG_CONFIG": "/absent/settings.toml"}, "/absent/settings.toml cannot be read"),
    ],
)
def test_a_value_that_means_nothing_is_refused_by_name(
    environment: dict[str, str], complaint: str
) -> None:
    with pytest.raises(BadSetting, match=complaint):
        load(environment)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"database_url = ", "is no TOML"),
        (b'database_url = "\xff"', "is no TOML"),
        (b'databse_url = "sqlite:////x.db"', "no setting: 'databse_url'"),
        (b"database_url = []", "database_url in .* is neither text"),
        (b"postgres_pool_size = 1.5", "postgres_pool_size in .* is neither text"),
        (b"postgres_pool_size = true", "postgres_pool_size in .* is no whole number"),
    ],
)
def test_a_file_that_means_nothing_is_refused_with_its_path(
    tmp_path: Path, text: bytes, complaint: str
) -> None:
    file = tmp_path / "settings.toml"
    file.write_bytes(text)

    with pytest.raises(BadSetting, match=complaint):
        load({"TURNLOG_CONFIG": str(file)})


def test_what_people_are_shown_holds_no_password() -> None:
    url = "postgresql://me:hunter2@host/db?password=hunter3"

    shown = load({"TURNLOG_DATABASE_URL": url}).shown()

    assert shown["database_url"] == "postgresql://me:***@host/db"


def test_a_variable_that_is_no_setting_is_named() -> None:
    environment = {"TURNLOG_DATABASE_URI": "x", "TURNLOG_DATABASE_URL": "y", "PATH": "z"}

    assert unknown_variables(environment) == ["TURNLOG_DATABASE_URI"]


def test_each_setting_is_shown_with_what_it_means() -> None:
    settings = load({"TURNLOG_DATABASE_URL": "sqlite:////in/log.db"})

    assert settings.shown().keys() == settings.sources.keys() == MEANINGS.keys()


def test_a_file_defines_harnesses_and_the_demo_is_there_besides(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(
        'default_harness = "coder"\nharness_idle_timeout_s = 5\n'
        '[harnesses.coder]\ncommand = ["coder", "--acp"]\n'
    )

    settings = load({"TURNLOG_CONFIG": str(file)})

    assert settings.default_harness == "coder"
    assert settings.harnesses.keys() == {"demo", "coder"}
    assert settings.harnesses["coder"].timeouts.idle_s == 5
    assert settings.harness_timeouts.idle_s == 5


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("harnesses = 3\n", "harnesses is no table of tables, in "),
        ("[harnesses.x]\n", "harnesses.x.command is missing"),
        ('default_harness = "y"\n', "names no harness that is defined"),
        ('state_dir = "here"\n', "is no absolute path"),
    ],
)
def test_a_harness_that_means_nothing_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(text)

    with pytest.raises(BadSetting, match=complaint):
        load({"TURNLOG_CONFIG": str(file)})


@pytest.mark.parametrize("given", ["0", "3601", "1.5", "-1", "soon"])
def test_a_timeout_out_of_its_range_is_refused(given: str) -> None:
    with pytest.raises(BadSetting, match="no whole number between 1 and 3600"):
        load({"TURNLOG_HARNESS_START_TIMEOUT_S": given})


def test_state_is_kept_beside_the_embedded_database_or_where_the_user_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/of/user")
    embedded = {"TURNLOG_DATABASE_URL": "sqlite:////in/log.db"}
    server = {"TURNLOG_DATABASE_URL": "postgresql://host/db"}

    assert load(embedded).state_folder() == Path("/in/log.db.state")
    assert load(server).state_folder() == Path("/of/user/turnlog")
    assert load(server | {"TURNLOG_STATE_DIR": "/here"}).state_folder() == Path("/here")


def test_a_deleted_session_is_kept_for_so_many_days_or_for_ever() -> None:
    def kept(days: str) -> int | None:
        return load({"TURNLOG_DELETED_KEEP_DAYS": days}).deleted_keep_days

    assert [kept(days) for days in ("", "0", "7", "off")] == [30, 0, 7, None]
    for none in ("-1", "1.5", "never"):
        with pytest.raises(BadSetting, match="TURNLOG_DELETED_KEEP_DAYS"):
            kept(none)


def test_tools_that_begin_subagents_are_named_in_any_case() -> None:
    url = {"TURNLOG_DATABASE_URL": "sqlite:////x.db"}
    assert "task" in load(url).spawning_tools
    named = load({**url, "TURNLOG_SPAWNING_TOOLS": "Delegate, task ,"})
    assert named.spawning_tools == {"delegate", "task"}
    assert named.shown()["spawning_tools"] == "delegate,task"


def test_the_approval_mode_is_one_of_four() -> None:
    given = {"TURNLOG_DATABASE_URL": "sqlite:////var/t.db"}

    assert load(given).approval_mode == "always-ask"
    assert load({**given, "TURNLOG_APPROVAL_MODE": "read-only"}).approval_mode == "read-only"
    with pytest.raises(BadSetting, match="TURNLOG_APPROVAL_MODE is none of allow-all, deny-all"):
        load({**given, "TURNLOG_APPROVAL_MODE": "ask"})
