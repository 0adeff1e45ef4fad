"""What has an agent said of a message that is not whole yet?"""

from collections.abc import Callable
from typing import Final, Literal

from domain.messages import Message, Part
from infrastructure.harness.port import Said, Shown
from infrastructure.hosting.writable import text_of

PARTIAL_MS: Final = 2_000
"""A message that takes longer is recorded before it is whole, and again at most so often."""
LARGE: Final = 2**20
"""Nor does so much text wait."""
_SLOWER: Final = 0.1
"""A message's records are as far apart as this part of its age: their number stays bounded."""


class Spoken:
    """One message of the agent, from its first piece on.

    Attributes:
        size: So many characters of text came, and of files.
    """

    def __init__(self, now: float, *, begins: bool) -> None:
        """Take the time, and whether the message begins one of the transcript.

        What goes on with the transcript's last message cannot be recorded before it is whole:
        nothing could be put in the place of a part of a message.
        """
        self.size = 0
        self._recorded = 0
        self._began: Final = now
        self._begins: Final = begins
        self._harness_id: str | None = None
        self._message_id: str | None = None
        self._parts: Final[list[Part | tuple[str, list[str]]]] = []
        self._unrecorded: float | None = None

    def takes(self, piece: Said | Shown) -> bool:
        """Tell whether a piece belongs to this message."""
        return None in {piece.message_id, self._harness_id} or piece.message_id == self._harness_id

    def add(self, piece: Said | Shown, now: float) -> None:
        """Take a piece; those of one voice are one part."""
        self._harness_id = piece.message_id or self._harness_id
        self._unrecorded = now if self._unrecorded is None else self._unrecorded
        if isinstance(piece, Shown):
            self.size += sum(len(value) for value in piece.part.values() if isinstance(value, str))
            self._parts.append(piece.part)
            return
        self.size += len(piece.text)
        last = self._parts[-1] if self._parts else None
        if isinstance(last, tuple) and last[0] == piece.voice:
            last[1].append(piece.text)
        else:
            self._parts.append((piece.voice, [piece.text]))

    @property
    def partial_due(self) -> float | None:
        """Return when it is recorded as far as it is; None if there is nothing to record so."""
        if self._unrecorded is None or not self._begins:
            return None
        age = self._unrecorded - self._began
        return self._unrecorded + max(PARTIAL_MS, age * _SLOWER)

    @property
    def is_large(self) -> bool:
        """Tell whether so much was not recorded that it is not to wait for its time.

        As much again as was recorded, at least: all that is recorded of it stays bounded.
        """
        fresh = self.size - self._recorded
        return self._begins and fresh >= max(LARGE, self._recorded)

    def so_far(self, mint: Callable[[], str]) -> Message:
        """Return what there is, under an id by which the whole will replace it."""
        self._message_id = self._message_id or mint()
        self._unrecorded = None
        self._recorded = self.size
        return self._message("partial")

    def whole(self) -> Message:
        """Return the message."""
        return self._message("complete")

    def _message(self, status: Literal["complete", "partial"]) -> Message:
        return Message(
            role="assistant",
            content=tuple(map(_part, self._parts)),
            message_id=self._message_id,
            status=status,
        )


def _part(part: Part | tuple[str, list[str]]) -> Part:
    if isinstance(part, tuple):
        return {"type": part[0], "text": text_of("".join(part[1]))}
    return part
