"""What went wrong, and does a person have to step in?

Never what was said: a code, whose it is, and where. Who stops a turn, or denies a call, made no
error. The same again within two seconds is counted, not listed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Final, Literal, TypeAlias

from domain import events as e
from domain.json_text import NotJson
from domain.raw_json import without_raw
from domain.restarts import OWNER_LOST, RESTARTED

FOLD_VERSION: Final = 1
WITHIN: Final = 2_000_000
"""Microseconds."""
MOST: Final = 20_000
"""Of a project; the oldest leave."""
Source: TypeAlias = Literal["harness", "tool", "producer", "log"]
Kind: TypeAlias = Literal["expected", "unexpected"]
TOOL_FAILED: Final = "tool_failed"
UNKNOWN: Final = "unknown"
TYPES: Final = (
    "records-lost",
    "session-suspended",
    "tool-call-completed",
    "turn-failed",
    "turn-interrupted",
)
"""The types of the facts that can tell of an error."""
_OURS: Final = frozenset({"record-refused", "internal-error", "store-away"})
_PASSING: Final = frozenset(
    {
        "start-timeout",
        "first-output-timeout",
        "idle-timeout",
        "total-timeout",
        "output-too-long",
    }
)
"""A later turn may well do: nobody has to mend anything."""
_LOST: Final = frozenset({OWNER_LOST, RESTARTED, "producer-restarted", "not-recorded"})
"""Why a turn was interrupted that nobody stopped."""
_CODE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What one fact tells of an error; of a tool's failure the tool's name is to be found."""

    source: Source
    code: str
    kind: Kind

    def of_tool(self, name: str | None) -> "Problem":
        """Return the failure of a tool of this name."""
        return replace(self, code=f"{TOOL_FAILED}:{code_of(name)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Errors of one kind that followed each other closely.

    Attributes:
        position: Of the first of them in the log.
        session_key, turn_id: Where the first of them was.
        first_at, last_at: Microseconds since 1970.
        times: How many they are.
    """

    position: int
    project_id: str
    session_key: int
    turn_id: str | None
    source: str
    code: str
    kind: str
    first_at: int
    last_at: int
    times: int = 1

    @property
    def key(self) -> tuple[str, str, str]:
        """Return what errors have in common that are counted together."""
        return self.project_id, self.source, self.code


NAMES: Final = tuple(field.name for field in fields(Errors))


def problem_of(fact: e.Fact) -> Problem | None:
    """Return what a fact tells of an error; never raises, however odd the fact is."""
    match fact:
        case e.TurnFailed(error=error):
            code = code_of(error.code)
            kind: Kind = "expected" if code in _PASSING else "unexpected"
            source: Source = "log" if code in _OURS else "harness"
            return Problem(source=source, code=code, kind=kind)
        case e.ToolCallCompleted(is_error=True, denied=False, output=output):
            seen = not _is_unseen(output)
            return Problem(source="tool", code=TOOL_FAILED, kind="expected") if seen else None
        case e.TurnInterrupted(reason=reason) if reason in _LOST:
            return Problem(source="log", code=reason, kind="expected")
        case e.RecordsLost():
            return Problem(source="producer", code="records-lost", kind="unexpected")
        case e.SessionSuspended():
            return Problem(source="log", code="session-suspended", kind="unexpected")
        case _:
            return None


def counted(known: Errors | None, new: Errors) -> Errors:
    """Return what a new error makes of the last ones of its kind."""
    if known is None or known.key != new.key or abs(new.last_at - known.last_at) > WITHIN:
        return new
    return replace(known, last_at=max(known.last_at, new.last_at), times=known.times + new.times)


def code_of(name: str | None) -> str:
    """Return a name as a code; what is no short name is told as unknown.

    >>> code_of("rate_limited"), code_of("the key sk-1 is wrong")
    ('rate_limited', 'unknown')
    """
    return name if name is not None and _CODE.fullmatch(name) else UNKNOWN


def _is_unseen(output: object) -> bool:
    """Tell whether an output only says, in turnlog's words, that none was seen."""
    try:
        read = without_raw(output)
    except NotJson:
        return False
    return isinstance(read, Mapping) and read.keys() == {"turnlog"}
