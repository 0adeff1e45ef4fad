"""How many tokens did one prompt use, by what an agent tells?

The protocol counts over all of a session; many agents count each prompt for itself. Which of both
one does is said by its definition. Some tell it only in passing, with each answer of their model.
"""

from dataclasses import replace
from typing import Final

from infrastructure.harness.acp.fields import Object, member, number, text
from infrastructure.harness.definitions import Counting
from infrastructure.harness.port import Used

_COUNTS: Final = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


class Usage:
    """What one conversation used, prompt after prompt."""

    def __init__(self, model: str, counting: Counting) -> None:
        """Begin; the tokens are those of `model`."""
        self._model: Final = model
        self._counting: Final = counting
        self._before: Used | None = None
        self._in_passing: Used | None = None

    def begin(self) -> None:
        """Forget what was told in passing: a prompt begins."""
        self._in_passing = None

    def pass_by(self, update: Object) -> None:
        """Take what an update tells in passing."""
        used = told(member(update, "_meta"), self._model)
        if used is not None:
            self._in_passing = used if self._in_passing is None else _sum(self._in_passing, used)

    def of_prompt(self, answer: Object) -> Used | None:
        """Return what the prompt used that was answered so; None if nothing was told."""
        used = told(answer, self._model)
        if used is None:
            return self._in_passing
        if self._counting == "prompt":
            return used
        before, self._before = self._before, used
        return used if before is None else _since(before, used)


def told(holder: Object, model: str) -> Used | None:
    """Return the tokens that a message tells of, as those of a model unless it names another."""
    usage = member(holder, "usage")
    read, written = number(usage, "inputTokens"), number(usage, "outputTokens")
    if read is None or written is None:
        return None
    return Used(
        model=text(usage, "model") or model,
        input_tokens=read,
        output_tokens=written,
        cache_read_tokens=number(usage, "cachedReadTokens"),
        cache_write_tokens=number(usage, "cachedWriteTokens"),
    )


def _since(before: Used, now: Used) -> Used:
    """Return what was used in between; an agent that counts less than before began anew."""
    counts = {name: getattr(now, name) for name in _COUNTS}
    less = {
        name: count - (getattr(before, name) or 0)
        for name, count in counts.items()
        if count is not None
    }
    return now if min(less.values()) < 0 else replace(now, **less)


def _sum(one: Used, other: Used) -> Used:
    counts = {
        name: (getattr(one, name) or 0) + count
        for name in _COUNTS
        if (count := getattr(other, name)) is not None
    }
    return replace(one, **counts)
