"""May this be said, or summarised, now?"""

from typing import Final

from domain import events as e
from domain.cuts import cut_after, waiting_at
from domain.fields import INPUT_LIMIT, check_address, check_count, check_id, check_message
from domain.identifiers import derived_from
from domain.messages import Message
from domain.paths import runs_within, spot_of
from domain.place import RECORDS_A_MESSAGE
from domain.records import InState, message_with_id
from domain.refusals import (
    InvalidValue,
    MessageClosed,
    MessageExists,
    TurnExists,
    TurnInProgress,
)
from domain.standing import running_turn
from domain.state import Placed, State

WHOLE_ONLY: Final = f"a message takes {RECORDS_A_MESSAGE} records; now only the whole one is taken"


def check_turn_started(state: State, event: e.TurnStarted, *, imported: bool) -> None:
    """Raise a refusal unless a turn can begin with this input now."""
    check_id(event.turn_id, "turn_id")
    check_address(event.lane_id, event.reply_to)
    if event.turn_id in state.turns:
        raise TurnExists(event.turn_id)
    if state.head.turn_id is not None:
        raise TurnInProgress(state.head.turn_id)
    if not event.messages and not imported and event.history_sent != "answer":
        raise InvalidValue("a turn begins with a message, or with an answer", "messages")
    if len(event.messages) > INPUT_LIMIT:
        raise InvalidValue(f"a turn begins with at most {INPUT_LIMIT} messages", "messages")
    named: set[str] = set()
    for number, message in enumerate(event.messages):
        at = ("messages", number)
        if message.role not in {"user", "system", "developer"}:
            raise InvalidValue("a turn begins with user input", *at, "role")
        if message.status == "partial":
            raise InvalidValue("a turn's first input is whole", *at, "status")
        check_message(message, *at)
        if message.message_id is not None:
            _check_unreserved(state, event.turn_id, message.message_id, *at)
            if message.message_id in named or message.message_id in state.message_ids:
                raise MessageExists(message.message_id).inside(*at)
            named.add(message.message_id)


def check_message_recorded(state: State, event: e.MessageRecorded) -> None:
    """Raise a refusal unless this message can be said in its turn now."""
    message = event.message
    running_turn(state, event.turn_id)
    if message.role == "tool":
        raise InvalidValue("a result is recorded by tool-call-completed", "message", "role")
    check_message(message, "message")
    if message.message_id is None:
        return
    _check_unreserved(state, event.turn_id, message.message_id, "message")
    index = state.message_ids.get(message.message_id)
    if index is not None:
        _check_replaces(state, event.turn_id, message, state.messages[index])


def _check_replaces(state: State, turn_id: str, message: Message, known: Placed) -> None:
    if not known.partial or (known.turn_id, known.role) != (turn_id, message.role):
        raise MessageExists(known.message_id).inside("message")
    if known.index != state.head.tip or not state.head.tail_open:
        raise MessageClosed(known.message_id).inside("message")
    if message.status == "partial" and len(known.versions) >= RECORDS_A_MESSAGE:
        raise MessageClosed(known.message_id, WHOLE_ONLY).inside("message")
    if not message.content:
        raise InvalidValue("what replaces a partial message says something", "message", "content")


def _check_unreserved(state: State, turn_id: str, message_id: str, *at: str | int) -> None:
    """A turn's messages without an id are `<turn_id>:<n>`; nothing else may be called so."""
    derived = derived_from(message_id)
    if derived is not None and (derived[0] == turn_id or derived[0] in state.turns):
        detail = "an id <turn_id>:<n> of a turn of this session is the log's to give"
        raise InvalidValue(detail, *at, "message_id")


def check_compaction(state: State, event: e.HistoryCompacted, *, imported: bool) -> None:
    """Raise a refusal unless a summary can stand for the messages up to this one.

    A call and its result stay on one side. A transcript of another program is taken as it is.
    """
    at = "through_message_id"
    head, records, here = state.head, InState(state), spot_of(state.head)
    last = message_with_id(records, event.through_message_id)
    within = last and runs_within(records.branch, here, last.index, last.index + 1)
    if last is None or not within or within[0].depth < head.archived:
        raise InvalidValue("no live message has this id", at)
    check_count(event.since_version, "since_version", least=1)
    if event.since_version is not None and event.since_version > head.version:
        raise InvalidValue("the log has no such version yet", "since_version")
    if event.since_version is not None and last.versions[-1] > event.since_version:
        raise InvalidValue("this message is newer than the summary's watermark", at)
    if not imported and _splits(state, last):
        raise InvalidValue("a call before this place has its result after it, or none yet", at)


def _splits(state: State, last: Placed) -> bool:
    """A late result is in no transcript, and a call of a turn that is over gets no other."""
    running = state.head.turn_id == last.turn_id
    return any(
        running if call.status == "open" else call.status != "late"
        for call in waiting_at(state.calls, cut_after(last))
    )
