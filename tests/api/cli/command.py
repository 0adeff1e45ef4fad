"""How do tests use the command line? As a user: the installed module, in a process of its own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pytest

from tests.api.cli.prepared import Piped, Prepared, prepared

PATIENCE_S = 60.0

# What a command says is the same on each database: one plain case of it is tested on both.
on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"])

_SAME = {"PATH": os.environ["PATH"], "COLUMNS": "100", "PYTHONWARNINGS": "error"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command wrote, and how it ended."""

    code: int
    out: bytes
    errors: str

    @property
    def text(self) -> str:
        """Return what it wrote to standard output."""
        return self.out.decode()

    @property
    def document(self) -> Any:  # noqa: ANN401 - any JSON
        """Return the one JSON document that it wrote."""
        return json.loads(self.out)

    @property
    def documents(self) -> list[Any]:
        """Return the JSON documents that it wrote, one on each line."""
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turnlog:
    """The command line of a user with a home of their own, and perhaps another database.

    A project is said with every command if there is one: a database that others use too needs it.
    """

    home: Path
    database_url: str | None = None
    project: str | None = None
    more: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def environment(self) -> dict[str, str]:
        """Return what the command finds in its environment."""
        given = {**_SAME, "HOME": str(self.home), "TURNLOG_ALLOW_UNSAFE_DURABILITY": "true"}
        if self.database_url is not None:
            given["TURNLOG_DATABASE_URL"] = self.database_url
        return given | dict(self.more)

    def said(self, *arguments: str | Path) -> list[str]:
        """Return what the command is given."""
        project = () if self.project is None else ("--project", self.project)
        return [*map(str, arguments), *project]

    def run(self, *arguments: str | Path) -> Outcome:
        """Run a command to its end."""
        if any(name.startswith("PYTHON") for name in self.more):  # it is for Python's own start
            done = subprocess.run(
                [sys.executable, "-m", "api.cli", *self.said(*arguments)],
                env=self.environment,
                cwd=self.home,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=PATIENCE_S,
                check=False,
            )
            return Outcome(done.returncode, done.stdout, done.stderr.decode())
        with self.running(*arguments) as running:
            try:
                return running.to_the_end()
            except TimeoutError:
                raise AssertionError(f"it does not end: {arguments}") from None

    def well(self, *arguments: str | Path) -> Outcome:
        """Run a command that has nothing to complain about."""
        outcome = self.run(*arguments)
        assert (outcome.code, outcome.errors) == (0, ""), outcome
        return outcome

    @contextmanager
    def running(self, *arguments: str | Path) -> Generator["Running"]:
        """Give a command that runs on; it is ended if the test does not do so."""
        process = loaded().start(self.said(*arguments), self.environment, self.home)
        try:
            yield Running(process)
        finally:
            process.end()


def loaded() -> Prepared:
    """Return the process that has loaded what commands need."""
    return prepared(*_SAME.items())


@dataclass(frozen=True, slots=True)
class Running:
    """A command that has not ended."""

    process: Piped

    @property
    def out(self) -> IO[bytes]:
        """Return its standard output."""
        return self.process.stdout

    def document(self) -> Any:  # noqa: ANN401 - any JSON
        """Return the next line that it writes, a JSON document; waits for it."""
        line = self.out.readline()
        if not line:
            _, errors = self.process.communicate(timeout=PATIENCE_S)
            message = f"it ended: {errors.decode()}"
            raise AssertionError(message)
        return json.loads(line)

    def end(self, number: signal.Signals) -> Outcome:
        """Send a signal, and wait for the end."""
        self.process.send_signal(number)
        return self.to_the_end()

    def to_the_end(self) -> Outcome:
        """Wait for the end."""
        out, errors = self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode is not None
        return Outcome(self.process.returncode, out, errors.decode())
