"""Where did a message come from?

What a chat gateway says of it: ids as the platform has them, compared character by character, and
names for people to read. Nothing that a sender could forge to be trusted is taken: whether a source
is trusted is never said by the source.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from domain.fields import check_id
from domain.json_text import JsonValue
from domain.lanes.inert import single_line
from domain.refusals import InvalidValue

PLATFORMS: Final = frozenset(
    {
        "api",
        "api_server",
        "bluebubbles",
        "dingtalk",
        "discord",
        "email",
        "feishu",
        "google_chat",
        "homeassistant",
        "irc",
        "line",
        "local",
        "matrix",
        "mattermost",
        "msgraph_webhook",
        "ntfy",
        "qqbot",
        "signal",
        "simplex",
        "slack",
        "sms",
        "teams",
        "telegram",
        "web",
        "webhook",
        "wecom",
        "wecom_callback",
        "weixin",
        "whatsapp",
        "whatsapp_cloud",
        "yuanbao",
    }
)
CHAT_TYPES: Final = ("dm", "group", "channel", "thread", "forum", "webhook")
ID_LIMIT: Final = 512
PLACE_LIMIT: Final = 2_048
"""Bytes of all ids that a key can be made of, a colon as it is written there: databases keep lists
of keys, whose entries are that long at most."""
NAME_LIMIT: Final = 512
TOPIC_LIMIT: Final = 4_096
"""Some platforms keep a whole page of rules there."""

_OWN_PLATFORM: Final = re.compile(r"x-[a-z0-9][a-z0-9_-]{0,61}")
PLATFORM_RULE: Final = (
    f"a platform is one of: {', '.join(sorted(PLATFORMS))}; or one of your own, "
    f"^{_OWN_PLATFORM.pattern}$"
)
_CHAT_TYPE_RULE: Final = f"a chat type is one of: {', '.join(CHAT_TYPES)}"
_ID_RULE: Final = f"an id has at most {ID_LIMIT} characters and no control characters"
_NUMBER_LIMIT: Final = 2**64
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_UNSTORABLE: Final = re.compile(r"[\x00\ud800-\udfff]")
_SHOWN_MEMBER: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a message came from. An id or name that is not known is None.

    Attributes:
        user_id_alt: The person's stable id, where the platform has one; it goes before `user_id`.
        chat_id_alt: What the platform calls the chat internally.
        scope_id: The workspace or server that the chat is in.
        parent_chat_id: The chat of a thread that is a chat itself.
        message_id: The message that this was said in.
        role_authorized: Whether the person may speak because of a role on the platform.
        profile: Which of the agent's profiles was spoken to.
        auto_thread_created, auto_thread_initial_name: Of a thread that was made for the answer.
        prospective_thread_id: The thread that will be made for the answer.
    """

    platform: str
    chat_id: str | None = None
    chat_name: str | None = None
    chat_type: str = "dm"
    user_id: str | None = None
    user_name: str | None = None
    thread_id: str | None = None
    chat_topic: str | None = None
    user_id_alt: str | None = None
    chat_id_alt: str | None = None
    is_bot: bool = False
    scope_id: str | None = None
    parent_chat_id: str | None = None
    message_id: str | None = None
    role_authorized: bool = False
    profile: str | None = None
    auto_thread_created: bool = False
    auto_thread_initial_name: str | None = None
    prospective_thread_id: str | None = None


_FLAGS: Final = frozenset({"auto_thread_created", "is_bot", "role_authorized"})
_NAMES: Final[Mapping[str, int]] = {
    "auto_thread_initial_name": NAME_LIMIT,
    "chat_name": NAME_LIMIT,
    "chat_topic": TOPIC_LIMIT,
    "user_name": NAME_LIMIT,
}
_OLD_SCOPE: Final = "guild_id"
_PLACE: Final = (
    "scope_id",
    _OLD_SCOPE,
    "profile",
    "chat_id",
    "thread_id",
    "prospective_thread_id",
    "user_id",
    "user_id_alt",
)
MEMBERS: Final = (*(field.name for field in fields(Source)), _OLD_SCOPE)
"""What a source on the wire may say; `guild_id` is the older name of `scope_id`."""


def read_source(value: JsonValue, *at: str | int) -> Source:
    """Return the source that JSON says; an id may be a whole number, and empty means unknown.

    Raises:
        InvalidValue: If it says something else than a source does, its ids are longer together
            than a key can be, or it names no place: a message that came in a group which nobody
            names would meet those of all such groups.
    """
    if not isinstance(value, dict):
        raise InvalidValue("a source is an object", *at)
    read: dict[str, str | bool] = {}
    for name, said in value.items():
        member = _member(name, said, *at)
        if member is not None:
            read[name] = member
    if "platform" not in read:
        raise InvalidValue(PLATFORM_RULE, *at, "platform")
    source = _source(read)
    if source.chat_type != "dm" and not (source.chat_id or thread_of(source)):
        raise InvalidValue("all chats but direct ones are named by their chat_id", *at, "chat_id")
    if sum(_length(read.get(name)) for name in _PLACE) > PLACE_LIMIT:
        detail = f"the ids of a chat and of who speaks have at most {PLACE_LIMIT} bytes together"
        raise InvalidValue(detail, *at)
    return source


def recorded_source(value: Mapping[str, object]) -> Source:
    """Return what can be understood of a source that was recorded, by whichever build."""
    read: dict[str, str | bool] = {}
    for name, said in value.items():
        try:
            member = _member(name, said)
        except InvalidValue:
            continue
        if member is not None:
            read[name] = member
    platform = value.get("platform")
    return _source({"platform": platform if isinstance(platform, str) else ""} | read)


def source_json(source: Source) -> dict[str, JsonValue]:
    """Return what `read_source` reads as this source; what is not known is left out."""
    said: dict[str, JsonValue] = {}
    for field in fields(source):
        value = getattr(source, field.name)
        if value or field.name == "platform":
            said[field.name] = value
    if source.scope_id:
        said[_OLD_SCOPE] = source.scope_id
    return said


def is_platform(name: str) -> bool:
    """Tell whether a platform has this name, or one of an agent's own can.

    >>> is_platform("telegram"), is_platform("x-intercom"), is_platform("Telegram")
    (True, True, False)
    """
    return name in PLATFORMS or _OWN_PLATFORM.fullmatch(name) is not None


def identifier(said: object, *at: str | int) -> str:
    """Return an id of a platform, which may be written as a whole number.

    Raises:
        InvalidValue: If it is none.
    """
    if isinstance(said, int) and not isinstance(said, bool):
        if not -_NUMBER_LIMIT < said < _NUMBER_LIMIT:
            raise InvalidValue("an id that is a number is below 2^64; write it as a text", *at)
        return str(said)
    if not isinstance(said, str):
        raise InvalidValue("an id is a text or a whole number", *at)
    if len(said) > ID_LIMIT or _CONTROL.search(said):
        raise InvalidValue(_ID_RULE, *at)
    return said


def thread_of(source: Source) -> str | None:
    """Return the thread that a message belongs to; in a group, the one that it will begin counts.

    >>> thread_of(Source(platform="discord", chat_type="group", prospective_thread_id="7"))
    '7'
    """
    if source.chat_type == "dm":
        return source.thread_id or None
    return source.thread_id or source.prospective_thread_id or None


def description(source: Source) -> str:
    """Return one line that says where it was, for people.

    >>> description(Source(platform="telegram", chat_id="99", user_name="Alice"))
    'DM with Alice'
    >>> description(
    ...     Source(platform="telegram", chat_id="-1", chat_type="group", thread_id="12345")
    ... )
    'group: -1, thread: 12345'
    """
    if source.platform == "local":
        return "this machine"
    if source.chat_type == "dm":
        person = source.user_name or source.chat_name or source.user_id or source.chat_id
        place = f"DM with {single_line(person or '') or 'somebody'}"
    else:
        chat = single_line(source.chat_name or source.chat_id or "")
        place = f"{source.chat_type}: {chat}" if chat else source.chat_type
    thread = source.thread_id
    if not thread or thread == source.chat_id:
        return place
    return f"{place}, thread: {single_line(thread)}"


def _source(read: Mapping[str, str | bool]) -> Source:
    said: dict[str, Any] = dict(read)
    older = said.pop(_OLD_SCOPE, None)
    return Source(**({"scope_id": older} | said))


def _member(name: str, said: object, *at: str | int) -> str | bool | None:
    """Return what one member says; None if it says nothing.

    Raises:
        InvalidValue: If there is no such member, or it cannot say that.
    """
    if name not in MEMBERS:
        detail = f"a source has no such member; it has: {', '.join(MEMBERS)}"
        raise InvalidValue(detail, *at, name[:_SHOWN_MEMBER])
    if said is None or said == "":
        return None
    if name in _FLAGS:
        if not isinstance(said, bool):
            raise InvalidValue("this is true or false", *at, name)
        return said
    if name in _NAMES:
        return _name(said, _NAMES[name], *at, name)
    return _word(name, identifier(said, *at, name), *at)


def _word(name: str, said: str, *at: str | int) -> str:
    """Return an id, unless it has to be one of a few, or of the agent's own."""
    if name == "platform" and not is_platform(said):
        raise InvalidValue(PLATFORM_RULE, *at, name)
    if name == "chat_type" and said not in CHAT_TYPES:
        raise InvalidValue(_CHAT_TYPE_RULE, *at, name)
    if name == "profile":
        check_id(said, *at, name)
    return said


def _length(said: object) -> int:
    """Return how many bytes an id has in a key at most."""
    if not isinstance(said, str):
        return 0
    return len(said.encode()) + 2 * (said.count(":") + said.count("%"))


def _name(said: object, most: int, *at: str | int) -> str:
    if not isinstance(said, str):
        raise InvalidValue("a name is a text", *at)
    if len(said) > most or _UNSTORABLE.search(said):
        raise InvalidValue(f"a name has at most {most} characters and no NUL", *at)
    return said
