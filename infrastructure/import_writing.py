"""How do the events of a transcript become facts, whatever the rules say of some of them?

One transaction a session, its marker last: a session is seen whole or not at all, and a program
that dies leaves nothing that the next import would have to mend. What the rules refuse is kept as
opaque data in its place.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from domain.commands import BeginBatch, Proposal, Record, SessionCommand
from domain.json_text import dump
from domain.keys import keys_of
from domain.raw_json import RawJson, dumped
from domain.refusals import Refusal
from infrastructure.command_handler import Caller, CommandHandler, Target
from infrastructure.import_planning import FORMAT, FilePlan, SessionPlan
from infrastructure.imports.translation import Loss
from infrastructure.runner import Attempt
from infrastructure.serialization import Unreadable, event_of, members_of

ACTOR: Final = "import"
REFUSED: Final = "turnlog/refused-on-import"
BATCH: Final = 1_000
BATCH_BYTES: Final = 8 * 2**20
CAUTIOUS: Final = 16
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """How many facts were appended, and which events the rules refused."""

    facts: int
    losses: tuple[Loss, ...]


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


def write_session(
    handler: CommandHandler,
    attempt: Attempt,
    project_id: str,
    file: FilePlan,
    session: SessionPlan,
) -> Written:
    """Append what is planned for a session.

    Raises:
        VersionMoved: the session is not as it was when this was planned.
        Refusal: the session is deleted or full.
    """
    target = Target(project_id=project_id, session_id=session.session_id)
    writer = _Writer(handler, attempt, target, _items(session))
    writer.write(
        BeginBatch(
            expected_version=session.seen,
            open=session.open,
            events=len(session.events) + 3,
        )
    )
    losses = len(file.report.losses) + len(writer.losses)
    writer.add(_marker(file, session, losses))
    return Written(facts=writer.facts, losses=tuple(writer.losses))


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

    def _refused(self, item: _Item, reason: str) -> _Read:
        code = "".join(f"-{c.lower()}" if c.isupper() else c for c in reason).lstrip("-")
        self.losses.append(
            Loss(line=item.line, code="refused-on-import", detail=f"{item.type}: {code}")
        )
        data = {"type": item.type, "reason": code, "data": RawJson(item.body)}
        body = dumped({"kind": REFUSED, "data": data})
        kept = replace(item, type="data-recorded", body=body)
        return _Read(item=kept, record=_record(kept))


def _items(session: SessionPlan) -> Iterator[_Item]:
    if session.title is not None:
        body = dump({"title": session.title, "by": "import"})
        yield _Item(type="session-renamed", body=body)
    for event in session.events:
        at = event.occurred_at
        yield _Item(
            type=event.type,
            body=event.data,
            occurred_at=None if at is None else (at - _EPOCH) // _MICROSECOND,
            line=event.line,
        )


def _marker(file: FilePlan, session: SessionPlan, losses: int) -> _Item:
    return _Item(
        type="history-imported",
        body=dump(
            {
                "format": FORMAT,
                "source_name": file.name,
                "lines": file.lines,
                "digest": file.digest,
                "from_version": session.seen + 1,
                "losses": losses,
            }
        ),
    )


def _record(item: _Item) -> Record:
    event = event_of(item.type, members_of(item.type, item.body))
    proposal = Proposal(event=event, body=item.body, occurred_at=item.occurred_at)
    return Record(proposal=proposal, imported=True)


def _number(refusal: Refusal) -> int | None:
    """Return which event of the batch was refused, if it was one."""
    match refusal.at:
        case ("events", int(number), *_):
            return number
        case _:
            return None
