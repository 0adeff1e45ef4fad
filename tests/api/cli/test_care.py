"""Do doctor, verify and rebuild tell what is there, and what is not as it should be?"""

from dataclasses import replace
from pathlib import Path

from sqlalchemy import create_engine, make_url, text
from sqlalchemy.pool import NullPool

from tests.api.cli.command import Turnlog, on_sqlite
from tests.api.cli.transcripts import SESSION, sample


def change(turnlog: Turnlog, statement: str) -> None:
    """Change the views behind the program's back."""
    assert turnlog.database_url is not None
    engine = create_engine(make_url(turnlog.database_url), poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text(statement))


def test_views_that_differ_are_told_and_rebuilt(on_each: Turnlog, tmp_path: Path) -> None:
    on_each.well("import", sample(tmp_path))
    change(on_each, "DELETE FROM messages WHERE role = 'tool'")

    checked = on_each.run("rebuild", "--all", "--check", "--json")
    rebuilt = on_each.run("rebuild", SESSION)
    again = on_each.well("rebuild", "--all").text

    difference = {"session_id": SESSION, "table": "messages", "extra": 0, "changed": 0}
    assert checked.code == 1
    assert checked.document["differences"] == [difference | {"missing": 5}]
    assert rebuilt.code == 1
    assert rebuilt.text.splitlines() == [
        f"{SESSION}: messages differed, 5 missing",
        "0 of 1 sessions had views equal to their log; the others were rebuilt",
    ]
    assert again == "1 of 1 sessions had views equal to their log\n"


@on_sqlite
def test_a_session_that_lost_its_head_is_verified_with_the_others(
    on_each: Turnlog, tmp_path: Path
) -> None:
    on_each.well("import", sample(tmp_path))
    change(on_each, "DELETE FROM heads")

    outcome = on_each.run("verify", "--all")

    assert outcome.code == 1
    assert outcome.text.splitlines() == [
        f"{SESSION}: DAMAGED, missing-head at version 34",
        "sessions verified: 1, damaged: 1",
    ]


def test_a_receipt_of_before_is_held_against_the_log(turnlog: Turnlog, tmp_path: Path) -> None:
    turnlog.well("import", sample(tmp_path))

    told = turnlog.well("verify", SESSION).text.splitlines()
    receipt = told[1].removeprefix("receipt: ")
    good = turnlog.well("verify", SESSION, "--receipt", receipt)
    bad = turnlog.run("verify", SESSION, "--receipt", f"99:{'ab' * 32}")

    assert told[0] == f"{SESSION}: 34 events, each as it was written"
    assert good.text.splitlines() == told
    assert bad.code == 1
    assert bad.text == f"{SESSION}: DAMAGED, receipt-ahead at version 99\n"


def test_the_doctor_tells_settings_with_their_source_and_the_database(
    on_each: Turnlog, tmp_path: Path
) -> None:
    on_each.well("import", sample(tmp_path))

    found = on_each.well("doctor", "--json").document

    settings = {setting["name"]: setting["source"] for setting in found["settings"]}
    assert settings["database_url"] == "TURNLOG_DATABASE_URL"
    assert settings["postgres_pool_size"] == "default"
    assert (found["ok"], found["database"]["sessions"], found["database"]["events"]) == (
        True,
        1,
        34,
    )
    assert found["database"]["size_bytes"] > 0
    assert {"python", "sqlite", "sqlalchemy"} <= found["versions"].keys()
    assert found["memory"].keys() == {"budget_mb", "used_mb"}


def test_the_doctor_makes_no_database(newcomer: Turnlog, tmp_path: Path) -> None:
    more = {"TURNLOG_POOL_MEMORY_BUDGET": "plenty", "TURNLOG_POOL_PRESSURE_BATCH": "3"}

    found = replace(newcomer, more=more).well("doctor").text

    assert "note: TURNLOG_POOL_MEMORY_BUDGET says nothing known: auto holds" in found
    assert "TURNLOG_POOL_PRESSURE_BATCH says" not in found
    assert "is not there yet; the first command makes it" in found
    assert not (tmp_path / ".local").exists()


def test_a_database_that_does_not_flush_is_unfit(tmp_path: Path, database_url: str) -> None:
    turnlog = Turnlog(
        home=tmp_path,
        database_url=database_url,
        more={"TURNLOG_ALLOW_UNSAFE_DURABILITY": "false", "TURNLOG_DATABASE_URI": "x"},
    )

    found = turnlog.run("doctor", "--json")

    unsafe = database_url.startswith("postgresql")  # as tests run it
    assert found.code == int(unsafe)
    assert found.document["warnings"] == ["TURNLOG_DATABASE_URI is no setting of turnlog"]
    assert ["fsync is off" in problem for problem in found.document["problems"]] == (
        [True] if unsafe else []
    )


def test_the_schema_is_upgraded_as_often_as_one_likes(newcomer: Turnlog) -> None:
    first = newcomer.well("db", "upgrade", "--json").document
    second = newcomer.well("db", "upgrade", "--json").document

    assert first == second
    assert first["schema"]


def test_a_schema_of_a_later_build_is_left_alone(newcomer: Turnlog, tmp_path: Path) -> None:
    newcomer.well("db", "upgrade")
    file = tmp_path / ".local" / "share" / "turnlog" / "turnlog.db"
    later = Turnlog(home=tmp_path, database_url=f"sqlite:///{file}")
    change(later, "UPDATE alembic_version SET version_num = '9999'")

    upgraded, listed = newcomer.run("db", "upgrade"), newcomer.run("sessions")

    assert (upgraded.code, listed.code) == (2, 2)
    assert "upgrade turnlog (unfit-database)" in upgraded.errors
    assert "upgrade turnlog (unfit-database)" in listed.errors


def test_help_and_version_come_without_the_heavy_libraries(newcomer: Turnlog) -> None:
    watched = Turnlog(home=newcomer.home, more={"PYTHONPROFILEIMPORTTIME": "1"})

    for command in ("--help", "version"):
        imported = watched.run(command).errors
        assert "typer" in imported
        assert "sqlalchemy" not in imported
        assert "fastapi" not in imported
