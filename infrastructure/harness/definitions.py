"""Which harnesses can be started, by name, and how?

Each is a table `[harnesses.NAME]` of the settings file. `demo` is always there, unless the file
says something else under that name. What a definition's environment holds is never shown.
"""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, cast

from domain.json_text import JsonValue
from infrastructure.demo_agent.surroundings import VARIABLES

DEMO: Final = "demo"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ROOT: Final = Path(__file__).resolve().parents[2]
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
MOST_SESSIONS: Final = 1000
LONGEST_S: Final[Mapping[str, int]] = MappingProxyType(
    {"start": 3600, "first_output": 86_400, "idle": 86_400, "total": 604_800}
)


Counting: TypeAlias = Literal["prompt", "session"]


class BadDefinition(ValueError):
    """A definition says something that means nothing; its text never holds what was said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long a harness may take, in seconds.

    Attributes:
        start_s: From its start until it has a session.
        first_output_s: From a prompt until anything comes.
        idle_s: From one update to the next, while nobody is asked anything.
        total_s: For a whole prompt; the time that a person takes to answer does not count.
    """

    start_s: float = 60
    first_output_s: float = 120
    idle_s: float = 1800
    total_s: float = 39_600


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One harness that can be started.

    Attributes:
        command: The program and its arguments; it is run without a shell.
        environment: Variables that it gets besides a few of this process.
        inherit: Variables that it gets as this process has them.
        folder: Where it works unless a session says where; None for one that is made.
        config: What a session without a configuration of its own is started with.
        sessions_per_process: How many conversations one process holds at most.
        authenticate: The authentication method to ask for before the first session.
        usage: What the tokens in its answer to a prompt count: that prompt, or its session so far.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=lambda: _NOTHING, repr=False)
    inherit: tuple[str, ...] = ()
    folder: str | None = None
    config: JsonValue = None
    sessions_per_process: int = 1
    authenticate: str | None = None
    usage: Counting = "prompt"
    timeouts: Timeouts = field(default_factory=Timeouts)


def demo(timeouts: Timeouts) -> Definition:
    """Return the definition of the agent that comes with turnlog."""
    return Definition(
        name=DEMO,
        command=(sys.executable, "-P", "-m", "infrastructure.demo_agent"),
        environment=MappingProxyType({"PYTHONPATH": str(_ROOT)}),
        inherit=VARIABLES,
        timeouts=timeouts,
    )


def definitions(table: object, timeouts: Timeouts) -> Mapping[str, Definition]:
    """Return every harness that `table`, the settings file's `harnesses`, defines, and the demo.

    Raises:
        BadDefinition: naming the harness and the key.
    """
    if not isinstance(table, dict):
        raise BadDefinition("harnesses is no table of tables")
    found = {DEMO: demo(timeouts)}
    for name, said in cast("dict[str, object]", table).items():
        if _NAME.fullmatch(name) is None:
            raise BadDefinition(f"harnesses.{name[:64]!r} is no name for a harness")
        if not isinstance(said, dict):
            raise BadDefinition(f"harnesses.{name} is no table")
        found[name] = _definition(_Said(name, cast("dict[str, object]", said)), timeouts)
    return MappingProxyType(found)


class _Said:
    """What one table says; what is not asked for is no key of a definition."""

    def __init__(self, name: str, table: dict[str, object]) -> None:
        self.name = name
        self._left = dict(table)

    def wrong(self, key: str, rule: str) -> BadDefinition:
        return BadDefinition(f"harnesses.{self.name}.{key} {rule}")

    def take(self, key: str) -> object:
        return self._left.pop(key, None)

    def text(self, key: str) -> str | None:
        value = self.take(key)
        if value is None or (isinstance(value, str) and value and "\0" not in value):
            return value
        raise self.wrong(key, "is no text")

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.take(key)
        if value is None:
            return ()
        items = cast("list[object]", value) if isinstance(value, list) else [None]
        if all(isinstance(item, str) and "\0" not in item for item in items):
            return tuple(cast("list[str]", items))
        raise self.wrong(key, "is no list of texts")

    def number(self, key: str, default: float, *, most: int) -> float:
        value = self.take(key)
        if value is None:
            return default
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= most:
            return value
        raise self.wrong(key, f"is no number above 0 and up to {most}")

    def nothing_else(self) -> None:
        for key in self._left:
            raise self.wrong(repr(key[:64]), "means nothing")


def _definition(said: _Said, timeouts: Timeouts) -> Definition:
    command = said.texts("command")
    if not command or not command[0]:
        raise said.wrong("command", "is missing: a list, the program first")
    sessions = said.number("sessions_per_process", 1, most=MOST_SESSIONS)
    if sessions != int(sessions):
        raise said.wrong("sessions_per_process", "is no whole number")
    folder = said.text("folder")
    if folder is not None and not Path(folder).expanduser().is_absolute():
        raise said.wrong("folder", "is no absolute path")
    made = Definition(
        name=said.name,
        command=command,
        environment=_environment(said),
        inherit=_inherited(said),
        folder=None if folder is None else str(Path(folder).expanduser()),
        config=_json(said, said.take("config")),
        sessions_per_process=int(sessions),
        authenticate=said.text("authenticate"),
        usage=_counting(said),
        timeouts=_timeouts(said, timeouts),
    )
    said.nothing_else()
    return made


def _environment(said: _Said) -> Mapping[str, str]:
    table = said.take("environment")
    if table is None:
        return _NOTHING
    if not isinstance(table, dict):
        raise said.wrong("environment", "is no table")
    found: dict[str, str] = {}
    for name, value in cast("dict[str, object]", table).items():
        if _VARIABLE.fullmatch(name) is None:
            raise said.wrong(f"environment.{name[:64]!r}", "is no name of a variable")
        if not isinstance(value, str) or "\0" in value:
            raise said.wrong(f"environment.{name}", "is no text")
        found[name] = value
    return MappingProxyType(found)


def _counting(said: _Said) -> Counting:
    match said.text("usage"):
        case None | "prompt":
            return "prompt"
        case "session":
            return "session"
        case _:
            raise said.wrong("usage", "is neither prompt nor session")


def _inherited(said: _Said) -> tuple[str, ...]:
    names = said.texts("inherit")
    if all(_VARIABLE.fullmatch(name) for name in names):
        return names
    raise said.wrong("inherit", "is no list of names of variables")


def _timeouts(said: _Said, timeouts: Timeouts) -> Timeouts:
    return replace(
        timeouts,
        **{
            f"{name}_s": said.number(
                f"{name}_timeout_s", getattr(timeouts, f"{name}_s"), most=LONGEST_S[name]
            )
            for name in LONGEST_S
        },
    )


def _json(said: _Said, value: object) -> JsonValue:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and isfinite(value):
        return value
    if isinstance(value, list):
        return [_json(said, item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        return {key: _json(said, item) for key, item in cast("dict[str, object]", value).items()}
    raise said.wrong("config", "holds something that JSON cannot say")
