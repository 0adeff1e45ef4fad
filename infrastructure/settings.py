"""How is this process set up? Read once from the environment, checked, and handed around."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off"})


class BadSetting(ValueError):
    """A setting has a value that means nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the database is, and what a project accepts.

    Attributes:
        database_url: A SQLAlchemy URL of SQLite or PostgreSQL.
        allow_unverified_turns: Whether a turn without a record count leaves a session ready.
        pool_size: PostgreSQL connections of this process.
        allow_unsafe_durability: Whether a database that does not flush commits is served.
    """

    database_url: URL
    allow_unverified_turns: bool
    pool_size: int = 8
    allow_unsafe_durability: bool = False

    @property
    def embedded(self) -> bool:
        """Tell whether the database is a file of this machine."""
        return self.database_url.get_backend_name() == "sqlite"


def default_database() -> Path:
    """Return where the embedded database is kept."""
    return Path.home() / ".local" / "share" / "turnlog" / "turnlog.db"


def load(environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings that the environment gives.

    Raises:
        BadSetting: naming the variable.
    """
    given = os.environ if environment is None else environment
    url = _url(given.get("TURNLOG_DATABASE_URL") or f"sqlite:///{default_database()}")
    embedded = url.get_backend_name() == "sqlite"
    return Settings(
        database_url=url,
        allow_unverified_turns=_flag(given, "TURNLOG_ALLOW_UNVERIFIED_TURNS", default=embedded),
        pool_size=_count(given, "TURNLOG_POSTGRES_POOL_SIZE", default=8, least=1, most=100),
        allow_unsafe_durability=_flag(given, "TURNLOG_ALLOW_UNSAFE_DURABILITY", default=False),
    )


def _url(text: str) -> URL:
    try:
        url = make_url(text)
    except ArgumentError as error:
        raise BadSetting("TURNLOG_DATABASE_URL is no database URL") from error
    if url.get_backend_name() not in {"sqlite", "postgresql"}:
        raise BadSetting("TURNLOG_DATABASE_URL names neither sqlite nor postgresql")
    if url.get_backend_name() == "sqlite" and url.database in {None, "", ":memory:"}:
        raise BadSetting("TURNLOG_DATABASE_URL names no file; the log lives in one")
    return url


def _flag(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = given.get(name, "").strip().lower()
    if not text:
        return default
    if text in TRUE | FALSE:
        return text in TRUE
    raise BadSetting(f"{name} is none of true, false")


def _count(given: Mapping[str, str], name: str, *, default: int, least: int, most: int) -> int:
    text = given.get(name, "").strip()
    if not text:
        return default
    if text.isascii() and text.isdigit() and least <= int(text[:9]) <= most:
        return int(text)
    raise BadSetting(f"{name} is no whole number between {least} and {most}")
