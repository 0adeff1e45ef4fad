"""`audit`: who did what in a session, on the database and through a server."""

import csv
from io import StringIO
from pathlib import Path

import pytest

from domain.commands import Rewind
from tests.api.cli.command import Turnlog, on_sqlite
from tests.api.serving import served
from tests.databases import DatabaseKind
from tests.infrastructure.families import asked
from tests.infrastructure.reading.asking import long_session
from tests.infrastructure.writing import opened


@pytest.fixture
def written(database_url: str, tmp_path: Path) -> Turnlog:
    with opened(database_url) as store:
        long_session(store, 2)
    return Turnlog(home=tmp_path, database_url=database_url)


def test_an_audit_is_written_line_by_line(written: Turnlog) -> None:
    lines = written.well("audit", "s1").text.splitlines()

    assert len(lines) == 21
    assert " ".join(lines[1].split()) == (
        "2 2026-01-01T00:00:01Z p1 turn-started a turn began with 1 message [history]"
    )
    assert lines[7].endswith("gate g-s1-t1 was approved by person, in-band  [tool rm]  [history]")
    assert lines[10].endswith("the turn completed")


@on_sqlite
def test_what_was_rewound_says_so(written: Turnlog, database_url: str) -> None:
    with opened(database_url) as store:
        asked(store, "s1", Rewind(turns=1))
    lines = written.well("audit", "s1", "--turn", "t2").text.splitlines()

    assert all(line.endswith("[rewound by 22]") for line in lines[:-1])
    assert "1 turn and 4 messages went out of sight, from version 12 on" in lines[-1]
    assert lines[-1].endswith("[history]")


@on_sqlite
def test_an_audit_is_written_for_programs(written: Turnlog) -> None:
    documents = written.well("audit", "s1", "--json").documents
    table = written.well("audit", "s1", "--format", "csv").out.decode()

    assert [line["version"] for line in documents] == list(range(1, 22))
    assert written.well("audit", "s1", "--format", "json").document == documents
    rows = [*csv.DictReader(StringIO(table, newline=""))]
    assert [row["hash"] for row in rows] == [line["hash"] for line in documents]


@on_sqlite
def test_an_audit_is_filtered(written: Turnlog) -> None:
    def versions(*arguments: str) -> list[int]:
        documents = written.well("audit", "s1", "--json", *arguments).documents
        return [line["version"] for line in documents]

    assert versions("--tool", "ls", "--since", "2026-01-01T00:00:02Z") == [17]
    assert versions("--type", "turn-started,turn-completed", "--type", "gate-decided") == [
        *(2, 8, 11, 12),
        *(18, 21),
    ]
    assert versions("--turn", "t1", "--effect", "none") == [11]
    assert versions("--until", "2026-01-01T00:00:02Z", "--at", "4") == [1, 2, 3, 4]
    assert versions("--actor", "nobody") == []


@on_sqlite
def test_nothing_found_is_told_in_every_form(written: Turnlog) -> None:
    def found(form: str) -> str:
        return written.well("audit", "s1", "--actor", "nobody", "--format", form).text

    assert (found("text"), found("json")) == ("nothing of that was recorded\n", "[]\n")
    [header] = found("csv").splitlines()
    assert header.startswith("version,at,actor,")


@on_sqlite
def test_what_is_not_there_is_told_before_anything_is_written(written: Turnlog) -> None:
    failed = written.run("audit", "nowhere", "--format", "csv")
    assert (failed.code, failed.out, "(no-such-session)" in failed.errors) == (1, b"", True)
    failed = written.run("audit", "s1", "--at", "99", "--format", "json")
    assert (failed.code, failed.out, "(no-such-event)" in failed.errors) == (1, b"", True)


@on_sqlite
def test_a_server_tells_the_same(
    written: Turnlog, database_kind: DatabaseKind, tmp_path: Path
) -> None:
    assert written.database_url is not None
    told = [written.well("audit", "s1", "--format", form).out for form in ("text", "csv")]
    with served(database_kind, written.database_url) as running:
        asking = Turnlog(home=tmp_path)

        def told_by_server(*arguments: str) -> bytes:
            return asking.well("audit", "s1", "--url", running.url, *arguments).out

        assert [told_by_server("--format", form) for form in ("text", "csv")] == told
        query = ("--tool", "rm", "--type", "gate-opened", "--since", "2026-01-01T01:00:02+01:00")
        assert told_by_server("--json", *query) == written.well("audit", "s1", "--json", *query).out
        failed = asking.run("audit", "nowhere", "--url", running.url, "--format", "csv")
        assert (failed.code, failed.out) == (1, b"")
