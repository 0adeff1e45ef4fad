"""How was this process started? Everything it can be told by its environment."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

VARIABLES: Final = (
    "TURNLOG_DEMO_CALLS",
    "TURNLOG_DEMO_LOAD",
    "TURNLOG_DEMO_MEMORY_MB",
    "TURNLOG_DEMO_PLAIN",
    "TURNLOG_DEMO_RECORD",
    "TURNLOG_DEMO_START_MS",
)
"""All that can be said; whoever starts the agent hands these on."""

_MOST_MB: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the environment says.

    Attributes:
        start_ms: How long to wait before the first line is read.
        memory_mb: How much memory to hold besides.
        plain: Whether to hide that a conversation can be seeded, as agents of others do.
        load: Whether to offer to load sessions, which works only for those of this process.
        record: Where each array that the model saw is noted; nowhere if None.
        calls: Where each call that was made is noted; nowhere if None.
    """

    start_ms: int = 0
    memory_mb: int = 0
    plain: bool = False
    load: bool = False
    record: Path | None = None
    calls: Path | None = None

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Surroundings":
        """Read `TURNLOG_DEMO_...`; what is no number counts as none."""
        return cls(
            start_ms=_number(environment.get("TURNLOG_DEMO_START_MS")),
            memory_mb=min(_number(environment.get("TURNLOG_DEMO_MEMORY_MB")), _MOST_MB),
            plain=environment.get("TURNLOG_DEMO_PLAIN") == "1",
            load=environment.get("TURNLOG_DEMO_LOAD") == "1",
            record=_path(environment.get("TURNLOG_DEMO_RECORD")),
            calls=_path(environment.get("TURNLOG_DEMO_CALLS")),
        )


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() else 0


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None
