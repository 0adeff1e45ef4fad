"""May this value stand in this field?

What becomes a key or a column is narrow, the same on every database: no control characters, a
limited length, a whole number that a column holds. Free text may be anything that JSON says.
"""

from typing import Final

from domain.identifiers import (
    ID_RULE,
    LANE_RULE,
    NAME_RULE,
    is_id,
    is_lane_id,
    is_line,
    is_name,
    is_readable,
)
from domain.messages import Message
from domain.raw_json import RawJson
from domain.refusals import InvalidValue
from domain.times import microseconds

TITLE_LIMIT: Final = 1_000
INPUT_LIMIT: Final = 1_000
"""Messages that a turn can begin with: as many as a batch has events."""
REPLY_LIMIT: Final = 512
COUNT_LIMIT: Final = 2**40
"""Sums of a whole session's counts stay below 2^63."""


def check_id(text: str, *at: str | int) -> None:
    """Raise `InvalidValue` unless `text` can be a session, project, turn or producer id."""
    if not is_id(text):
        raise InvalidValue(ID_RULE, *at)


def check_name(text: str | None, *at: str | int) -> None:
    """Raise `InvalidValue` unless `text` is absent, or can name a thing of another program."""
    if text is not None and not is_name(text):
        raise InvalidValue(NAME_RULE, *at)


def check_address(lane_id: str | None, reply_to: str | None) -> None:
    """Raise `InvalidValue` unless each is absent, or can say where an answer goes."""
    if lane_id is not None and not is_lane_id(lane_id):
        raise InvalidValue(LANE_RULE, "lane_id")
    if reply_to is not None and not (len(reply_to) <= REPLY_LIMIT and is_readable(reply_to)):
        detail = f"what is replied to has 1 to {REPLY_LIMIT} characters and no control characters"
        raise InvalidValue(detail, "reply_to")


def check_title(title: str | None, *at: str | int) -> None:
    """Raise `InvalidValue` unless `title` is absent, or something that can be shown as one."""
    if title is None:
        return
    if len(title) > TITLE_LIMIT:
        raise InvalidValue(f"a title has at most {TITLE_LIMIT} characters", *at)
    if not title.strip():
        raise InvalidValue("a title is not blank; null takes it away", *at)
    if not is_line(title):
        raise InvalidValue("a title has no control characters but tab and newline", *at)


def check_count(count: int | None, *at: str | int, least: int = 0) -> None:
    """Raise `InvalidValue` unless `count` is absent, or a whole number that a column can hold."""
    if count is not None and not least <= count < COUNT_LIMIT:
        raise InvalidValue(f"a count is at least {least} and below 2^40", *at)


def check_time(text: str | None, *at: str | int) -> None:
    """Raise `InvalidValue` unless `text` is absent or an RFC 3339 time."""
    if text is not None and microseconds(text) is None:
        raise InvalidValue("a time is RFC 3339 with an offset", *at)


def check_arguments(arguments: object, *at: str | int) -> None:
    """Raise `InvalidValue` unless `arguments` are an object or a text, as they were sent."""
    if not (isinstance(arguments, RawJson) and arguments[:1] in {b"{", b'"'}):
        raise InvalidValue("arguments are an object, or the text that the model wrote", *at)


def check_message(message: Message, *at: str | int) -> None:
    """Raise `InvalidValue` if a message's names are none, or nothing could replace it."""
    check_name(message.message_id, *at, "message_id")
    if message.author is not None:
        check_name(message.author.subject_id, *at, "author", "subject_id")
        check_name(message.author.display, *at, "author", "display")
    if message.status == "partial":
        if message.message_id is None:
            detail = "a partial message needs an id to be replaced by"
            raise InvalidValue(detail, *at, "message_id")
        if not message.content:
            raise InvalidValue("a partial message says something", *at, "content")
