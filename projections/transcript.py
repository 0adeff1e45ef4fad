"""What has been said, and what of it does the model still see?

Each message is folded from the facts that it is made of, as the fingerprints are. A fact whose body
is gone leaves a placeholder part, `{"type":"missing","reason"}`: nothing that is gone hides the
rest. Any version can be looked at: later facts are left out.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from domain import events as e
from domain.blobs import Cut
from domain.evolve import merge, summary_parts
from domain.messages import Author, Part, Role
from domain.pieces import is_partial, pieces_of
from domain.state import Piece, Placed
from projections.calls import CallView, CallViews
from projections.cuts import NO_CUTS, FactCuts, call_cuts, summary_cuts

MessageState: TypeAlias = Literal["live", "archived", "rewound"]
Shape: TypeAlias = dict[str, object]
Facts: TypeAlias = Mapping[int, e.Fact]


class Alternative(NamedTuple):
    """A message that begins another turn in a message's place.

    Attributes:
        rewind_version: The rewind whose redo brings it back; None if it is in sight.
    """

    message_id: str
    turn_id: str
    version: int
    rewind_version: int | None


class Others(NamedTuple):
    """What began in a message's place, oldest first, and how many older ones are left out."""

    alternatives: tuple[Alternative, ...] = ()
    more: int = 0

    def shape(self) -> Shape:
        """Return what a message says of them; nothing if there are none."""
        shape: Shape = {}
        if self.alternatives:
            shape["alternatives"] = [each._asdict() for each in self.alternatives]
        if self.more:
            shape["alternatives_more"] = self.more
        return shape


NO_OTHERS: Final = Others()


class Standing(NamedTuple):
    """A message, how many come before it on its way, whether it is seen, and what else began."""

    placed: Placed
    depth: int
    state: MessageState
    others: Others = NO_OTHERS


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptMessage:
    """One message as it stood at a version.

    Attributes:
        index: How many come before it, on the way to what is in sight or to where it was.
        turn_id: None for a summary, which belongs to no turn.
        version: The first fact that it is made of.
        summary: Whether it stands for the archived messages before it.
    """

    index: int
    message_id: str
    turn_id: str | None
    version: int
    role: Role
    state: MessageState
    parts: tuple[Part, ...]
    author: Author | None = None
    partial: bool = False
    summary: bool = False
    others: Others = NO_OTHERS

    def shape(self) -> Shape:
        """Return the message as the contract shows it; opaque JSON as it was sent."""
        shape: Shape = {
            "index": self.index,
            "message_id": self.message_id,
            "turn_id": self.turn_id,
            "version": self.version,
            "role": self.role,
            "state": self.state,
            **self.others.shape(),
            "parts": self.parts,
        }
        if self.author is not None:
            shape["author"] = _author_shape(self.author)
        if self.partial:
            shape["status"] = "partial"
        if self.summary:
            shape["summary"] = True
        return shape


def messages_of(
    standing: Iterable[Standing],
    facts: Facts,
    calls: CallViews,
    *,
    at: int,
    cuts: FactCuts = NO_CUTS,
) -> Iterator[TranscriptMessage]:
    """Yield each message as it stood at version `at`.

    Args:
        standing: Messages that had begun by then, and where they stood.
        facts: What they are made of, by version; one that is not there is shown as missing.
        calls: The calls that they hold.
        at: A version.
        cuts: What of calls and results was cut; messages say it themselves.
    """
    for message, depth, state, others in standing:
        pieces = pieces_at(message, facts, at)
        yield TranscriptMessage(
            index=depth,
            message_id=message.message_id,
            turn_id=message.turn_id,
            version=message.versions[0],
            role=message.role,
            state=state,
            parts=tuple(
                call_cuts(_shown(piece, facts, calls), cuts.get(piece.version, ()))
                for piece in pieces
            )
            if cuts
            else tuple(_shown(piece, facts, calls) for piece in pieces),
            author=_author(message, facts, at),
            partial=is_partial(pieces),
            others=others,
        )


def summary_of(
    fact: e.Fact | None, version: int, archived: int, cuts: Iterable[Cut] = ()
) -> TranscriptMessage:
    """Return what the model sees in the place of the archived messages; `cuts` is what was cut."""
    parts = summary_parts(fact) if isinstance(fact, e.HistoryCompacted) else (_missing(fact),)
    parts = tuple(summary_cuts(part, cuts) for part in parts)
    return TranscriptMessage(
        index=archived - 1,
        message_id=summary_id(version),
        turn_id=None,
        version=version,
        role="user",
        state="live",
        parts=parts,
        summary=True,
    )


def summary_id(version: int) -> str:
    """Return the message id of the summary that was recorded at `version`."""
    return f"summary:{version}"


def pieces_at(placed: Placed, facts: Facts, at: int) -> tuple[Piece, ...]:
    """Return what a message was made of at version `at`."""
    pieces: tuple[Piece, ...] = ()
    for version in placed.versions:
        if version <= at:
            pieces = merge(pieces, _pieces(facts.get(version), version, placed.item))
    return pieces


def _pieces(fact: e.Fact | None, version: int, item: int) -> tuple[Piece, ...]:
    if fact is None or isinstance(fact, e.Opaque):
        return (Piece(version=version, source=None, open=False, part=_missing(fact)),)
    return pieces_of(fact, version, item)


def _missing(fact: e.Fact | None) -> Part:
    reason = fact.reason if isinstance(fact, e.Opaque) else "missing-event"
    return {"type": "missing", "reason": reason}


def _shown(piece: Piece, facts: Facts, calls: CallViews) -> Part:
    match facts.get(piece.version):
        case (
            e.ToolCallRequested(turn_id=turn_id, tool_call_id=call_id)
            | e.GateOpened(turn_id=turn_id, tool_call_id=str() as call_id)
        ):
            return _shown_call(piece.part, calls.requested(piece.version, (turn_id, call_id)))
        case e.ToolCallCompleted():
            return _shown_result(piece.part, calls.by_result.get(piece.version))
        case _:
            return piece.part


def _shown_call(part: Part, view: CallView | None) -> Part:
    if view is None:
        return part
    shape: Shape = {**part, "status": view.status}
    if view.call.occurrence > 1:
        shape["occurrence"] = view.call.occurrence
    if view.gate is not None:
        shape["gate"] = {"gate_id": view.gate.gate_id, "status": view.gate_status}
    return shape


def _shown_result(part: Part, view: CallView | None) -> Part:
    if view is None:
        return part
    shape: Shape = {**part}
    if view.call.name is not None:
        shape["name"] = view.call.name
    if view.call.occurrence > 1:
        shape["occurrence"] = view.call.occurrence
    return shape


def _author(placed: Placed, facts: Facts, at: int) -> Author | None:
    said = (_said(facts.get(version), placed.item) for version in placed.versions if version <= at)
    return next((author for author in said if author is not None), None)


def _said(fact: e.Fact | None, item: int) -> Author | None:
    match fact:
        case e.TurnStarted(messages=messages) if item < len(messages):
            return messages[item].author
        case e.MessageRecorded(message=message):
            return message.author
        case _:
            return None


def _author_shape(author: Author) -> Shape:
    shape: Shape = {"subject_id": author.subject_id}
    if author.display is not None:
        shape["display"] = author.display
    return shape
