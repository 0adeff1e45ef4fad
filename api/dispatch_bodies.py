"""What does a runner say of itself when it asks how a turn goes on?"""

from typing import Annotated, Any, Final, Literal

from pydantic import Field, StrictBool, StrictInt, StrictStr

from api.asks import TurnBody
from api.batches import ProducerBody
from api.body import Body
from api.problems import Flaw, ProblemError
from domain.commands import Batch
from domain.identifiers import ID_RULE, NAME_RULE, is_id, is_name
from infrastructure.hosting.asking import HeldSeat, Wanted
from infrastructure.runs import LEASE_S, MOST_LEASE_S

_NAME: Final = {"minLength": 1, "maxLength": 256}


class SeatBody(Body):
    """The harness that the runner holds for the session, as it knows it."""

    seat_id: StrictStr
    state: Annotated[
        Literal["idle", "awaiting_approval", "busy"],
        Field(description="`busy`: it is in the middle of something, whatever the log says."),
    ] = "idle"
    alive: Annotated[StrictBool, Field(description="Whether it can still be prompted.")] = True


class BeginBody(Body):
    """What to carry the decision out with: a turn id, a place in a sequence, a lease."""

    turn_id: Annotated[
        StrictStr | None,
        Field(description="Of the turn that begins; answers alone can do without."),
    ] = None
    producer: ProducerBody
    lease_s: Annotated[StrictInt, Field(ge=1, le=MOST_LEASE_S)] = LEASE_S
    seat_id: Annotated[
        StrictStr | None,
        Field(description="The id that a new harness's seat gets; made up if it is absent."),
    ] = None


class DispatchBody(TurnBody):
    """A request for a turn, and what the runner that brings it could run it with."""

    owner: Annotated[StrictStr, Field(description="The runner, as its seats and leases name it.")]
    config_fingerprint: Annotated[
        StrictStr | None, Field(description="Of the configuration that is asked for.")
    ] = None
    config_facets: Annotated[
        dict[str, StrictStr] | None,
        Field(description="The digest of each part of the configuration that is asked for."),
    ] = None
    applied_facets: Annotated[
        dict[str, StrictStr] | None,
        Field(description="The digest of each part that the seat's harness applied."),
    ] = None
    credentials_epoch: Annotated[
        Literal["ok", "expired", "rotated", "expiring"],
        Field(description="What became of the credentials that the seat's harness was given."),
    ] = "ok"
    seat: SeatBody | None = None
    tells_asides: Annotated[
        StrictBool,
        Field(
            description="The runner tells its harness, before what is new, what the answer's "
            "`asides` name: messages that were said to others since it was parked. False: such a "
            "harness is not gone on with.",
        ),
    ] = False
    begin: Annotated[
        BeginBody | None,
        Field(description="Absent: the decision is told, and nothing but a refusal recorded."),
    ] = None
    go_on: Annotated[
        StrictStr | None,
        Field(
            alias="continue",
            description="The turn to go on with, whose gates were decided elsewhere: in place of "
            "messages and answers.",
        ),
    ] = None
    queue_id: Annotated[
        StrictStr | None,
        Field(description="The input that waited and is taken up now: in place of messages."),
    ] = None
    include: Annotated[
        Literal["history"] | None,
        Field(description="`history`: what a new harness has to be told, if one is started."),
    ] = None
    history_format: Annotated[
        Literal["turnlog", "openai", "anthropic", "ui"],
        Field(
            description="The form of that history and of `asides`; `format` is that of the "
            "request's messages."
        ),
    ] = "turnlog"
    dry_run: Annotated[
        StrictBool, Field(description="Only tell, whatever `begin` says; record nothing.")
    ] = False

    @property
    def carry_out(self) -> bool:
        """Tell whether the decision is to be recorded."""
        return self.begin is not None and not self.dry_run

    def check(self, value: dict[str, Any]) -> None:
        """See to it that names are names, and that one thing is asked for.

        Raises:
            ProblemError: naming the first member that is wrong.
        """
        if not is_name(self.owner):
            raise _flaw(NAME_RULE, "owner")
        if self.config_fingerprint is not None and not is_name(self.config_fingerprint):
            raise _flaw(NAME_RULE, "config_fingerprint")
        if self.seat is not None and not is_id(self.seat.seat_id):
            raise _flaw(ID_RULE, "seat", "seat_id")
        if self.go_on is not None and not is_id(self.go_on):
            raise _flaw(ID_RULE, "continue")
        if self.queue_id is not None and not is_id(self.queue_id):
            raise _flaw(ID_RULE, "queue_id")
        alone = [name for name in ("continue", "queue_id") if value.get(name) is not None]
        others = [*alone[1:], *(name for name in _ASKING if value.get(name))]
        if alone and others:
            raise _flaw(f"`{alone[0]}` stands in place of what else could be asked", others[0])
        self._check_begin()

    def _check_begin(self) -> None:
        begin = self.begin
        if begin is None:
            return
        if not is_id(begin.producer.id):
            raise _flaw(ID_RULE, "begin", "producer", "id")
        for name in ("turn_id", "seat_id"):
            given = getattr(begin, name)
            if given is not None and not is_id(given):
                raise _flaw(ID_RULE, "begin", name)

    def batch(self) -> Batch | None:
        """Return the place of the turn's start in its producer's sequence."""
        if self.begin is None:
            return None
        who = self.begin.producer
        previous = who.previous
        return Batch(
            producer_id=who.id,
            epoch=who.epoch,
            sequence=who.sequence,
            current=who.epoch,
            previous=(
                (previous.epoch, previous.sequence) if previous and previous.sequence else None
            ),
        )

    def held(self) -> HeldSeat | None:
        """Return the harness that the runner holds."""
        if self.seat is None:
            return None
        return HeldSeat(
            seat_id=self.seat.seat_id,
            alive=self.seat.alive,
            credentials=self.credentials_epoch,
            busy=self.seat.state == "busy",
        )

    def wanted(self) -> Wanted:
        """Return the configuration that is asked for."""
        return Wanted(fingerprint=self.config_fingerprint, facets=self.config_facets or {})


_ASKING: Final = ("messages", "answers", "rewind")


def _flaw(detail: str, *at: str) -> ProblemError:
    return ProblemError("invalid-value", detail, flaws=[Flaw(detail, at)])
