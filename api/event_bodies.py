"""What does each event that a producer may append look like on the wire?

Strict where the stored form is tolerant: an unknown member is refused on the way in. The members
are those of the event in `domain.events`; a test keeps the two together.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictInt, StrictStr
from pydantic_core import PydanticCustomError

from api.body import Body
from domain.fields import INPUT_LIMIT, REPLY_LIMIT
from domain.identifiers import LANE
from domain.times import microseconds

Text = StrictStr
Count = Annotated[StrictInt, Field(ge=0, le=2**53)]
Anything = Any


def _moment(text: str) -> str:
    if microseconds(text) is None:
        raise PydanticCustomError("time", "a time is RFC 3339 with an offset")
    return text


Moment = Annotated[Text, AfterValidator(_moment), Field(json_schema_extra={"format": "date-time"})]


LaneId = Annotated[
    Annotated[Text, Field(pattern=f"^{LANE.pattern}$")] | None,
    Field(description="The lane that the turn came by, and that its answer goes back to."),
]
ReplyTo = Annotated[
    Annotated[Text, Field(min_length=1, max_length=REPLY_LIMIT)] | None,
    Field(description="The platform's id of the message that the turn answers."),
]


class TextPart(Body):
    """Words."""

    type: Literal["text"]
    text: Text


class ReasoningPart(Body):
    """The model's reasoning; a provider's signature stays beside it, verbatim."""

    type: Literal["reasoning"]
    text: Text
    signature: Text | None = None
    provider: Text | None = None


class AttachmentPart(Body):
    """A file: its bytes in base64, or the digest of bytes kept elsewhere."""

    type: Literal["attachment"]
    attachment_id: Text
    media_type: Text | None = None
    filename: Text | None = None
    size: Count | None = None
    data: Text | None = None
    sha256: Annotated[Text, Field(pattern="^[0-9a-f]{64}$")] | None = None


class DataPart(Body):
    """Anything else, kept as it is."""

    type: Literal["data"]
    kind: Text
    data: Anything


Part = Annotated[TextPart | ReasoningPart | AttachmentPart | DataPart, Field(discriminator="type")]


def _whole(content: object) -> object:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


Content = Annotated[
    list[Part],
    BeforeValidator(_whole, json_schema_input_type=Text | list[Part]),
    Field(description="A string, or parts."),
]


class AuthorBody(Body):
    """Whose words a message holds."""

    subject_id: Text
    display: Text | None = None


class MessageBody(Body):
    """What one participant said; a `partial` message is replaced by a later one with its id."""

    role: Literal["user", "assistant", "system", "developer"]
    content: Content
    message_id: Text | None = None
    status: Literal["complete", "partial"] = "complete"
    author: AuthorBody | None = None


class TurnStartedBody(Body):
    """A turn began with fresh user input."""

    turn_id: Text
    messages: Annotated[list[MessageBody], Field(min_length=1, max_length=INPUT_LIMIT)]
    history_sent: Literal["full", "minimal", "resume", "answer", "answer+text"] | None = None
    lane_id: LaneId = None
    reply_to: ReplyTo = None


class MessageRecordedBody(Body):
    """Somebody said something inside a turn."""

    turn_id: Text
    message: MessageBody


class ToolCallRequestedBody(Body):
    """The model asked for a tool; arguments are an object, or the text that the model wrote."""

    turn_id: Text
    tool_call_id: Text
    name: Text
    arguments: dict[str, Anything] | Text


class ToolCallCompletedBody(Body):
    """A tool call came to its result."""

    turn_id: Text
    tool_call_id: Text
    output: Anything
    is_error: bool = False
    denied: bool = False


class HistoryCompactedBody(Body):
    """A summary took the place of the messages up to one, for the model."""

    summary: Annotated[Text, Field(pattern=r"\S")]
    through_message_id: Text
    since_version: Annotated[StrictInt, Field(ge=1, le=2**31 - 1)] | None = None


class GateOpenedBody(Body):
    """The turn waits for an answer; the log mints the gate's id."""

    turn_id: Text
    kind: Literal["permission", "input"]
    permission_id: Text | None = None
    tool_call_id: Text | None = None
    tool: Text | None = None
    arguments: dict[str, Anything] | Text | None = None
    options: Anything = None
    answer_schema: Anything = None
    expires_at: Moment | None = None


class GateDecidedBody(Body):
    """A gate was answered; named by its id, its permission id or its tool call id."""

    gate_id: Text | None = None
    permission_id: Text | None = None
    tool_call_id: Text | None = None
    verdict: Literal["approved", "denied", "answered"]
    decided_by: Literal["person", "policy", "timeout", "cancelled"]
    via: Literal["in-band", "out-of-band"]
    option_id: Text | None = None
    arguments: dict[str, Anything] | Text | None = None
    answer: Anything = None
    message: Text | None = None
    on_behalf_of: Text | None = None


class UsageRecordedBody(Body):
    """A model was used, in a turn or between two."""

    turn_id: Text | None = None
    model: Text
    input_tokens: Count
    output_tokens: Count
    cache_read_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    cost: Anything = None


class DataRecordedBody(Body):
    """Something worth keeping that is no part of the conversation."""

    kind: Text
    data: Anything
    turn_id: Text | None = None


Timings = Annotated[dict[str, Anything], Field(description="Milliseconds by name.")]


class TurnCompletedBody(Body):
    """A turn ended by itself."""

    turn_id: Text
    stop_reason: Text | None = None
    record_count: Count | None = None
    timings: Timings | None = None


class ErrorBody(Body):
    """A short code, and words for a person."""

    code: Text
    message: Text | None = None


class TurnFailedBody(Body):
    """A turn ended by an error."""

    turn_id: Text
    error: ErrorBody
    record_count: Count | None = None
    timings: Timings | None = None


class TurnInterruptedBody(Body):
    """A turn was stopped from outside."""

    turn_id: Text
    reason: Text
    by: Text | None = None
    record_count: Count | None = None
    timings: Timings | None = None


class RecordsLostBody(Body):
    """Records are missing here; a count of null is unknown."""

    count: Annotated[StrictInt, Field(ge=1, le=2**53)] | None
    reason: Text
    turn_id: Text | None = None


class LossHealedBody(Body):
    """The records that were lost at this version are there after all."""

    loss_version: Annotated[StrictInt, Field(ge=1, le=2**31 - 1)]


class HarnessStartedBody(Body):
    """A harness was started, and given the history."""

    seat_id: Text
    owner: Text
    path: Literal["cold", "evicted"]
    turn_id: Text | None = None
    reason: Text | None = None
    detail: Anything = None
    history_from: Literal["client", "log"] | None = None


class HarnessParkedBody(Body):
    """A harness waits; what it remembers is the history as it was right before this."""

    seat_id: Text
    owner: Text
    state: Literal["idle", "awaiting_approval"]
    turn_id: Text | None = None
    config_fingerprint: Text | None = None
    prior_was_sent: StrictBool | None = None
    ttl_s: Count | None = None


class HarnessResumedBody(Body):
    """A parked harness goes on; `asides` messages, if any, were told it before the new one."""

    seat_id: Text
    owner: Text
    turn_id: Text | None = None
    asides: Annotated[StrictInt, Field(ge=1, le=2**53)] | None = None


class HarnessEvictedBody(Body):
    """A seat is empty again."""

    seat_id: Text
    owner: Text
    reason: Text
    turn_id: Text | None = None
    detail: Anything = None


EVENT_BODIES: Final[Mapping[str, type[Body]]] = {
    "turn-started": TurnStartedBody,
    "message-recorded": MessageRecordedBody,
    "tool-call-requested": ToolCallRequestedBody,
    "tool-call-completed": ToolCallCompletedBody,
    "history-compacted": HistoryCompactedBody,
    "gate-opened": GateOpenedBody,
    "gate-decided": GateDecidedBody,
    "usage-recorded": UsageRecordedBody,
    "data-recorded": DataRecordedBody,
    "turn-completed": TurnCompletedBody,
    "turn-failed": TurnFailedBody,
    "turn-interrupted": TurnInterruptedBody,
    "records-lost": RecordsLostBody,
    "loss-healed": LossHealedBody,
    "harness-started": HarnessStartedBody,
    "harness-parked": HarnessParkedBody,
    "harness-resumed": HarnessResumedBody,
    "harness-evicted": HarnessEvictedBody,
}
