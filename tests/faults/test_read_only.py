"""What cannot be written to says so, and is read as far as the database can."""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import copyfile

import httpx
import pytest
from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError

from tests.api.batches import append, batch, event, events_of, problem
from tests.api.serving import PATIENCE_S, served
from tests.api.waiting import caught_up
from tests.conftest import NewDatabase
from tests.databases import PostgresqlDatabases
from tests.infrastructure.writing import note, opened

NOTE = event("data-recorded", kind="k", data=1)
OBEDIENT = """
import ctypes, os, sys
for capability in (1, 2):  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, which root has
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@contextmanager
def turnlog(path: Path, *arguments: str) -> Generator["subprocess.Popen[str]"]:
    """Run a command as a user who minds what files allow."""
    environment = {
        "HOME": str(path.parent.parent),
        "PATH": os.environ["PATH"],
        "TURNLOG_DATABASE_URL": f"sqlite:///{path}",
    }
    with subprocess.Popen(
        [sys.executable, "-c", OBEDIENT, "-m", "api.cli", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def written(new_database: NewDatabase, tmp_path: Path) -> Iterator[Path]:
    """An SQLite file in a directory of its own, with one session, that may be made read-only."""
    path = tmp_path / "place" / "turnlog.db"
    path.parent.mkdir()
    copyfile(str(make_url(new_database("sqlite")).database), path)
    with opened(f"sqlite:///{path}") as store:
        store.append([note(b"1")], "s")
    yield path
    path.parent.chmod(0o755)
    path.chmod(0o644)


def test_a_read_only_sqlite_file_is_read_and_refuses_appends(written: Path) -> None:
    written.chmod(0o444)
    with turnlog(written, "serve", "--port", "0", "--json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        url = json.loads(process.stdout.readline())["url"]
        base = f"{url}/v1/projects/default"
        with httpx.Client(base_url=base, timeout=PATIENCE_S, verify=False) as client:  # noqa: S501
            assert len(events_of(client, "s")) == 2
            refused = append(client, "s", batch(1, NOTE))
            assert problem(refused) == (503, "storage-read-only", [])
            assert refused.json()["action"] == "retry"
            assert len(events_of(client, "s")) == 2
        process.terminate()
        assert "can be read and not written to" in process.stderr.read()


@pytest.mark.parametrize("command", ["serve", "sessions", "doctor"])
def test_an_sqlite_file_in_a_read_only_directory_is_refused_and_named(
    written: Path, command: str
) -> None:
    written.parent.chmod(0o555)
    with turnlog(written, command) as process:
        out, errors = process.communicate(timeout=60)
    assert process.returncode == (1 if command == "doctor" else 2)
    said = out + errors
    assert f"the SQLite database {written} is read-only" in said
    assert "let turnlog write to the file and its directory" in said
    assert "Traceback" not in said


def test_a_database_that_cannot_be_made_in_a_read_only_directory_is_refused_and_named(
    tmp_path: Path,
) -> None:
    place = tmp_path / "place"
    place.mkdir(mode=0o555)
    with turnlog(place / "turnlog.db", "serve") as process:
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "cannot be made" in errors
    assert "Traceback" not in errors
    assert list(place.iterdir()) == []


def test_a_read_only_postgresql_is_read_refuses_appends_and_is_served_when_it_is_not_any_more(
    new_database: NewDatabase, postgresql: PostgresqlDatabases
) -> None:
    url = new_database("postgresql")
    name = make_url(url).database
    cut = f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{name}'"
    with served("postgresql", url) as server, server.client("p") as client:
        assert append(client, "s", batch(1, NOTE)).status_code == 201
        postgresql.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on', cut)
        refused = append(client, "s", batch(2, NOTE))
        assert problem(refused) == (503, "storage-read-only", [])
        assert (refused.json()["action"], refused.json()["retry_after_s"]) == ("retry", 10)
        assert len(events_of(client, "s")) == 2
        postgresql.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only', cut)
        assert append(client, "s", batch(2, NOTE)).status_code == 201
        with suppress(DBAPIError):  # what was used a moment ago is not asked whether it still works
            caught_up(server)
        caught_up(server)
    with served("postgresql", url) as server:
        assert not server.log.database.is_read_only()
    postgresql.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    with served("postgresql", url) as server, server.client("p") as client:
        assert server.log.database.is_read_only()
        assert len(events_of(client, "s")) == 3
