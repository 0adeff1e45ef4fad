"""How did a prompt end, by what an agent answers to it?"""

from typing import Final

from infrastructure.harness.acp.fields import Object, text
from infrastructure.harness.port import Ended, StopReason, Used

_STOPS: Final[dict[str | None, StopReason]] = {
    "end_turn": "completed",
    "cancelled": "cancelled",
    "refusal": "refused",
    "max_tokens": "max-tokens",
    "max_turn_requests": "max-requests",
}


def end_of(said: Object, used: Used | None) -> Ended | None:
    """Return how a prompt ended that used so much; None if the answer does not say."""
    stop = _STOPS.get(text(said, "stopReason"))
    return None if stop is None else Ended(stop_reason=stop, used=used)
