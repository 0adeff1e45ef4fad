"""What does a request want of a session, whoever is going to run its turn?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from sqlalchemy import Connection

from domain.commands import Batch, ConfigureSession, HeadClaim, Proposal, Rewind
from domain.dispatch.kinds import Shape
from domain.dispatch.situation import Credentials, Policies, Standing
from domain.recorded import ProducerStamp
from domain.state import Head
from infrastructure.hosting.compared import Compared
from projections.comparing.told import Form, Told


class Address(NamedTuple):
    """Where the answer to a request goes.

    Attributes:
        lane_id: The lane that it came by.
        reply_to: The platform's id of the message that is answered there.
    """

    lane_id: str | None = None
    reply_to: str | None = None


NOWHERE: Final = Address()


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldSeat:
    """The harness that whoever asks holds for the session.

    Attributes:
        alive: Whether it can still be prompted.
        busy: Whether whoever asks says that it is in the middle of something.
        credentials: What became of the credentials that it was given.
        pin: The history that it remembers, by version and fingerprint, as whoever holds it knows.
    """

    seat_id: str
    alive: bool = True
    credentials: Credentials = "ok"
    busy: bool = False
    pin: tuple[int, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientHistory:
    """What a client told of the conversation before what is new, in its own form.

    Attributes:
        known: What came of comparing it with the session as it was before anything was written.
    """

    messages: Sequence[Told]
    form: Form
    known: Compared | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The configuration that is asked for.

    Attributes:
        fingerprint: Of all of it; None if none is stated.
        facets: The digests of what is stated, by facet; empty if only the fingerprint is known.
        standing: Why no harness could work with it, if none could.
    """

    fingerprint: str | None = None
    facets: Mapping[str, str] = field(default_factory=dict[str, str])
    standing: Standing = "present"


Configured: TypeAlias = Callable[[Connection, int, Head], Wanted]
"""What tells which configuration a session has, by its key and its head."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A request for a turn, or for the going on of one.

    Attributes:
        shape: What it carries.
        turn_id: Of the turn that would begin.
        start: Its `turn-started`; None if the request brings no new text.
        answers: A `gate-decided` each.
        prior: None if the client told nothing of the conversation before.
        owner: The pool that would run it.
        hosted: Whether that is this server's own.
        config: What is asked for; or what tells what the session itself asks for.
        configure: What the session's configuration becomes, if the request changes it.
        seat: What that pool holds for the session; None if nothing.
        tells_asides: Whether it tells its harness what was said aside, if that is another's pool;
            ours always does.
        standing: Why whoever asks could not run a turn now, whatever the log says.
        continues: Whether it goes on with a turn whose gates are decided and that nobody runs.
        continued: Which turn that is, if whoever asks says so.
        queue_id: The input that waited, if it is one.
        in_line: Whether it waits, too, if other inputs do.
        came_ms: When it came, by a clock that only rises.
        lease_s: How long the turn's lease is.
        batch: The place of the turn's first batch in its producer's sequence.
        lane_id, reply_to: Where its answer goes; `start` says the same.
        runs: Whether a harness runs the turn; else what is said is recorded, and that is all.
    """

    shape: Shape
    turn_id: str
    owner: str
    hosted: bool
    start: Proposal | None = None
    answers: tuple[Proposal, ...] = ()
    prior: ClientHistory | None = None
    claim: HeadClaim | None = None
    rewind: Rewind | None = None
    policies: Policies = field(default_factory=Policies)
    config: Wanted | Configured = field(default_factory=Wanted)
    configure: ConfigureSession | None = None
    seat: HeldSeat | None = None
    tells_asides: bool = False
    standing: Standing = "present"
    continues: bool = False
    continued: str | None = None
    queue_id: str | None = None
    in_line: bool = False
    came_ms: float | None = None
    lease_s: int = 30
    batch: Batch | None = None
    lane_id: str | None = None
    reply_to: str | None = None
    runs: bool = True

    @property
    def producer(self) -> ProducerStamp | None:
        """Return whose batch the turn's start is."""
        batch = self.batch
        return (
            None
            if batch is None
            else ProducerStamp(
                producer_id=batch.producer_id, epoch=batch.epoch, sequence=batch.sequence
            )
        )
