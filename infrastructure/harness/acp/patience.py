"""How long may a prompt go on being silent, or go on at all, and what is it called when it is over?

While a person is asked something no time counts; neither does the time that whoever listens takes.
"""

from dataclasses import dataclass
from typing import Final

from infrastructure.harness.definitions import Timeouts

CANCEL_S: Final = 30.0
"""How long an agent may take to end a prompt that was cancelled."""


@dataclass(slots=True)
class Patience:
    """The clock of one prompt; times are the event loop's, in seconds."""

    timeouts: Timeouts
    began: float
    heard: bool = False
    _quiet_since: float = 0.0
    _held_since: float | None = None
    _cancelled_at: float | None = None

    def __post_init__(self) -> None:
        """Begin to wait."""
        self._quiet_since = self.began

    def hear(self, now: float) -> None:
        """Something came, and was dealt with by now."""
        self.heard = True
        self._quiet_since = now

    def hold(self, now: float) -> None:
        """A person is asked."""
        if self._held_since is None:
            self._held_since = now

    def go_on(self, now: float) -> None:
        """Nobody is asked any more."""
        if self._held_since is not None:
            self.began += now - self._held_since
            self._held_since = None
            self._quiet_since = now

    def cancel(self, now: float) -> None:
        """The prompt is to end."""
        if self._cancelled_at is None:
            self._cancelled_at = now

    def limit(self) -> tuple[float, str] | None:
        """Return until when to wait for the next thing, and what it is called if none comes."""
        if self._held_since is not None:
            return None
        silence = self.timeouts.idle_s if self.heard else self.timeouts.first_output_s
        limits = [
            (self._quiet_since + silence, "idle-timeout" if self.heard else "first-output-timeout"),
            (self.began + self.timeouts.total_s, "total-timeout"),
        ]
        if self._cancelled_at is not None:
            limits.append((self._cancelled_at + CANCEL_S, "idle-timeout"))
        return min(limits)
