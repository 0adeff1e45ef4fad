"""What does a gateway say that passes a message on, and what request for a turn is that?

A request for a turn in its own words, which may have to wait, and is read again then: with the
sender's name put to what is said, and an id that no message of another chat has.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Annotated, Any, Final, Literal

from pydantic import Field, StrictBool, StrictInt, StrictStr

from api.asks import TurnBody
from api.body import Body, RawBody
from api.dispatch_bodies import DispatchBody
from api.lane_bodies import BeginningBody, SourceField, beginning_of, source_in
from api.problems import Flaw, ProblemError
from domain.canonical import canonical
from domain.identifiers import is_name, is_readable
from domain.json_text import JsonValue, dump, parse, raw_members
from domain.lanes.inert import prefixed
from domain.lanes.source import ID_LIMIT
from domain.refusals import InvalidValue, Refusal
from infrastructure.hosting.requests import FILES
from infrastructure.lanes.messages import Incoming, Sender
from projections.comparing.forms import form_of

_TEXTS: Final = frozenset({"text", "input_text"})
_SAYING: Final = ("text", "content", "messages")
_OWN: Final = frozenset(
    {
        "source",
        "text",
        "content",
        "messages",
        "message_id",
        "revision",
        "reply_to",
        "run",
        "internal",
        "open",
    }
)
"""What the request for a turn does not say, or says in other words."""
_ID_RULE: Final = f"an id has 1 to {ID_LIMIT} characters and no control characters"
_MOST: Final = 2**31 - 1


class PassedOnBody(Body):
    """What came from a chat, and where it came from."""

    source: Annotated[
        SourceField | None,
        Field(description="Where it came from, as in `POST /lanes/resolve`."),
    ] = None
    text: Annotated[
        StrictStr | None, Field(description="What was said; or `content`, or `messages`.")
    ] = None
    content: Annotated[
        list[Any] | StrictStr | None, Field(description="What was said, as a message's content.")
    ] = None
    message_id: Annotated[
        StrictStr | StrictInt | None,
        Field(
            description="The platform's id of the message; `source.message_id` if it is absent. "
            "The same one again gets the first answer."
        ),
    ] = None
    revision: Annotated[
        StrictInt,
        Field(ge=0, le=_MOST, description="Of a message that was edited: a new one is new input."),
    ] = 0
    reply_to: Annotated[
        StrictStr | StrictInt | None,
        Field(description="What the answer replies to; the message itself if it is absent."),
    ] = None
    internal: Annotated[
        StrictBool,
        Field(description="It is the gateway's own: no activity of the lane, and nobody's words."),
    ] = False
    open: Annotated[
        BeginningBody | None,
        Field(description="What a session that is opened for it begins with."),
    ] = None


class LaneMessageBody(PassedOnBody, TurnBody):
    """A message that came from a chat."""

    on_busy: Annotated[
        Literal["reject", "queue", "interrupt", "steer"],
        Field(description="What becomes of the message while a turn runs."),
    ] = "queue"
    run: Annotated[
        StrictBool,
        Field(description="False: it is not for the agent, which only sees it at its next turn."),
    ] = True


class LaneQueueBody(PassedOnBody):
    """A message that waits for its own turn, whatever runs."""


class LaneDispatchBody(PassedOnBody, DispatchBody):
    """A message that came from a chat, and the runner that brings it."""


class PassedOn:
    """A message as it came, read.

    Attributes:
        incoming: What it is known by.
        reply_to: What its answer replies to.
    """

    def __init__(
        self, body: RawBody, fields: PassedOnBody, project_id: str, lane_id: str | None
    ) -> None:
        """Read what was passed on.

        Raises:
            Refusal: it is no message of a chat, and where.
            ProblemError: the same.
        """
        self._raw: Final = raw_members(body.raw)
        said = body.value if isinstance(body.value, dict) else {}
        self._given, self._messages = _messages(said)
        self._put_before = 0
        given = said.get("format")
        self._form: Final = given if isinstance(given, str) else form_of(self._messages)
        source = source_in(body, "source") if fields.source is not None else None
        if source is None and lane_id is None:
            raise InvalidValue("a message is of a source", "source")
        message_id = _id(fields.message_id, "message_id")
        if message_id is None and source is not None:
            message_id = source.message_id
        self.reply_to: Final = _id(fields.reply_to, "reply_to") or message_id
        self.incoming: Final = Incoming(
            project_id=project_id,
            source=source,
            lane_id=lane_id,
            message_id=message_id,
            revision=fields.revision,
            digest=_digest(self._messages, said.get("answers")),
            internal=fields.internal,
            beginning=beginning_of(body, fields.open),
        )

    def placed(self, refusal: Refusal) -> Refusal:
        """Return a refusal of the request for a turn, with its place in what was passed on."""
        first, rest = refusal.at[:2], refusal.at[2:]
        if first == ("messages", len(self._messages) - 1) and len(rest) > 1:
            named, part, *within = rest
            if isinstance(part, int) and part >= self._put_before:
                rest = (named, part - self._put_before, *within)
        if first == ("messages", 0) and self._given != "messages":
            refusal.at = (self._given, *(rest[1:] if rest[:1] == ("content",) else rest))
        else:
            refusal.at = (*first, *rest)
        return refusal

    def request(self, message_id: str | None, sender: Sender | None, **more: JsonValue) -> RawBody:
        """Return the request for a turn that it is; what was sent is in it as it was sent.

        `message_id` is its id in the session, and `sender` who says it, where several people speak.
        """
        members = {name: raw for name, raw in self._raw.items() if name not in _OWN}
        if self._messages:
            said = _named(self._messages[-1], message_id, sender, is_ours=self._form == "turnlog")
            self._put_before = _parts(said) - _parts(self._messages[-1])
            members["messages"] = dump([*self._messages[:-1], said])
            members["format"] = dump(self._form)
        members = {name: dump(value) for name, value in more.items()} | members
        raw = b",".join(b"%b:%b" % (dump(name), each) for name, each in members.items())
        return RawBody(b"{%b}" % raw, parse(b"{%b}" % raw))


def _messages(said: dict[str, JsonValue]) -> tuple[str, Sequence[JsonValue]]:
    """Return the member that tells what was said, and that as messages."""
    given = [name for name in _SAYING if said.get(name) not in (None, [])]
    if len(given) > 1:
        detail = "what was said is `text`, or `content`, or `messages`"
        raise ProblemError("invalid-value", detail, flaws=[Flaw(detail, (given[1],))])
    if not given:
        return "messages", ()
    what = said[given[0]]
    if given[0] == "messages":
        return "messages", what if isinstance(what, list) else ()
    return given[0], [{"role": "user", "content": what}]


def check_message_id(found: str | None, name: str = "message_id") -> None:
    """Raise `InvalidValue` unless there is none, or it can be a platform's id of a message."""
    if found is not None and (not is_readable(found) or len(found) > ID_LIMIT):
        raise InvalidValue(_ID_RULE, name)


def _id(given: str | int | None, name: str) -> str | None:
    found = None if given is None else str(given)
    check_message_id(found, name)
    return found


def _digest(messages: Sequence[JsonValue], answers: JsonValue) -> bytes:
    """Return a digest of what is said and answered, before anybody's name is put to it."""
    last = messages[-1] if messages else None
    content = _content(last) if isinstance(last, dict) else last
    words: list[JsonValue] = [{"type": "text", "text": content}]
    said: JsonValue = words if isinstance(content, str) else content
    return sha256(canonical({"said": said, "answers": answers or None})).digest()


def _content(message: dict[str, JsonValue]) -> JsonValue:
    return message.get("parts") if "content" not in message else message["content"]


def _parts(message: JsonValue) -> int:
    content = _content(message) if isinstance(message, dict) else None
    return len(content) if isinstance(content, list) else 0


def _named(
    message: JsonValue, message_id: str | None, sender: Sender | None, *, is_ours: bool
) -> JsonValue:
    """Return a person's message with its id, and with who says it; any other as it is."""
    if not isinstance(message, dict) or message.get("role") != "user":
        return message
    said = dict(message)
    if message_id is not None:
        said["message_id" if is_ours else "id"] = message_id
    if sender is None:
        return said
    if sender.subject_id is not None and is_ours and "author" not in said:
        author: dict[str, JsonValue] = {"subject_id": sender.subject_id}
        if sender.display is not None and is_name(sender.display):
            author["display"] = sender.display
        said["author"] = author
    where = "parts" if "content" not in said else "content"
    if where in said:
        said[where] = _with_name(said[where], sender.name)
    return said


def _with_name(content: JsonValue, name: str | None) -> JsonValue:
    """Put a name before the first words; files alone get words for it, and blanks nothing."""
    if isinstance(content, str):
        return prefixed(name, content) if content.strip() else content
    if not isinstance(content, list):
        return content
    for place, part in enumerate(content):
        text = part.get("text") if isinstance(part, dict) and part.get("type") in _TEXTS else None
        if isinstance(part, dict) and isinstance(text, str) and text.strip():
            named = part | {"text": prefixed(name, text)}
            return [*content[:place], named, *content[place + 1 :]]
    if any(isinstance(part, dict) and part.get("type") in FILES for part in content):
        return [{"type": "text", "text": prefixed(name, "")}, *content]
    return content
