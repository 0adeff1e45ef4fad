"""`turnlog doctor`: how is this installation set up, and is it fit?

It changes nothing: an embedded database that is absent is reported as such, and not made.
"""

import os
import platform
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import SQLAlchemyError

from api.async_views import lag_shape
from api.cli.failures import DONE, NOT_SO
from api.cli.output import say, write
from api.cli.saying import said_by_database
from api.cli.stored_views import broken
from api.cli.terminal_text import one_line
from domain.pressure import MIB
from domain.raw_json import dumped
from domain.times import rfc3339
from infrastructure import clock
from infrastructure import tables as t
from infrastructure.connecting import FLUSHING, UnfitDatabase
from infrastructure.database import (
    Database,
    open_database,
    schema_versions,
    shown,
)
from infrastructure.followers import tracking
from infrastructure.harness.memory import MachineMemory
from infrastructure.hosting.relieving import measured
from infrastructure.reading.search import IndexBrokenError, SearchQuery, search
from infrastructure.settings import MEANINGS, BadSetting, Settings, load, unknown_variables
from projections.search import terms

LIBRARIES: Final = (
    "sqlalchemy",
    "alembic",
    "eventsourcing",
    "psycopg",
    "pydantic",
    "fastapi",
    "uvicorn",
    "prometheus-client",
    "typer",
    "rich",
)

Facts = dict[str, object]


@dataclass(slots=True, kw_only=True)
class _Findings:
    """What was found: `problems` are what makes the installation unfit."""

    versions: Mapping[str, str]
    settings: Sequence[Mapping[str, str]] = ()
    memory: Facts = field(default_factory=Facts)
    database: Facts = field(default_factory=Facts)
    warnings: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])


def examine(*, as_json: bool) -> int:
    """Examine everything and report; return the exit code."""
    found = _Findings(versions=_versions())
    found.warnings += [f"{name} is no setting of turnlog" for name in unknown_variables(os.environ)]
    try:
        settings = load()
    except BadSetting as error:
        found.problems.append(str(error))
    else:
        found.settings = _settings(settings)
        found.warnings += settings.passed_over
        found.memory = _memory(settings)
        _examine_database(settings, found)
    if as_json:
        write(dumped(_shape(found)) + b"\n")
    else:
        _tell(found)
    return NOT_SO if found.problems else DONE


def _versions() -> dict[str, str]:
    return {
        "turnlog": version("turnlog"),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    } | {name: version(name) for name in LIBRARIES}


def _settings(settings: Settings) -> list[Mapping[str, str]]:
    values = settings.shown()
    return [
        {
            "name": name,
            "value": values[name],
            "source": settings.sources[name],
            "meaning": meaning,
        }
        for name, meaning in MEANINGS.items()
    ]


def _memory(settings: Settings) -> Facts:
    """Return above how many MiB in use a server here would let harnesses go, and how many are."""
    budget, used = measured(MachineMemory(), settings.pool.memory_budget)
    return {
        "budget_mb": None if budget is None else budget // MIB,
        "used_mb": None if used is None else used // MIB,
    }


def _examine_database(settings: Settings, found: _Findings) -> None:
    url = settings.database_url
    found.database |= {"name": shown(url), "kind": url.get_backend_name()}
    if settings.embedded and not Path(url.database or "").exists():
        found.warnings.append(f"{shown(url)} is not there yet; the first command makes it")
        return
    try:
        database = open_database(url, pool_size=1, allow_unsafe=settings.allow_unsafe_durability)
    except UnfitDatabase as error:
        found.problems.append(str(error))
        return
    except SQLAlchemyError as error:
        found.problems.append(f"{shown(url)}: {said_by_database(error)}")
        return
    try:
        with database.read() as connection:
            found.database |= _facts(database, connection)
        if settings.search and not _can_search(database):
            found.problems.append(broken().sentence)
        if database.is_read_only():
            found.problems.append(f"{shown(url)} can be read and not written to")
    except SQLAlchemyError as error:
        found.problems.append(f"{shown(url)}: {said_by_database(error)}")
    finally:
        database.close()
    if settings.allow_unsafe_durability:
        found.warnings.append("commits that are not flushed are accepted: they could be lost")


def _can_search(database: Database) -> bool:
    query = SearchQuery(project_id="default", terms=terms("turnlog"), limit=1)
    try:
        with database.read() as connection:
            search(connection, query)
    except IndexBrokenError:
        return False
    return True


def _facts(database: Database, connection: Connection) -> Facts:
    schema, _ = schema_versions(connection)
    store = connection.execute(select(t.store)).one()
    counts = {
        name: connection.execute(select(func.count()).select_from(table)).scalar_one()
        for name, table in (("sessions", t.heads), ("lanes", t.lanes), ("events", t.events))
    }
    return {
        "schema": schema,
        "store_id": store.store_id,
        "incarnation": store.incarnation,
        "created_at": rfc3339(store.created_at),
        **counts,
        "views": {
            name: lag_shape(tracking.lag(connection, name, clock.now()))
            for name in ("usage", "errors", "search")
        },
        **(_of_sqlite if database.kind == "sqlite" else _of_postgresql)(database, connection),
    }


def _of_sqlite(database: Database, connection: Connection) -> Facts:
    path = str(database.url.database)
    levels = ("OFF", "NORMAL", "FULL", "EXTRA")
    return {
        "size_bytes": sum(
            Path(f"{path}{end}").stat().st_size
            for end in ("", "-wal")
            if Path(f"{path}{end}").exists()
        ),
        "durability": {
            "journal_mode": connection.exec_driver_sql("PRAGMA journal_mode").scalar_one(),
            "synchronous": levels[
                int(connection.exec_driver_sql("PRAGMA synchronous").scalar_one())
            ],
        },
    }


def _of_postgresql(_: Database, connection: Connection) -> Facts:
    size = "SELECT pg_database_size(current_database())"
    return {
        "server": connection.exec_driver_sql("SHOW server_version").scalar_one(),
        "size_bytes": connection.exec_driver_sql(size).scalar_one(),
        "durability": {
            name: connection.exec_driver_sql(f"SHOW {name}").scalar_one() for name in FLUSHING
        },
    }


def _shape(found: _Findings) -> Facts:
    return {
        "ok": not found.problems,
        "problems": found.problems,
        "warnings": found.warnings,
        "settings": found.settings,
        "memory": found.memory,
        "database": found.database,
        "versions": found.versions,
    }


def _tell(found: _Findings) -> None:
    say("settings")
    for setting in found.settings:
        say(one_line(f"  {setting['name']} = {setting['value']}  ({setting['source']})"))
        say(f"      {setting['meaning']}")
    if found.memory:
        budget, used = (found.memory[name] for name in ("budget_mb", "used_mb"))
        say("memory")
        say(f"  used: {'unknown' if used is None else f'{used:,} MiB'}")
        say(f"  harnesses have to go above: {'-' if budget is None else f'{budget:,} MiB'}")
    say("database")
    for name, value in found.database.items():
        text = value if isinstance(value, str) else dumped(value).decode()
        say(one_line(f"  {name}: {text}"))
    say("versions")
    say("  " + ", ".join(f"{name} {number}" for name, number in found.versions.items()))
    for warning in found.warnings:
        say(one_line(f"note: {warning}"))
    for problem in found.problems:
        say(one_line(f"UNFIT: {problem}"))
    if not found.problems:
        say("all is fit")
