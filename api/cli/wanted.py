"""Which sessions does a command ask for?"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

NO_PARENT: Final = "-"
Status: TypeAlias = Literal["open", "archived", "deleted", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """Which sessions; `parent` is a session, or `NO_PARENT` for those without one."""

    status: Status = "open"
    title: str | None = None
    parent: str | None = None
