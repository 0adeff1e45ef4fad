"""How is this process set up? Read once, checked, and handed around.

Each setting is `TURNLOG_...` in the environment, or the same name in lower case and without the
prefix in the settings file, which is TOML: `TURNLOG_CONFIG`, else `~/.config/turnlog/settings.toml`
if that exists. The environment wins.
"""

import os
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from domain.approval_modes import DEFAULT_MODE, MODES
from domain.events.session import ApprovalMode
from domain.pressure import Garbage, read_batch, read_budget, read_protected
from infrastructure.demo_agent.surroundings import VARIABLES
from infrastructure.harness.definitions import (
    DEMO,
    LONGEST_S,
    BadDefinition,
    Definition,
    Timeouts,
    definitions,
)
from infrastructure.pool.limits import MEANINGS as POOL_MEANINGS
from infrastructure.pool.limits import RANGES as POOL_RANGES
from infrastructure.pool.limits import PoolLimits
from infrastructure.prices import BadPrice, prices_of
from infrastructure.restart_policy import MEANINGS as RESTART_MEANINGS
from infrastructure.restart_policy import RANGES as RESTART_RANGES
from infrastructure.restart_policy import RestartPolicy
from infrastructure.spawning import SPAWNING_TOOLS
from projections.prices import NO_PRICES, Prices

Value = TypeVar("Value")
PREFIX: Final = "TURNLOG_"
FILE_NAME: Final = "TURNLOG_CONFIG"
HARNESS_MARK: Final = "TURNLOG_HARNESS"
HARNESSES: Final = "harnesses"
PRICES: Final = "prices"
TRUE: Final = frozenset({"1", "true", "yes", "on"})
FALSE: Final = frozenset({"0", "false", "no", "off"})
DRIVERS: Final = frozenset({"sqlite", "sqlite+pysqlite", "postgresql", "postgresql+psycopg"})
BY_DEFAULT: Final = "default"
MOST_GATE_S: Final = 365 * 24 * 60 * 60
MEANINGS: Final[Mapping[str, str]] = {
    "database_url": "where the log is kept: a SQLAlchemy URL of SQLite or PostgreSQL",
    "allow_unverified_turns": "whether a turn without a record count leaves its session ready",
    "require_agreement": "how many comparisons in a row must agree before a session is ready",
    "postgres_pool_size": "how many PostgreSQL connections this process opens at most",
    "allow_unsafe_durability": "whether a database that does not flush commits is served",
    "search": "whether this process keeps an index of what was said, and searches it",
    "default_harness": "which harness answers where a session names none",
    "gate_ttl_s": "how long a hosted turn's question waits before it ends unanswered; 0: for ever",
    "approval_mode": "what becomes of permission requests where a session names no mode",
    "spawning_tools": "the tools that begin a sub-agent, in any case, with commas between them",
    "state_dir": "a folder for what this machine has to remember besides the log",
    "harness_start_timeout_s": "how long a harness may take until it has a session",
    "harness_first_output_timeout_s": "how long a prompt waits for anything to come",
    "harness_idle_timeout_s": "how long a harness may be silent while nobody is asked anything",
    "harness_total_timeout_s": "how long a prompt may take, without the time that people take",
    "delete_wait_s": "how long a deletion waits for what runs in the session to end",
    "deleted_keep_days": "how long a deleted session can be restored; `off` keeps it for ever",
    "compaction_prompt": "what a harness is asked that sums up a conversation; ours if empty",
    "harness_lease_s": "after how long of silence a server has lost the turns that it runs",
    **RESTART_MEANINGS,
    **POOL_MEANINGS,
}


class BadSetting(ValueError):
    """A setting has a value that means nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the database is, and what a project accepts.

    Attributes:
        database_url: A SQLAlchemy URL of SQLite or PostgreSQL.
        allow_unverified_turns: Whether a turn without a record count leaves a session ready.
        require_agreement: Comparisons with a client's full history in a row that must have agreed
            before a session is ready; 0 asks for none.
        pool_size: PostgreSQL connections of this process.
        allow_unsafe_durability: Whether a database that does not flush commits is served.
        search: Whether this process keeps the search index up to date, and reads it.
        harnesses: Every harness that can be started, by name.
        default_harness: The name of the one that answers where a session names none.
        gate_ttl_s: How long what a hosted turn asks waits before it ends unanswered; 0: for ever.
        approval_mode: What becomes of what hosted turns ask for where a session names no mode.
        spawning_tools: What tools that begin a sub-agent are called, in lower case.
        state_dir: A folder for what this machine remembers besides the log; None if unset.
        harness_timeouts: What holds for every harness that sets no limit of its own.
        harness_lease_s: How long the lease of a turn lasts that this server runs; it is renewed.
        delete_wait_s: How long a deletion waits for what runs in the session to end.
        compaction_prompt: What a harness is asked that sums up a conversation; empty for our words.
        deleted_keep_days: So many days after its deletion a session is purged; None for never.
        restarts: How this process ends, and what it does about what a killed one left.
        pool: How many harnesses are kept alive between turns, and for how long.
        prices: What models' tokens cost that told no amount.
        sources: Where each setting in `MEANINGS` came from: a variable, a file, or the default.
        passed_over: For people: which settings say nothing known, so that their defaults hold.
    """

    database_url: URL
    allow_unverified_turns: bool
    require_agreement: int = 0
    pool_size: int = 8
    allow_unsafe_durability: bool = False
    search: bool = True
    harnesses: Mapping[str, Definition] = field(
        default_factory=lambda: definitions({}, Timeouts()), repr=False
    )
    default_harness: str = DEMO
    gate_ttl_s: int = 0
    approval_mode: ApprovalMode = DEFAULT_MODE
    spawning_tools: frozenset[str] = SPAWNING_TOOLS
    state_dir: Path | None = None
    harness_timeouts: Timeouts = field(default_factory=Timeouts)
    harness_lease_s: int = 30
    delete_wait_s: int = 5
    compaction_prompt: str = ""
    deleted_keep_days: int | None = 30
    restarts: RestartPolicy = field(default_factory=RestartPolicy)
    pool: PoolLimits = field(default_factory=PoolLimits)
    prices: Prices = NO_PRICES
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    passed_over: Sequence[str] = ()

    @property
    def embedded(self) -> bool:
        """Tell whether the database is a file of this machine."""
        return self.database_url.get_backend_name() == "sqlite"

    def shown(self) -> Mapping[str, str]:
        """Return each setting's value for people: no password."""
        return {
            "database_url": self.database_url.difference_update_query(
                ["password", "sslpassword"]
            ).render_as_string(hide_password=True),
            "allow_unverified_turns": str(self.allow_unverified_turns).lower(),
            "require_agreement": str(self.require_agreement),
            "postgres_pool_size": str(self.pool_size),
            "allow_unsafe_durability": str(self.allow_unsafe_durability).lower(),
            "search": str(self.search).lower(),
            "default_harness": self.default_harness,
            "gate_ttl_s": str(self.gate_ttl_s),
            "approval_mode": self.approval_mode,
            "spawning_tools": ",".join(sorted(self.spawning_tools)),
            "state_dir": str(self.state_folder()),
            "harness_start_timeout_s": f"{self.harness_timeouts.start_s:g}",
            "harness_first_output_timeout_s": f"{self.harness_timeouts.first_output_s:g}",
            "harness_idle_timeout_s": f"{self.harness_timeouts.idle_s:g}",
            "harness_total_timeout_s": f"{self.harness_timeouts.total_s:g}",
            "harness_lease_s": str(self.harness_lease_s),
            "compaction_prompt": self.compaction_prompt or "built in",
            "delete_wait_s": str(self.delete_wait_s),
            "deleted_keep_days": "off"
            if self.deleted_keep_days is None
            else str(self.deleted_keep_days),
            **self.restarts.shown(),
            **self.pool.shown(),
        }

    def state_folder(self) -> Path:
        """Return where this machine remembers things: beside the embedded database, if not set."""
        if self.state_dir is not None:
            return self.state_dir
        if self.embedded:
            return Path(f"{self.database_url.database}.state")
        return _user_state()


def default_database() -> Path:
    """Return where the embedded database is kept."""
    return _home() / ".local" / "share" / "turnlog" / "turnlog.db"


def default_file() -> Path:
    """Return where the settings file is, if there is one."""
    return _home() / ".config" / "turnlog" / "settings.toml"


def load(environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings that the environment and the settings file give.

    With an `environment` of the caller's own, only a file that it names is read.

    Raises:
        BadSetting: naming the variable, or the file and the name in it.
    """
    given = _Given(os.environ if environment is None else environment, look=environment is None)
    url = _url(given)
    embedded = url.get_backend_name() == "sqlite"
    timeouts = _timeouts(given)
    harnesses = _harnesses(given, timeouts)
    return Settings(
        database_url=url,
        allow_unverified_turns=_flag(given, "allow_unverified_turns", default=embedded),
        require_agreement=_count(given, "require_agreement", default=0, least=0, most=1_000_000),
        pool_size=_count(given, "postgres_pool_size", default=8, least=1, most=100),
        allow_unsafe_durability=_flag(given, "allow_unsafe_durability", default=False),
        search=_flag(given, "search", default=True),
        harnesses=harnesses,
        default_harness=_default_harness(given, harnesses),
        gate_ttl_s=_count(given, "gate_ttl_s", default=0, least=0, most=MOST_GATE_S),
        approval_mode=_approval_mode(given),
        spawning_tools=_names(given, "spawning_tools", SPAWNING_TOOLS),
        state_dir=_folder(given, "state_dir"),
        harness_timeouts=timeouts,
        harness_lease_s=_count(given, "harness_lease_s", default=30, least=2, most=3_600),
        delete_wait_s=_count(given, "delete_wait_s", default=5, least=0, most=600),
        compaction_prompt=given.text("compaction_prompt"),
        deleted_keep_days=_days(given, "deleted_keep_days"),
        restarts=_restarts(given),
        pool=_pool(given),
        prices=_prices(given),
        sources={name: given.source(name) for name in MEANINGS},
        passed_over=tuple(given.passed_over),
    )


def unknown_variables(environment: Mapping[str, str]) -> Sequence[str]:
    """Return the variables that look like settings and are none: likely a slip."""
    known = {FILE_NAME, HARNESS_MARK, *VARIABLES, *(PREFIX + name.upper() for name in MEANINGS)}
    return sorted(name for name in environment if name.startswith(PREFIX) and name not in known)


class _Given:
    """What was given for each setting, and by what."""

    def __init__(self, environment: Mapping[str, str], *, look: bool) -> None:
        self._environment = environment
        self.file: Path | None = None
        self._values: Mapping[str, str] = {}
        self.harnesses: object = {}
        self.prices: object = {}
        self.passed_over: list[str] = []
        if environment.get(FILE_NAME):
            self.file = Path(environment[FILE_NAME]).expanduser()
        elif look and default_file().is_file():
            self.file = default_file()
        if self.file is not None:
            found = _read(self.file)
            self.harnesses = found.pop(HARNESSES, {})
            self.prices = found.pop(PRICES, {})
            self._values = {name: _text(name, value, self.file) for name, value in found.items()}

    def text(self, name: str) -> str:
        """Return what was given; empty if nothing was."""
        return self._environment.get(_variable(name), "").strip() or self._values.get(name, "")

    def said(self, name: str) -> str | None:
        """Return what was given, which a file can say to be empty; None if nothing was."""
        return self.text(name) or self._values.get(name)

    def source(self, name: str) -> str:
        """Return what gave it, for people."""
        if self._environment.get(_variable(name), "").strip():
            return _variable(name)
        return f"{self.file}" if name in self._values else BY_DEFAULT

    def called(self, name: str) -> str:
        """Return what a complaint calls the setting."""
        source = self.source(name)
        return source if source in {_variable(name), BY_DEFAULT} else f"{name} in {source}"


def _variable(name: str) -> str:
    return PREFIX + name.upper()


def _read(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise BadSetting(f"the settings file {path} cannot be read") from error
    except ValueError as error:  # no UTF-8, no TOML; what it holds may be a password
        raise BadSetting(f"the settings file {path} is no TOML") from error


def _text(name: str, value: object, path: Path) -> str:
    if name not in MEANINGS:
        raise BadSetting(f"the settings file {path} has a name that is no setting: {name[:64]!r}")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int):
        return str(value).strip()
    raise BadSetting(f"{name} in {path} is neither text, number nor true or false")


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError as error:
        raise BadSetting("HOME is not set, so TURNLOG_DATABASE_URL must be") from error


def _url(given: _Given) -> URL:
    name = "database_url"
    called = given.called(name)
    try:
        text = given.text(name)
        url = make_url(text) if text else URL.create("sqlite", database=str(default_database()))
    except (ArgumentError, ValueError) as error:
        raise BadSetting(f"{called} is no database URL") from error
    if url.drivername not in DRIVERS:
        raise BadSetting(f"{called} names neither sqlite nor postgresql with psycopg")
    if url.get_backend_name() == "sqlite":
        if url.database in {None, "", ":memory:"}:
            raise BadSetting(f"{called} names no file; the log lives in one")
        if str(url.database).startswith("file:"):
            raise BadSetting(f"{called} names a file as a URI; give its path")
    return url


def _timeouts(given: _Given) -> Timeouts:
    usual = Timeouts()

    def seconds(name: str, default: float) -> int:
        most = LONGEST_S[name]
        key = f"harness_{name}_timeout_s"
        return _count(given, key, default=int(default), least=1, most=most)

    return Timeouts(
        start_s=seconds("start", usual.start_s),
        first_output_s=seconds("first_output", usual.first_output_s),
        idle_s=seconds("idle", usual.idle_s),
        total_s=seconds("total", usual.total_s),
    )


def _harnesses(given: _Given, timeouts: Timeouts) -> Mapping[str, Definition]:
    try:
        return definitions(given.harnesses, timeouts)
    except BadDefinition as error:
        raise BadSetting(f"{error}, in {given.file}") from error


def _prices(given: _Given) -> Prices:
    try:
        return prices_of(given.prices)
    except BadPrice as error:
        raise BadSetting(f"{error}, in {given.file}") from error


def _default_harness(given: _Given, harnesses: Mapping[str, Definition]) -> str:
    name = given.text("default_harness") or DEMO
    if name in harnesses:
        return name
    raise BadSetting(f"{given.called('default_harness')} names no harness that is defined")


def _approval_mode(given: _Given) -> ApprovalMode:
    text = given.text("approval_mode") or DEFAULT_MODE
    for mode in MODES:
        if mode == text:
            return mode
    raise BadSetting(f"{given.called('approval_mode')} is none of {', '.join(MODES)}")


def _names(given: _Given, name: str, usual: frozenset[str]) -> frozenset[str]:
    names = {each.strip().lower() for each in given.text(name).split(",")} - {""}
    return frozenset(names) if given.text(name) else usual


def _folder(given: _Given, name: str) -> Path | None:
    text = given.text(name)
    if not text:
        return None
    path = Path(text).expanduser()
    if path.is_absolute():
        return path
    raise BadSetting(f"{given.called(name)} is no absolute path")


def _user_state() -> Path:
    """Return the user's folder for state; one of the machine's for a user without a home."""
    given = os.environ.get("XDG_STATE_HOME", "")
    if Path(given).is_absolute():
        return Path(given) / "turnlog"
    try:
        return Path.home() / ".local" / "state" / "turnlog"
    except RuntimeError:
        return Path(tempfile.gettempdir()) / f"turnlog-{os.getuid()}"


def _restarts(given: _Given) -> RestartPolicy:
    numbers = {
        name: _count(given, name, default=getattr(RestartPolicy(), name), least=least, most=most)
        for name, (least, most) in RESTART_RANGES.items()
    }
    return RestartPolicy(auto_resume=_flag(given, "auto_resume", default=False), **numbers)


def _pool(given: _Given) -> PoolLimits:
    numbers = {
        name: _count(
            given, f"pool_{name}", default=getattr(PoolLimits(), name), least=least, most=most
        )
        for name, (least, most) in POOL_RANGES.items()
    }
    return PoolLimits(
        enabled=_flag(given, "pool_enabled", default=True),
        memory_budget=_forgiving(given, "pool_memory_budget", read_budget),
        pressure_protect_recent=_forgiving(given, "pool_pressure_protect_recent", read_protected),
        pressure_batch=_forgiving(given, "pool_pressure_batch", read_batch),
        **numbers,
    )


def _forgiving(given: _Given, name: str, read: Callable[[str | None], Value]) -> Value:
    """Return a setting whose default holds, and which is complained of, if it says nothing."""
    try:
        return read(given.said(name))
    except Garbage:
        default = read(None)
        given.passed_over.append(f"{given.called(name)} says nothing known: {default} holds")
        return default


def _flag(given: _Given, name: str, *, default: bool) -> bool:
    text = given.text(name).lower()
    if not text:
        return default
    if text in TRUE | FALSE:
        return text in TRUE
    raise BadSetting(f"{given.called(name)} is none of true, false")


def _days(given: _Given, name: str) -> int | None:
    """Return a number of days, 30 if none is given; None for `off`."""
    if given.text(name).lower() in FALSE - {"0"}:
        return None
    return _count(given, name, default=30, least=0, most=36_500)


def _count(given: _Given, name: str, *, default: int, least: int, most: int) -> int:
    text = given.text(name)
    if not text:
        return default
    short = text.isascii() and text.isdigit() and len(text) <= len(str(most))
    if short and least <= int(text) <= most:
        return int(text)
    raise BadSetting(f"{given.called(name)} is no whole number between {least} and {most}")
