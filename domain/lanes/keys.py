"""Which conversation is this: who shares it, and what is it called?

One list of named parts answers all of it. The key is the parts in a row, the same text that other
gateways give the place, so that what they knew it by still finds it; the lane's id is made of the
parts with their names, so that no two places share it, whatever their ids look like.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Literal, TypeAlias

from domain.lanes.source import Source, thread_of
from domain.lanes.whatsapp import NO_ALIASES, Aliases, all_of, canonical

Part: TypeAlias = Literal[
    "namespace", "platform", "chat_type", "scope", "peer", "chat", "thread", "user"
]
LANE_ID_LENGTH: Final = 32

_OF_A_PERSON: Final = frozenset(
    {"email", "irc", "signal", "sms", "telegram", "whatsapp", "whatsapp_cloud"}
)
"""Platforms on which a direct chat has the id of the person in it."""
_VERSION: Final = "v2"
"""Before a key whose parts are escaped; a key of plain parts begins with another word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPolicy:
    """What a project wants to be one conversation.

    Attributes:
        group_sessions_per_user: Whether each member of a group has one of their own.
        thread_sessions_per_user: Whether that is so in threads too.
        profiles: Whether the agent's profiles are spoken to apart.
    """

    group_sessions_per_user: bool = True
    thread_sessions_per_user: bool = False
    profiles: bool = False
    aliases: Aliases = NO_ALIASES


def named_parts(source: Source, policy: KeyPolicy) -> dict[Part, str]:
    """Return what a conversation is told from all others by, in the order of its key.

    Who speaks in a direct chat is no part of it, but where the chat has no id; the two are one
    part, `peer`. A part that is not known is left out.
    """
    thread = thread_of(source)
    begins = thread and not source.thread_id
    parts: dict[Part, str | None] = {
        "namespace": _namespace(source, policy),
        "platform": source.platform,
        "chat_type": "thread" if begins else source.chat_type,
        "scope": _scope(source),
    }
    if source.chat_type == "dm":
        parts |= {"peer": _peer(source, policy), "thread": thread}
    else:
        own = policy.group_sessions_per_user and (not thread or policy.thread_sessions_per_user)
        user = participant(source, policy) if own else None
        parts |= {"chat": source.chat_id, "thread": thread, "user": user}
    return {name: part for name, part in parts.items() if part}


def lane_key(source: Source, policy: KeyPolicy) -> str:
    """Return the key of a conversation.

    >>> lane_key(Source(platform="telegram", chat_id="99", thread_id="topic-1"), KeyPolicy())
    'agent:main:telegram:dm:99:topic-1'
    >>> lane_key(Source(platform="webhook", chat_type="webhook", chat_id="ci:7"), KeyPolicy())
    'v2:agent:main:webhook:webhook:ci%3A7'
    """
    return key_of(named_parts(source, policy))


def lane_id(source: Source, policy: KeyPolicy) -> str:
    """Return the id of a conversation: 32 hex digits of a hash over its named parts."""
    return id_of(named_parts(source, policy))


def key_of(parts: dict[Part, str]) -> str:
    """Return the key that these parts make."""
    return joined(("agent", *parts.values()))


def id_of(parts: dict[Part, str]) -> str:
    """Return the lane's id that these parts make."""
    named = joined(f"{name}={part}" for name, part in parts.items())
    return sha256(named.encode()).hexdigest()[:LANE_ID_LENGTH]


def is_shared(source: Source, policy: KeyPolicy) -> bool:
    """Tell whether several people speak in one conversation: no direct chat, and nobody's own.

    Members of a group whom the platform does not name have one together.
    """
    return source.chat_type != "dm" and "user" not in named_parts(source, policy)


def owner(source: Source, policy: KeyPolicy) -> str:
    """Return whose conversation it is; what has the same owner may be gone on with here.

    That of one person is theirs, wherever on the platform they speak; one that is shared, or whose
    only member the platform does not name, belongs to its place alone. A direct chat in which
    nobody is named belongs to the chat, whose id is a person's on some platforms and not on others.
    """
    parts = named_parts(source, policy)
    person, kind = participant(source, policy), "person"
    if person is None and "peer" in parts:
        person, kind = parts["peer"], "person" if source.platform in _OF_A_PERSON else "chat"
    if is_shared(source, policy) or not person:
        return key_of(parts)
    scope = (parts["scope"],) if "scope" in parts else ()
    return joined((kind, parts["namespace"], parts["platform"], *scope, person))


def participant(source: Source, policy: KeyPolicy) -> str | None:
    """Return who speaks: by the stable id where there is one, and by one id of many."""
    said = source.user_id_alt or source.user_id
    return _one_of_many(source, said, policy)


def ids_of(source: Source, policy: KeyPolicy) -> frozenset[str]:
    """Return every id by which who speaks is known; in a direct chat it may be the chat's alone.

    On WhatsApp these are all ids of the same person, whichever of them came.
    """
    said: set[str | None] = {source.user_id, source.user_id_alt}
    if source.chat_type == "dm" and not any(said):
        said = {source.chat_id}
    if source.platform == "whatsapp":
        said |= {other for each in said if each for other in all_of(each, policy.aliases)}
    return frozenset(each for each in said if each)


def joined(parts: Iterable[str]) -> str:
    """Return the parts with colons between; no other parts that begin alike make the same text.

    Only if a colon is in one of them they are escaped, and the text begins with a version.
    """
    listed = tuple(parts)
    if any(":" in part for part in listed):
        escaped = (part.replace("%", "%25").replace(":", "%3A") for part in listed)
        return ":".join((_VERSION, *escaped))
    return ":".join(listed)


def _namespace(source: Source, policy: KeyPolicy) -> str:
    """Return the part for the profile; `~` cannot be in a profile's name."""
    profile = source.profile if policy.profiles else None
    if not profile or profile == "default":
        return "main"
    return "main~" if profile == "main" else profile


def _scope(source: Source) -> str | None:
    """Return the workspace where ids of chats and people mean something only within one."""
    return source.scope_id if source.platform == "slack" else None


def _peer(source: Source, policy: KeyPolicy) -> str | None:
    return _one_of_many(source, source.chat_id, policy) or participant(source, policy)


def _one_of_many(source: Source, said: str | None, policy: KeyPolicy) -> str | None:
    """Return an id, or the one that stands for it; what names nobody stays as it is."""
    if not said or source.platform != "whatsapp":
        return said or None
    return canonical(said, policy.aliases) or said
