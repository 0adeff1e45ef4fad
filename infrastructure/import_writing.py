"""How do the events of a transcript become facts, whatever the rules say of some of them?

In pieces, each a transaction with its marker last, so that no other writer waits long. Until the
last piece is there the session says that records are missing, and is not ready; the next import of
the same source goes on where a program that died stopped. What the rules refuse is kept as opaque
data in its place.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from domain.commands import BeginBatch, OpenSession, Record, SessionCommand
from domain.json_text import JsonValue, dump
from domain.keys import keys_of
from domain.raw_json import RawJson, dumped, with_member
from domain.refusals import InvalidValue, Refusal
from infrastructure.command_handler import Caller, CommandHandler, Target
from infrastructure.import_planning import FilePlan, SessionPlan
from infrastructure.import_recall import ACTOR, REFUSED
from infrastructure.imports.claude_lines import short_digest
from infrastructure.imports.translation import Loss, TranslatedEvent
from infrastructure.proposing import proposal_of
from infrastructure.runner import Attempt, Runner
from infrastructure.serialization import Unreadable

IN_PROGRESS: Final = "import-in-progress"
PIECE: Final = 500
PIECE_BYTES: Final = 2 * 2**20
BATCH: Final = 500
BATCH_BYTES: Final = 8 * 2**20
CAUTIOUS: Final = 16
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """How many facts were appended, and which events the rules refused.

    Attributes:
        version: The session's version after them.
        loss_version: Where the loss stands that tells of events still to come.
    """

    facts: int
    losses: tuple[Loss, ...]
    version: int
    loss_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """One event to record, and the line that it came from."""

    type: str
    body: bytes
    occurred_at: int | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """An item, and the wish to record it."""

    item: _Item
    record: Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """What to append to one session.

    Attributes:
        seen: The version that this was planned on; 0 for a new session.
        title: The title to give it.
        loss_version: Where the loss stands that an unfinished import left.
        format, source_name, lines, digest: What the markers say of the source.
        losses: How many losses the translation had.
    """

    session_id: str
    seen: int
    events: Sequence[TranslatedEvent]
    open: OpenSession | None = None
    title: str | None = None
    loss_version: int | None = None
    format: str
    source_name: str
    lines: int
    digest: str
    losses: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of an addition: `remaining` events come after it."""

    events: Sequence[TranslatedEvent]
    remaining: int


def addition(file: FilePlan, session: SessionPlan) -> Addition:
    """Return what a plan wants appended to one of its sessions."""
    return Addition(
        session_id=session.session_id,
        seen=session.seen,
        events=session.events,
        open=session.open,
        title=session.title,
        loss_version=session.loss_version,
        format=file.format,
        source_name=file.name,
        lines=file.lines,
        digest=file.digest,
        losses=len(file.report.losses),
    )


def write_session(
    handler: CommandHandler,
    runner: Runner,
    project_id: str,
    adding: Addition,
    heard: Callable[[int], None] = lambda _: None,
) -> Written:
    """Append it piece by piece; `heard` is told how many events each piece had.

    Raises:
        VersionMoved: the session is not as it was when this was planned, or after a piece.
        Refusal: the session is deleted or full.
    """
    facts = 0
    losses: list[Loss] = []
    for piece in _pieces(adding.events):
        now = adding
        written = runner.run(
            lambda attempt, now=now, piece=piece: write_piece(  # type: ignore[misc]
                handler, attempt, project_id, now, piece
            )
        )
        facts += written.facts
        losses += written.losses
        adding = replace(
            adding, seen=written.version, loss_version=written.loss_version, open=None, title=None
        )
        heard(len(piece.events))
    return Written(facts=facts, losses=tuple(losses), version=adding.seen)


def write_piece(
    handler: CommandHandler, attempt: Attempt, project_id: str, adding: Addition, piece: Piece
) -> Written:
    """Append one piece in the transaction of an attempt."""
    target = Target(project_id=project_id, session_id=adding.session_id)
    writer = _Writer(handler, attempt, target, _items(project_id, adding, piece))
    writer.write(
        BeginBatch(
            expected_version=adding.seen,
            open=adding.open,
            events=len(piece.events) + piece.remaining + 4,
        )
    )
    loss_version = adding.loss_version
    if piece.remaining and loss_version is None:
        data: dict[str, JsonValue] = {"count": piece.remaining, "reason": IN_PROGRESS}
        writer.add(_Item(type="records-lost", body=dump(data)))
        loss_version = writer.version
    elif loss_version is not None and not piece.remaining:
        writer.add(_Item(type="loss-healed", body=dump({"loss_version": loss_version})))
        loss_version = None
    writer.add(_marker(adding, piece, loss_version, adding.losses + len(writer.losses)))
    return Written(
        facts=writer.facts,
        losses=tuple(writer.losses),
        version=writer.version,
        loss_version=loss_version,
    )


def _pieces(events: Sequence[TranslatedEvent]) -> Iterator[Piece]:
    start = 0
    while True:
        end, size = start, 0
        while end < len(events) and end - start < PIECE and size < PIECE_BYTES:
            size += len(events[end].data)
            end += 1
        yield Piece(events=events[start:end], remaining=len(events) - end)
        if end == len(events):
            return
        start = end


class _Writer:
    """Appends items in batches, in the transaction of one attempt."""

    def __init__(
        self, handler: CommandHandler, attempt: Attempt, target: Target, items: Iterator[_Item]
    ) -> None:
        self._handler = handler
        self._attempt = attempt
        self._target = target
        self._waiting: deque[_Read] = deque()
        self._items = items
        self.facts = 0
        self.version = 0
        self.losses: list[Loss] = []

    def write(self, begin: BeginBatch) -> None:
        """Append all items; a batch that the rules refuse is tried again without its bad event."""
        size = BATCH
        first: list[SessionCommand] = [begin]
        while (batch := self._next(size)) or first:
            try:
                self._carry_out([*first, *(read.record for read in batch)])
            except Refusal as refusal:
                number = _number(refusal)
                if number is None:
                    raise
                batch[number] = self._refused(batch[number].item, type(refusal).__name__)
                self._waiting.extendleft(reversed(batch))
                size = number or CAUTIOUS
            else:
                first = []
                size = min(BATCH, max(CAUTIOUS, 2 * size))

    def add(self, item: _Item) -> None:
        """Append one more."""
        self._carry_out([_record(item)])

    def _carry_out(self, steps: Sequence[SessionCommand]) -> None:
        appended = self._handler.carry_out(
            self._attempt, self._target, steps, keys_of(steps), caller=Caller(actor=ACTOR)
        )
        self.facts += len(appended.facts)
        self.version = appended.head.version

    def _next(self, size: int) -> list[_Read]:
        """Return at most `size` items, and no more bytes than a batch has."""
        batch: list[_Read] = []
        room = BATCH_BYTES
        while len(batch) < size and room > 0:
            if not self._waiting:
                item = next(self._items, None)
                if item is None:
                    break
                self._waiting.append(self._read(item))
            batch.append(self._waiting.popleft())
            room -= len(batch[-1].item.body)
        return batch

    def _read(self, item: _Item) -> _Read:
        try:
            return _Read(item=item, record=_record(item))
        except (Unreadable, KeyError):
            return self._refused(item, "Unreadable")
        except InvalidValue:
            return self._refused(item, "InvalidValue")

    def _refused(self, item: _Item, reason: str) -> _Read:
        code = "".join(f"-{c.lower()}" if c.isupper() else c for c in reason).lstrip("-")
        self.losses.append(
            Loss(line=item.line, code="refused-on-import", detail=f"{item.type}: {code}")
        )
        data = {"type": item.type, "reason": code, "data": RawJson(item.body)}
        body = dumped({"kind": REFUSED, "data": data})
        kept = replace(item, type="data-recorded", body=body)
        return _Read(item=kept, record=_record(kept))


def _items(project_id: str, adding: Addition, piece: Piece) -> Iterator[_Item]:
    if adding.title is not None:
        body = dump({"title": adding.title, "by": "import"})
        yield _Item(type="session-renamed", body=body)
    for event in piece.events:
        at = event.occurred_at
        body = event.data
        if event.type == "gate-opened":
            named = f"{project_id}\n{adding.session_id}\n{event.line}\n" + body.decode()
            body = with_member(body, "gate_id", f"gate-{short_digest(named)}")
        yield _Item(
            type=event.type,
            body=body,
            occurred_at=None if at is None else (at - _EPOCH) // _MICROSECOND,
            line=event.line,
        )


def _marker(adding: Addition, piece: Piece, loss_version: int | None, losses: int) -> _Item:
    data: dict[str, JsonValue] = {
        "format": adding.format,
        "source_name": adding.source_name,
        "lines": adding.lines,
        "digest": adding.digest,
        "from_version": adding.seen + 1,
        "losses": losses,
    }
    if piece.remaining:
        data |= {"remaining": piece.remaining, "loss_version": loss_version}
    return _Item(type="history-imported", body=dump(data))


def _record(item: _Item) -> Record:
    return Record(proposal=proposal_of(item.type, item.body, item.occurred_at), imported=True)


def _number(refusal: Refusal) -> int | None:
    """Return which event of the batch was refused, if it was one."""
    match refusal.at:
        case ("events", int(number), *_):
            return number
        case _:
            return None
