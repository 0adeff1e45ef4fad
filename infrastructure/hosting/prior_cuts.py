"""Up to which of our turns is a client's history ours, and what of it comes after them?

A turn stays if all of it lies before the first difference, and the client tells the next thing in a
message of its own. What is read is as much as the comparison reads.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from domain.paths import runs, turn_at
from domain.positions import before_turn
from domain.records import Records
from domain.state import Turn
from infrastructure.fork_records import records_of
from infrastructure.reading.comparing import compared
from infrastructure.reading.files import with_held_files
from infrastructure.reading.moment import Moment
from infrastructure.reading.places import finder
from infrastructure.reading.transcript import extent, page
from projections.comparing.comparison import Comparison, needed
from projections.comparing.entries import Entry, entries_of
from projections.comparing.forms import carries, our_history
from projections.comparing.told import Form, Part, Told


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Where a client's history leaves ours, at a boundary of turns.

    Attributes:
        turns: How many of our turns stay.
        gone: The first one that does not; None if all do.
        rest: From which of the client's messages on it is not ours.
    """

    turns: int
    gone: str | None
    rest: int


def cut_of(
    connection: Connection, moment: Moment, theirs: Sequence[Told], form: Form, found: Comparison
) -> Cut:
    """Return where a history that does not agree leaves ours."""
    if not moment.sight.turns:
        return Cut(turns=0, gone=None, rest=0)
    summed_up = _sees_summary(connection, moment, theirs, form, found)
    ours = _entries(connection, moment, theirs, form, summed_up=summed_up)
    told = entries_of(theirs, _everything)
    turns, messages, gone = _kept(connection, moment, found.common_prefix)
    records = records_of(connection, moment.key, moment.head)
    while turns:
        last = gone.started_version if gone is not None else moment.head.version + 1
        hidden = summed_up and last <= (moment.summary_version or 0)
        unfinished = gone is None and moment.head.turn_id is not None
        edge = None if hidden or unfinished else _edge(ours, messages)
        if edge is not None:
            rest = _place(theirs, told, edge)
            return Cut(turns=turns, gone=None if gone is None else gone.turn_id, rest=rest)
        gone = _turn_at(connection, moment, records, turns - 1)
        if gone is None:
            break  # a damaged log has lost it
        before = before_turn(records, gone)
        turns, messages = before.turns, before.messages
    first = _turn_at(connection, moment, records, 0)
    return Cut(turns=0, gone=None if first is None else first.turn_id, rest=0)


def is_beginning(
    connection: Connection, moment: Moment, theirs: Sequence[Told], form: Form, common: int
) -> bool:
    """Tell whether a history is all of ours before the first difference: a strict prefix."""
    found = compared(connection, _until(moment, common), theirs, form, past=True)
    return found.agrees and not found.window


def _everything(_: Part, __: str) -> bool:
    return True


def _until(moment: Moment, messages: int) -> Moment:
    """Return the moment with only so many messages in sight."""
    archived = min(moment.archived, messages)
    kept = archived == moment.archived
    sight = moment.sight._replace(
        messages=messages,
        archived=archived if kept else 0,
        summary_version=moment.summary_version if kept else None,
    )
    return replace(moment, sight=sight)


def _as_displayed(moment: Moment) -> Moment:
    return replace(moment, sight=moment.sight._replace(archived=0, summary_version=None))


def _sees_summary(
    connection: Connection, moment: Moment, theirs: Sequence[Told], form: Form, found: Comparison
) -> bool:
    """Tell whether what was found is found in what the model sees, not in what is displayed."""
    if moment.summary_version is None:
        return False
    return compared(connection, _as_displayed(moment), theirs, form, past=True) != found


def _entries(
    connection: Connection, moment: Moment, theirs: Sequence[Told], form: Form, *, summed_up: bool
) -> list[Entry]:
    shown = moment if summed_up else _as_displayed(moment)
    view = extent(shown, with_archived=not summed_up)
    messages = page(connection, shown, view.after(view.first, needed(theirs)))
    held = with_held_files(connection, moment.target.project_id, messages)
    return entries_of(
        our_history(list(held)),
        lambda part, role: carries(form, part, role),
        systems=form != "anthropic",
    )


def _kept(connection: Connection, moment: Moment, common: int) -> tuple[int, int, Turn | None]:
    """Return how many turns and messages come before the turn with the first difference."""
    if common >= moment.messages:
        return moment.sight.turns, moment.messages, None
    records = records_of(connection, moment.key, moment.head)
    (run,) = runs(finder(connection, moment), moment.sight.spot, common, common + 1)
    message = records.message(run.first)
    turn = None if message is None else records.turn(message.turn_id)
    if turn is None:
        return 0, 0, None  # a damaged log has lost it
    before = before_turn(records, turn)
    return before.turns, before.messages, turn


def _turn_at(connection: Connection, moment: Moment, records: Records, depth: int) -> Turn | None:
    return records.turn_numbered(turn_at(finder(connection, moment), moment.sight.spot, depth))


def _edge(ours: Sequence[Entry], messages: int) -> int | None:
    """Return how many entries our first messages are; None if one goes on beyond them."""
    entries = [entry for entry in ours if entry.place.index < messages]
    if entries and _end_of(entries[-1]) >= messages:
        return None
    return len(entries)


def _end_of(entry: Entry) -> int:
    """Return the index of the last message that an entry has something of."""
    return max(
        entry.place.index,
        *(words.place.index for words in (*entry.texts, *entry.reasoning)),
        *(call.place.index for call in entry.calls),
        *(file.place.index for file in entry.files),
    )


def _place(theirs: Sequence[Told], told: Sequence[Entry], entries: int) -> int:
    """Return which of the client's messages comes after so many entries."""
    if entries >= len(told):
        return len(theirs)
    index = told[entries].place.index
    return next(n for n, message in enumerate(theirs) if message.index == index)
