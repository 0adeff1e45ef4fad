"""How many harnesses may be kept, for how long, and when do they have to go?"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

MEANINGS: Final[Mapping[str, str]] = {
    "pool_enabled": "whether harnesses are kept alive between turns; without it every turn is cold",
    "pool_idle_ttl_s": "how long one waits for the next turn; 0: it does not",
    "pool_approval_ttl_s": "how long one waits for a decision; 0: it does not",
    "pool_capacity": "how many there are at most, busy ones too",
    "pool_wait_s": "how long a turn waits for room among them",
    "pool_keep_recent": "how many of those used last stay when memory gets short",
    "pool_memory_limit_mb": "above how much memory in use idle ones have to go; 0: never",
    "pool_shutdown_s": "how long the end of the process waits for theirs",
}
DAY_S: Final = 24 * 60 * 60
RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "idle_ttl_s": (0, DAY_S),
    "approval_ttl_s": (0, 30 * DAY_S),
    "capacity": (1, 10_000),
    "wait_s": (1, 600),
    "keep_recent": (0, 10_000),
    "memory_limit_mb": (0, 2**24),
    "shutdown_s": (1, 600),
}
"""Least and most of each number, by its name in `PoolLimits`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLimits:
    """What an operator can set of a pool; `MEANINGS` says what each is, prefixed by `pool_`."""

    enabled: bool = True
    idle_ttl_s: int = 60
    approval_ttl_s: int = 600
    capacity: int = 8
    wait_s: int = 5
    keep_recent: int = 2
    memory_limit_mb: int = 0
    shutdown_s: int = 5

    def shown(self) -> Mapping[str, str]:
        """Return each setting's value for people, by its name among all settings."""
        return {f"pool_{name}": str(value).lower() for name, value in asdict(self).items()}
