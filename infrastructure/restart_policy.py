"""How does a server end, and what does it do about what a killed one left?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MEANINGS: Final[Mapping[str, str]] = {
    "shutdown_grace_s": "how long the end of the process waits for the turns that run",
    "recovery_wait_s": "how long requests for turns wait for what a killed server left",
    "auto_resume": "whether a turn that a restart cut off is gone on with unasked",
    "auto_resume_fresh_s": "for how long after it was cut off it is; after that nobody does",
}
RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "shutdown_grace_s": (0, 3_600),
    "recovery_wait_s": (0, 600),
    "auto_resume_fresh_s": (1, 30 * 24 * 60 * 60),
}
"""Least and most of each number, by its name in `RestartPolicy`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPolicy:
    """What an operator can set of how servers end and begin; `MEANINGS` says what each is."""

    shutdown_grace_s: int = 5
    recovery_wait_s: int = 30
    auto_resume: bool = False
    auto_resume_fresh_s: int = 3_600

    def shown(self) -> Mapping[str, str]:
        """Return each setting's value for people."""
        return {
            "shutdown_grace_s": str(self.shutdown_grace_s),
            "recovery_wait_s": str(self.recovery_wait_s),
            "auto_resume": "on" if self.auto_resume else "off",
            "auto_resume_fresh_s": str(self.auto_resume_fresh_s),
        }
