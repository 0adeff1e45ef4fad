"""How is a message written down that somebody tells, whoever it is and in whichever form?

Parts are ours (`domain.messages`); each keeps the place at which it was told. What a form cannot
say is absent and never guessed: a result that does not say whether it failed has no `is_error`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeAlias

from domain.json_text import JsonValue
from domain.messages import Role

Form: TypeAlias = Literal["turnlog", "openai", "anthropic", "ui"]
Part: TypeAlias = Mapping[str, JsonValue]
Tokens: TypeAlias = tuple[str | int, ...]


class Unreadable(Exception):
    """A message is not what its form says; `at` leads to the place, `detail` quotes nothing."""

    def __init__(self, detail: str, *at: str | int) -> None:
        super().__init__(detail)
        self.detail = detail
        self.at = at


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something was told: which message, and where in it."""

    index: int
    message_id: str | None
    tokens: Tokens = ()

    @property
    def pointer(self) -> str:
        """Return the place as a JSON pointer below the list of messages."""
        said = (str(token).replace("~", "~0").replace("/", "~1") for token in self.tokens)
        return "".join(f"/{token}" for token in (self.index, *said))


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One message: its parts, and for each where it stands within the message.

    Attributes:
        turn_id: The turn that it belongs to, if that is known.
        author: Whose words it holds, if that is told.
    """

    index: int
    message_id: str | None
    role: Role
    parts: tuple[tuple[Part, Tokens], ...]
    turn_id: str | None = None
    author: Part | None = None

    def place(self, tokens: Tokens = ()) -> Place:
        """Return where something in this message was told."""
        return Place(index=self.index, message_id=self.message_id, tokens=tokens)


def refuse(detail: str, *at: str | int) -> NoReturn:
    """Refuse a message that is not what its form says.

    Raises:
        Unreadable: always.
    """
    raise Unreadable(detail, *at)


def object_at(value: JsonValue, *at: str | int) -> dict[str, JsonValue]:
    """Return `value`, which must be an object.

    Raises:
        Unreadable: it is none.
    """
    return value if isinstance(value, dict) else refuse("expected an object", *at)


def list_at(value: JsonValue, *at: str | int) -> list[JsonValue]:
    """Return `value`, which must be a list.

    Raises:
        Unreadable: it is none.
    """
    return value if isinstance(value, list) else refuse("expected a list", *at)


def text_at(value: JsonValue, *at: str | int) -> str:
    """Return `value`, which must be text.

    Raises:
        Unreadable: it is none.
    """
    return value if isinstance(value, str) else refuse("expected text", *at)


def role_at(message: Mapping[str, JsonValue], known: Mapping[str, Role], index: int) -> Role:
    """Return a message's role.

    Raises:
        Unreadable: it has none of those that are `known`.
    """
    role = message.get("role")
    if isinstance(role, str) and role in known:
        return known[role]
    return refuse("expected one of the roles", index, "role")


def name_in(message: Mapping[str, JsonValue], key: str) -> str | None:
    """Return what a message is called, if it says."""
    name = message.get(key)
    return name if isinstance(name, str) else None


def file_of(url: str, media_type: JsonValue = None) -> Part:
    """Return the file that a URL leads to: its bytes if they are in it, else its address."""
    header, comma, data = url.partition(",")
    if comma and header.startswith("data:") and header.endswith(";base64"):
        stated = header.removeprefix("data:").removesuffix(";base64")
        return {"type": "attachment", "media_type": media_type or stated, "data": data}
    return {"type": "attachment", "media_type": media_type, "attachment_id": url}
