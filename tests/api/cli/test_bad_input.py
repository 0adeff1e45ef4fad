"""Does what cannot be done end in one sentence with a code, and never in a traceback?"""

import re
from pathlib import Path

import pytest

from api.cli.program import run

SENTENCE = re.compile(r"turnlog: .+ \(([a-z-]+)\)\n")


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("TURNLOG_DATABASE_URL", "TURNLOG_CONFIG"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        (["frobnicate"], "usage", 2),
        (["show"], "usage", 2),
        (["show", "../x"], "usage", 2),
        (["show", "s", "--at", "yesterday"], "usage", 2),
        (["show", "s", "--format", "yaml"], "usage", 2),
        (["show", "s", "--format", "openai", "--limit", "1"], "usage", 2),
        (["show", "s"], "no-such-session", 1),
        (["show", "s", "--project", "a b"], "usage", 2),
        (["tail", "s"], "no-such-session", 1),
        (["tail", "s", "--after", "-1"], "usage", 2),
        (["audit", "s"], "no-such-session", 1),
        (["audit", "s", "--format", "csv"], "no-such-session", 1),
        (["audit", "s", "--tool", "read my diary"], "usage", 2),
        (["audit", "s", "--type", "../x"], "usage", 2),
        (["audit", "s", "--since", "yesterday"], "usage", 2),
        (["audit", "s", "--actor", ""], "usage", 2),
        (["audit", "s", "--effect", "some"], "usage", 2),
        (["verify"], "usage", 2),
        (["verify", "s", "--all"], "usage", 2),
        (["verify", "s"], "no-such-session", 1),
        (["verify", "s", "--receipt", "4:beef"], "usage", 2),
        (["rebuild", "s"], "no-such-session", 1),
        (["export", "s"], "no-such-session", 1),
        (["import"], "usage", 2),
        (["import", "/absent/file.jsonl"], "no-such-file", 2),
        (["import", "."], "nothing-to-import", 1),
        (["serve", "--host", "0.0.0.0"], "not-loopback", 2),  # noqa: S104 - refused
        (["serve", "--host", "192.0.2.1"], "not-loopback", 2),
        (["serve", "--host", "::"], "not-loopback", 2),
        (["serve", "--host", "example.org"], "usage", 2),
        (["serve", "--port", "99999"], "usage", 2),
        (["sessions", "--url", "localhost:8765"], "usage", 2),
        (["sessions", "--url", "http://127.0.0.1:1"], "server-unreachable", 2),
        (["sessions", "--url", "file:///etc/passwd"], "usage", 2),
        (["export", "s", "--url", "http://127.0.0.1:1"], "server-unreachable", 2),
        (["tail", "s", "--url", "http://127.0.0.1:1"], "server-unreachable", 2),
    ],
)
def test_a_command_that_cannot_be_done_says_why(
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: str,
    exit_code: int,
) -> None:
    monkeypatch.chdir(tmp_path)

    found = run(arguments)

    out, errors = capfd.readouterr()
    told = SENTENCE.fullmatch(errors)
    assert told is not None, errors
    assert (found, told[1], out) == (exit_code, code, "")


@pytest.mark.parametrize(
    ("setting", "value", "code"),
    [
        ("TURNLOG_DATABASE_URL", "nonsense", "bad-setting"),
        ("TURNLOG_DATABASE_URL", "sqlite:////proc/absent/turnlog.db", "unfit-database"),
        ("TURNLOG_DATABASE_URL", "sqlite:////proc/turnlog.db", "unfit-database"),
        ("TURNLOG_DATABASE_URL", "sqlite:////proc", "unfit-database"),
        ("TURNLOG_DATABASE_URL", "sqlite:///{home}/no-database", "unfit-database"),
        ("TURNLOG_DATABASE_URL", "sqlite:///{home}/no-database/x.db", "unfit-database"),
        ("TURNLOG_DATABASE_URL", "postgresql://u:hunter2@127.0.0.1:1/d", "unfit-database"),
        ("TURNLOG_CONFIG", "{home}/no-database", "bad-setting"),
        ("TURNLOG_CONFIG", "{home}/absent.toml", "bad-setting"),
    ],
)
def test_a_database_that_is_none_is_named_without_its_password(
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    setting: str,
    value: str,
    code: str,
) -> None:
    (tmp_path / "no-database").write_bytes(b"these bytes are no database at all" * 100)
    monkeypatch.setenv(setting, value.format(home=tmp_path))

    found = [run(["sessions"]), run(["serve", "--port", "0"])]

    errors = capfd.readouterr().err
    assert found == [2, 2]
    assert re.findall(SENTENCE, errors) == [code, code]
    assert "hunter2" not in errors
    assert (tmp_path / "no-database").stat().st_size == 3_400


def test_a_database_without_a_schema_is_refused_with_what_mends_it(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    postgresql_without_schema: str,
) -> None:
    monkeypatch.setenv("TURNLOG_DATABASE_URL", postgresql_without_schema)
    monkeypatch.setenv("TURNLOG_ALLOW_UNSAFE_DURABILITY", "true")

    assert run(["sessions"]) == 2
    assert "turnlog db upgrade (unfit-database)" in capfd.readouterr().err
    assert run(["doctor"]) == 1
    assert "UNFIT: " in capfd.readouterr().out
    assert [run(["db", "upgrade"]), run(["db", "upgrade"]), run(["sessions"])] == [0, 0, 0]


def test_an_output_that_cannot_be_written_is_told(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run(["demo", "--no-serve"])
    session = "5f0d8a3e-6c1b-4a57-9b0e-2d41c7f8a960"
    capfd.readouterr()

    found = [
        run(["export", session, "-o", "/proc/export.jsonl"]),
        run(["export", session, "-o", str(tmp_path)]),
        run(["export", session, "-o", str(tmp_path / "absent" / "x.jsonl")]),
    ]

    assert found == [1, 1, 1]
    assert re.findall(SENTENCE, capfd.readouterr().err) == ["io-error"] * 3


def test_without_arguments_there_is_help(capfd: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    assert "import" in capfd.readouterr().out
