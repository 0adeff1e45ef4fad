"""Processes that start on an empty database at the same moment all serve one and the same."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import select

from infrastructure import tables as t
from infrastructure.verification import verify_all
from tests.databases import DatabaseKind, Databases
from tests.infrastructure.writing import opened

PROCESSES = 4
ROUNDS = {"sqlite": 8, "postgresql": 3}


@pytest.fixture(scope="module")
def processes() -> Iterator[list["subprocess.Popen[str]"]]:
    """Processes that start a turnlog whenever they are told to."""
    with ExitStack() as stack:
        started = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "tests.faults.starting_process"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for _ in range(PROCESSES)
        ]
        assert [said(each) for each in started] == ["ready"] * PROCESSES
        yield started


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def start_together(processes: list["subprocess.Popen[str]"], url: str, signal: Path) -> list[str]:
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(f"{url}\t{signal}\n")
        process.stdin.flush()
    signal.touch()
    return [said(process) for process in processes]


def test_processes_that_start_at_once_on_an_empty_database_make_one(
    processes: list["subprocess.Popen[str]"],
    database_kind: DatabaseKind,
    databases: Databases,
    tmp_path: Path,
) -> None:
    for number in range(ROUNDS[database_kind]):
        url = databases.empty()
        if database_kind == "sqlite" and number % 2:
            Path(url.removeprefix("sqlite:///")).touch()  # as after a start that was killed
        answers = start_together(processes, url, tmp_path / f"go{number}")
        assert answers == ["started"] * PROCESSES
        with opened(url) as store:
            with store.database.read() as connection:
                assert len(connection.execute(select(t.store)).all()) == 1
            assert len(store.sessions()) == PROCESSES
            assert all(each.ok for each in verify_all(store.database))
        databases.drop(url)
