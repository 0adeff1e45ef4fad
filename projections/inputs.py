"""What did a person say to begin a turn, so that it can be edited and said again?

As one text, but only if nothing is lost by it: no character is put between parts, and what a text
cannot say is not left out in silence.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from domain.messages import Message, Part, parts_of

Shape = dict[str, object]
_MEMBERS = ("attachment_id", "media_type", "filename", "size", "sha256")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInput:
    """What a turn began with.

    Attributes:
        text: What was said, or None where it is not there, or is more than one text can say.
        attachments: The files that came with it, in their order: names and digests, no bytes.
    """

    turn_id: str
    text: str | None = None
    attachments: tuple[Part, ...] = ()

    def shape(self) -> Shape:
        """Return it as the contract shows it."""
        return {"turn_id": self.turn_id, "text": self.text, "attachments": self.attachments}


def turn_input(turn_id: str, messages: Iterable[Message]) -> TurnInput:
    """Return what a person said in `messages`; what was configured by them is left out."""
    said = [parts_of(message) for message in messages if message.role == "user"]
    files = [part for parts in said for part in parts if part.get("type") == "attachment"]
    return TurnInput(
        turn_id=turn_id,
        text=_text(said[0]) if len(said) == 1 else None,
        attachments=tuple(map(_named, files)),
    )


def _text(parts: Iterable[Part]) -> str | None:
    """Return texts that follow each other as one; None if something else is said as well."""
    found: list[str] = []
    ended = False
    for part in parts:
        match part:
            case {"type": "text", "text": str(text)} if not ended:
                found.append(text)
            case {"type": "attachment"}:
                ended = bool(found)
            case _:
                return None
    return "".join(found)


def _named(part: Mapping[str, object]) -> Shape:
    return {name: part[name] for name in _MEMBERS if name in part}
