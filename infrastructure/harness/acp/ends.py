"""How did a prompt end, and what did it use, by what an agent answers to it?"""

from typing import Final

from infrastructure.harness.acp.fields import Object, member, number, text
from infrastructure.harness.port import Ended, StopReason, Used

_STOPS: Final[dict[str | None, StopReason]] = {
    "end_turn": "completed",
    "cancelled": "cancelled",
    "refusal": "refused",
    "max_tokens": "max-tokens",
    "max_turn_requests": "max-requests",
}


def end_of(said: Object, model: str) -> Ended | None:
    """Return how a prompt ended that used `model`; None if the answer does not say."""
    stop = _STOPS.get(text(said, "stopReason"))
    return None if stop is None else Ended(stop_reason=stop, used=_used(said, model))


def _used(said: Object, model: str) -> Used | None:
    usage = member(said, "usage")
    read, written = number(usage, "inputTokens"), number(usage, "outputTokens")
    if read is None or written is None:
        return None
    return Used(
        model=model,
        input_tokens=read,
        output_tokens=written,
        cache_read_tokens=number(usage, "cachedReadTokens"),
        cache_write_tokens=number(usage, "cachedWriteTokens"),
    )
