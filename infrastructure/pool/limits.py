"""How many harnesses may be kept, for how long, and when do they have to go?"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

from domain.pressure import AUTO, BATCH, PROTECT_RECENT, Budget

MEANINGS: Final[Mapping[str, str]] = {
    "pool_enabled": "whether harnesses are kept alive between turns; without it every turn is cold",
    "pool_idle_ttl_s": "how long one waits for the next turn; 0: it does not",
    "pool_approval_ttl_s": "how long one waits for a decision; 0: it does not",
    "pool_capacity": "how many there are at most, busy ones too",
    "pool_wait_s": "how long a turn waits for room among them",
    "pool_memory_budget": "above how many MiB in use idle ones have to go; `auto`, or `off`",
    "pool_pressure_protect_recent": "how many of those used last stay then, but half at most",
    "pool_pressure_batch": "how many go at once then, at most",
    "pool_pressure_every_s": "how often it is looked how much memory is in use",
    "pool_shutdown_s": "how long the end of the process waits for theirs",
}
DAY_S: Final = 24 * 60 * 60
RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "idle_ttl_s": (0, DAY_S),
    "approval_ttl_s": (0, 30 * DAY_S),
    "capacity": (1, 10_000),
    "wait_s": (1, 600),
    "pressure_every_s": (1, 3_600),
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
    memory_budget: Budget = AUTO
    pressure_protect_recent: int = PROTECT_RECENT
    pressure_batch: int = BATCH
    pressure_every_s: int = 10
    shutdown_s: int = 5

    def shown(self) -> Mapping[str, str]:
        """Return each setting's value for people, by its name among all settings."""
        return {
            f"pool_{name}": "off" if value is None else str(value).lower()
            for name, value in asdict(self).items()
        }
