"""Which ids of people and chats does a model get to see, and what stands in their place?

A hash, where that was asked for and the platform has no use for raw ids in what a model writes.
Nothing but what a model is told changes: keys, routes and records hold the ids as they are.
"""

from collections.abc import Set as AbstractSet
from hashlib import sha256
from typing import Final

SAFE: Final = frozenset({"bluebubbles", "signal", "telegram", "whatsapp"})
"""Platforms on which nobody is mentioned by an id."""
MENTIONING: Final = frozenset({"discord", "slack"})
"""Platforms on which a model can mention people only by their ids."""
_SHOWN: Final = 12


def hides(platform: str, *, asked: bool, also_safe: AbstractSet[str] = frozenset()) -> bool:
    """Tell whether ids of a platform are hidden, if that was asked for.

    `also_safe` names further platforms that need no raw ids; those that do stay as they are.

    >>> hides("signal", asked=True), hides("slack", asked=True), hides("signal", asked=False)
    (True, False, False)
    """
    return asked and platform not in MENTIONING and (platform in SAFE or platform in also_safe)


def hidden_sender(user_id: str) -> str:
    """Return what stands for a person's id: always the same, and 17 characters.

    >>> hidden_sender("42")
    'user_73475cb40a56'
    """
    return f"user_{_digest(user_id)}"


def hidden_chat(chat_id: str) -> str:
    """Return what stands for a chat's id; what it says before the first colon stays.

    >>> hidden_chat("42"), hidden_chat("room:42")
    ('73475cb40a56', 'room:73475cb40a56')
    """
    prefix, colon, rest = chat_id.partition(":")
    return f"{prefix}:{_digest(rest)}" if prefix and colon else _digest(chat_id)


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:_SHOWN]
