"""Which events does a batch's body propose, with their bytes as they came?"""

from typing import Annotated, Any, Final
from uuid import uuid4

from pydantic import Field, StrictInt, StrictStr

from api.body import Body, RawBody, validated
from api.event_bodies import EVENT_BODIES, Moment
from api.history_bodies import HeadBody, RewindFields
from api.problems import Flaw, ProblemError
from api.session_bodies import OpenFields, open_command
from domain.commands import Proposal, Rewind
from domain.identifiers import ID_RULE, is_id
from domain.json_text import raw_members, raw_members_within
from domain.raw_json import with_member
from domain.recorded import ProducerStamp
from domain.refusals import Refusal
from domain.times import microseconds
from infrastructure.appending import BatchRequest
from infrastructure.proposing import proposal_of
from infrastructure.runs import MOST_LEASE_S

EVENTS_LIMIT: Final = 1_000
EVENT_LIMIT: Final = 1024 * 1024


class PreviousBody(Body):
    """The last batch that the producer knows it wrote to this session; sequence 0: none."""

    epoch: Annotated[StrictInt, Field(ge=1, le=2**31 - 1)]
    sequence: Annotated[StrictInt, Field(ge=0, le=2**53)]


class ProducerBody(Body):
    """Who sends, and the batch's place: one sequence number a batch, from 1 in each epoch."""

    id: StrictStr
    epoch: Annotated[StrictInt, Field(ge=1, le=2**31 - 1)]
    sequence: Annotated[StrictInt, Field(ge=1, le=2**53)]
    previous: PreviousBody | None = None


class EventBody(Body):
    """One event: its type, its data, and when it happened if that matters."""

    type: StrictStr
    data: dict[str, Any]
    occurred_at: Moment | None = None


class AppendBody(Body):
    """A producer's batch."""

    producer: ProducerBody
    expected_version: Annotated[StrictInt, Field(ge=0)] | None = None
    head: HeadBody | None = None
    open: OpenFields | None = None
    rewind: RewindFields | None = None
    fence: Annotated[
        StrictInt | None,
        Field(ge=1, le=2**53, description="What a leased turn is written to with."),
    ] = None
    lease_s: Annotated[
        StrictInt | None,
        Field(
            ge=1,
            le=MOST_LEASE_S,
            description=(
                "With a `turn-started`: lease the turn for so many seconds; the answer has its "
                "`fence`. With `fence`: renew the lease for so many; if absent, for as many as "
                "before."
            ),
        ),
    ] = None
    events: Annotated[list[EventBody], Field(min_length=1, max_length=EVENTS_LIMIT)]


def batch_request(body: RawBody, expected_version: int | None) -> BatchRequest:
    """Return what the body asks for.

    Raises:
        ProblemError: with the place of what is wrong.
    """
    _check_size(body)
    append = body.valid(AppendBody)
    producer = append.producer
    if not is_id(producer.id):
        raise _flaw(ID_RULE, "producer", "id")
    rewind = None if append.rewind is None else _rewind(append, append.rewind)
    if append.lease_s is not None and append.fence is None and not _starts(append):
        raise _flaw("a lease is taken with a turn-started, or renewed with its fence", "lease_s")
    raw, events = raw_members_within(body.raw, "events")
    opening = raw_members(raw["open"]) if append.open is not None else {}
    return BatchRequest(
        producer=ProducerStamp(
            producer_id=producer.id, epoch=producer.epoch, sequence=producer.sequence
        ),
        proposals=[
            _proposal(event, members["data"], number)
            for number, (event, members) in enumerate(zip(append.events, events, strict=True))
        ],
        previous=_previous(producer),
        expected_version=_expected(append, expected_version),
        claim=None if append.head is None else append.head.claim(),
        open=None if append.open is None else open_command(append.open, opening),
        rewind=rewind,
        fence=append.fence,
        lease_s=append.lease_s,
    )


def _rewind(append: AppendBody, fields: RewindFields) -> Rewind:
    command = fields.command("rewind", asked=True)
    if not _starts(append):
        raise _flaw("a rewind goes with the turn-started that takes its place", "rewind")
    return command


def _starts(append: AppendBody) -> bool:
    return any(event.type == "turn-started" for event in append.events)


def _previous(producer: ProducerBody) -> tuple[int, int] | None:
    """Return the batch before this one; sequence 0 says as much as nothing: there was none."""
    previous = producer.previous
    return (previous.epoch, previous.sequence) if previous and previous.sequence else None


def _expected(append: AppendBody, if_match: int | None) -> int | None:
    if if_match is None or append.expected_version in {None, if_match}:
        return append.expected_version if if_match is None else if_match
    raise _flaw("If-Match and expected_version name different versions", "expected_version")


def _check_size(body: RawBody) -> None:
    events = body.value.get("events") if isinstance(body.value, dict) else None
    if isinstance(events, list) and len(events) > EVENTS_LIMIT:
        detail = f"a batch holds at most {EVENTS_LIMIT} events"
        raise ProblemError("too-many-events", detail, flaws=[Flaw(detail, ("events",))])


def _proposal(event: EventBody, data: bytes, number: int) -> Proposal:
    at = ("events", number)
    model = EVENT_BODIES.get(event.type)
    if model is None:
        detail = "producers cannot append this type"
        raise ProblemError("unknown-event-type", detail, flaws=[Flaw(detail, (*at, "type"))])
    validated(model, event.data, *at, "data")
    read: dict[str, Any] | None = event.data
    if event.type == "gate-opened":
        data, read = with_member(data, "gate_id", f"gate-{uuid4()}"), None
    try:
        proposal = proposal_of(event.type, data, microseconds(event.occurred_at), read)
    except Refusal as refusal:
        raise refusal.inside(*at, "data") from None
    if proposal.offloaded and len(proposal.offloaded.body) > EVENT_LIMIT:
        detail = f"an event has at most {EVENT_LIMIT} bytes without its files and long texts"
        raise ProblemError("body-too-large", detail, flaws=[Flaw(detail, (*at, "data"))])
    return proposal


def _flaw(detail: str, *at: str | int) -> ProblemError:
    return ProblemError("invalid-value", detail, flaws=[Flaw(detail, at)])
