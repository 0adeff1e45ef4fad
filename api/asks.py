"""What does a request for a turn ask for?

The same for `POST /turns` and `POST /dispatch`: messages in any form that a comparison reads,
answers, what the caller believes the history to be, and what is to be done about each obstacle.
"""

from asyncio import to_thread
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, cast
from uuid import uuid4

from pydantic import Field, StrictBool
from sqlalchemy import Connection

from api.body import SHORT, Body, RawBody
from api.history_bodies import HeadBody, RewindFields
from domain.canonical import canonical
from domain.commands import ConfigureSession, HeadClaim, Proposal, Rewind
from domain.dispatch.kinds import WITH_PRIOR, Shape, shape_of
from domain.dispatch.situation import Policies
from domain.json_text import JsonValue, dump, parse, raw_members
from domain.raw_json import RawJson
from domain.refusals import NoSuchSession
from infrastructure.command_handler import Target
from infrastructure.composition import Turnlog
from infrastructure.hosting.answers import decisions
from infrastructure.hosting.asking import NOWHERE, Address, Ask, ClientHistory
from infrastructure.hosting.configured import stored_config
from infrastructure.hosting.priors import ends_unanswered, looked_at
from infrastructure.hosting.requests import Heard, answers_of, heard, prior_of, start_of
from infrastructure.hosting.seeds import json_of
from infrastructure.reading.sessions import session_head
from projections.comparing.told import Form

MESSAGES_LIMIT: Final = 10_000
INSTRUCTIONS: Final = "instructions"


class TurnBody(Body):
    """A request for a turn: messages, or answers, or both."""

    messages: Annotated[
        list[Any],
        Field(
            default_factory=list[Any],
            max_length=MESSAGES_LIMIT,
            description="The newest message alone, or the full history with it at its end. "
            "Leading system and developer messages are configuration: `instructions` in it.",
        ),
    ]
    form: Annotated[
        Form | None,
        Field(
            alias="format",
            description="The form of the messages; told by their shape if it is absent.",
        ),
    ] = None
    answers: Annotated[
        list[Any],
        Field(
            default_factory=list[Any],
            description="What gates are answered: `gate` (gate id, permission id or tool call id), "
            "`verdict` (approved, denied, answered), and `option_id`, `arguments`, `answer`, "
            "`message`, `on_behalf_of` where they say something.",
        ),
    ]
    config: Annotated[
        dict[str, Any] | None,
        Field(description="The session's configuration from this turn on; absent: as it is."),
    ] = None
    head: Annotated[
        HeadBody | None, Field(description="The history that the caller believes to be the newest.")
    ] = None
    rewind: Annotated[
        RewindFields | None, Field(description="What goes out of sight before the turn begins.")
    ] = None
    on_busy: Annotated[
        Literal["reject", "queue", "interrupt", "steer"],
        Field(
            description="What becomes of the request while a turn runs. `steer`: it is told to "
            "that turn between two of its steps, or waits as with `queue` where that cannot be."
        ),
    ] = "reject"
    on_gate: Annotated[
        Literal["reject", "queue", "withdraw"],
        Field(description="What becomes of new text while a gate is open."),
    ] = "reject"
    on_divergence: Annotated[
        Literal["default", "adopt", "reject"],
        Field(description="What becomes of a history that is not ours."),
    ] = "default"

    def claim(self) -> HeadClaim | None:
        """Return the head that is claimed."""
        return None if self.head is None else self.head.claim()

    def back(self) -> Rewind | None:
        """Return the rewind that is asked for."""
        return None if self.rewind is None else self.rewind.command("rewind", asked=True)

    def policies(self) -> Policies:
        """Return what is to be done about each obstacle."""
        return Policies(
            on_busy=self.on_busy, on_gate=self.on_gate, on_divergence=self.on_divergence
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a request's messages and answers come to.

    Attributes:
        address: Where the answer goes.
    """

    heard: Heard
    shape: Shape
    start: Proposal | None
    prior: ClientHistory | None
    answers: tuple[Proposal, ...]
    address: Address = NOWHERE


async def read_ask(
    log: Turnlog,
    target: Target,
    body: RawBody,
    fields: TurnBody,
    turn_id: str,
    address: Address = NOWHERE,
) -> Read:
    """Return what a request carries, its files taken out.

    Raises:
        Refusal: it is none of the five shapes, or a message is none, and where.
    """
    members = body.value if isinstance(body.value, dict) else {}
    messages, answers = _list(members.get("messages")), _list(members.get("answers"))
    rewind = fields.back()

    def look(connection: Connection) -> Read:
        read = _read(
            said=(messages, answers, fields.form),
            unanswered=lambda: ends_unanswered(connection, target, rewind=rewind),
            decide=lambda given: decisions(connection, target, given),
            rewind=rewind is not None,
            turn=(turn_id, address),
        )
        if read.prior is None or read.shape.kind not in WITH_PRIOR:
            return read
        return replace(read, prior=looked_at(connection, target, read.prior, rewind=rewind))

    return await log.read(look, long=len(body.raw) > SHORT)


async def check_ask(body: RawBody) -> None:
    """See to it that a request could be one for a turn, in whichever session.

    Raises:
        Refusal: it is none of the five shapes, or a message is none, and where.
    """
    if len(body.raw) > SHORT:
        await to_thread(_check, body)
    else:
        _check(body)


def _check(body: RawBody) -> None:
    members = body.value if isinstance(body.value, dict) else {}
    form = cast("Form | None", members.get("format"))
    _read(
        said=(_list(members.get("messages")), _list(members.get("answers")), form),
        unanswered=lambda: True,
        decide=lambda _: (),
        rewind=members.get("rewind") is not None,
        turn=(uuid4().hex, NOWHERE),
    )


class WaitingBody(TurnBody):
    """A request that waits: for a turn, or, if nothing is to run by it, to be recorded."""

    run: StrictBool = True


async def queued_ask(log: Turnlog, target: Target, request: bytes, address: Address) -> Ask:
    """Return what an input asked for that has waited; its owner is filled in by who runs it.

    Raises:
        Refusal: it can become no turn any more.
    """
    body = RawBody(request, parse(request))
    fields = body.valid(WaitingBody)
    turn_id = uuid4().hex
    ask = await hosted_ask(log, target, body, fields, turn_id, "", address)
    return replace(ask, runs=fields.run)


async def hosted_ask(  # noqa: PLR0913, PLR0917 - what a request is made of, and who runs it
    log: Turnlog,
    target: Target,
    body: RawBody,
    fields: TurnBody,
    turn_id: str,
    owner: str,
    address: Address = NOWHERE,
) -> Ask:
    """Return what is asked of a harness of this server.

    Leading system and developer messages are kept as `instructions` in the session's configuration:
    what is started later is told them too.

    Raises:
        Refusal: it is no request for a turn, and where.
    """
    read = await read_ask(log, target, body, fields, turn_id, address)
    ask = ask_of(read, fields, turn_id, owner, hosted=True, raw=body.raw)
    leading = read.heard.leading
    if ask.configure is None and not leading:
        return ask
    stored = await log.read(lambda connection: _stored_config(connection, target))
    given = None if ask.configure is None else ask.configure.config
    return replace(ask, configure=_configure(stored, given, leading))


def _stored_config(connection: Connection, target: Target) -> JsonValue:
    try:
        key, head, _ = session_head(connection, target)
    except NoSuchSession:
        return None
    return stored_config(connection, key, head)


def _configure(
    stored: JsonValue, given: object, leading: Sequence[JsonValue]
) -> ConfigureSession | None:
    """Return what the configuration becomes; None if it stays as it is.

    Instructions stay unless others are given: a client that sends its newest message alone leaves
    them out.
    """
    asked: JsonValue = stored if given is None else json_of(given)
    before = stored.get(INSTRUCTIONS) if isinstance(stored, dict) else None
    members = asked if isinstance(asked, dict) else {}
    kept: JsonValue = [*leading] or (None if INSTRUCTIONS in members else before)
    if kept is not None:
        asked = {**members, INSTRUCTIONS: kept}
    if canonical(asked) == canonical(stored):
        return None
    is_given = isinstance(given, RawJson) and kept is None
    return ConfigureSession(config=given if is_given else RawJson(dump(asked)))


def ask_of(
    read: Read,
    fields: TurnBody,
    turn_id: str,
    owner: str,
    *,
    hosted: bool,
    raw: bytes = b"",
    **more: Any,  # noqa: ANN401 - the rest of what an `Ask` has
) -> Ask:
    """Return what is asked for."""
    config = None if fields.config is None else RawJson(raw_members(raw)["config"])
    return Ask(
        shape=read.shape,
        turn_id=turn_id,
        owner=owner,
        hosted=hosted,
        start=read.start,
        answers=read.answers,
        prior=read.prior,
        claim=fields.claim(),
        rewind=fields.back(),
        policies=fields.policies(),
        configure=None if config is None else ConfigureSession(config=config),
        lane_id=read.address.lane_id,
        reply_to=read.address.reply_to,
        **more,
    )


def _read(
    said: tuple[Sequence[JsonValue], Sequence[JsonValue], Form | None],
    unanswered: Callable[[], bool],
    decide: Callable[[Sequence[Any]], tuple[Proposal, ...]],
    *,
    rewind: bool,
    turn: tuple[str, Address],
) -> Read:
    messages, answers, form = said
    told = heard(messages, form)
    shape = shape_of(
        told.carried,
        answers=bool(answers),
        rewind=rewind,
        unanswered=len(messages) > 1 and unanswered(),
    )
    return Read(
        heard=told,
        shape=shape,
        start=start_of(told, shape, *turn),
        prior=prior_of(told, shape),
        answers=decide(answers_of(told, shape, answers)),
        address=turn[1],
    )


def _list(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list) else []
