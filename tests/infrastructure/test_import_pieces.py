"""A long transcript comes in pieces; whoever stops between two leaves a session that says so."""

import json
from collections.abc import Callable

import pytest

from domain.json_text import JsonValue, dump
from domain.readiness import Policy, readiness
from domain.refusals import ImportConflict
from infrastructure.import_sources import given
from infrastructure.import_writing import PIECE
from infrastructure.importing import FileImport, OnConflict, TranscriptImport
from infrastructure.imports.formats import TranscriptFormat
from infrastructure.rebuilding import rebuild
from infrastructure.runner import Attempt
from infrastructure.verification import verify
from tests.infrastructure.writing import Store, propose, target, turn


def talk(count: int) -> list[JsonValue]:
    return [
        {"role": role, "content": f"{role} {number}"}
        for number in range(count)
        for role in ("user", "assistant")
    ]


def take(
    store: Store,
    messages: list[JsonValue],
    format_: TranscriptFormat = "openai-chat",
    on_conflict: OnConflict = "refuse",
    heard: Callable[[int], None] = lambda _: None,
) -> FileImport:
    importing = TranscriptImport(
        store.database, store.runner, store.handler, "default", format_, heard
    )
    return importing.take(given("chat.json", dump(messages)), on_conflict)


def types(store: Store, session_id: str = "chat") -> list[str]:
    return [fact.envelope.type for fact in store.facts(session_id)]


def reasons(store: Store, session_id: str = "chat") -> list[str]:
    with store.transaction() as commit:
        _, state = store.handler.state(Attempt(commit, patient=False), target(session_id))
    found = readiness(state.head, None, Policy(unverified_turns=True, known_after=0))
    return [reason.code for reason in found.reasons]


def sound(store: Store, session_id: str = "chat") -> bool:
    views = rebuild(store.database, store.runner, check_only=True)
    return verify(store.database, "default", session_id).ok and not views.differences


class Stop(Exception):
    """The process ends here."""


def stopping(after: int) -> Callable[[int], None]:
    heard = 0

    def stop(events: int) -> None:
        nonlocal heard
        heard += events
        if heard >= after:
            raise Stop

    return stop


def test_a_stopped_import_leaves_a_session_that_is_not_ready(store: Store) -> None:
    with pytest.raises(Stop):
        take(store, talk(PIECE), heard=stopping(1))
    assert types(store)[-2:] == ["records-lost", "history-imported"]
    assert reasons(store) != []


@pytest.mark.parametrize("pieces", [1, 2])
def test_the_same_file_completes_what_was_stopped(store: Store, pieces: int) -> None:
    with pytest.raises(Stop):
        take(store, talk(PIECE), heard=stopping(pieces * PIECE))
    taken = take(store, talk(PIECE))
    assert taken.status == "imported"
    assert types(store).count("turn-completed") == PIECE
    assert types(store)[-2:] == ["loss-healed", "history-imported"]
    assert reasons(store) == []
    assert take(store, talk(PIECE)).status == "unchanged"
    assert sound(store)


def test_a_longer_file_completes_it_too(store: Store) -> None:
    with pytest.raises(Stop):
        take(store, talk(PIECE), heard=stopping(1))
    take(store, talk(PIECE + 1))
    assert types(store).count("turn-completed") == PIECE + 1
    assert reasons(store) == []
    assert take(store, talk(PIECE)).status == "unchanged"


def test_what_went_on_between_two_pieces_is_not_written_over(store: Store) -> None:
    with pytest.raises(Stop):
        take(store, talk(PIECE), heard=stopping(1))
    running = next(
        fact.envelope.turn_id for fact in reversed(store.facts("chat")) if fact.envelope.turn_id
    )
    end = b'{"turn_id":"%s"}' % str(running).encode()
    store.append([propose("turn-completed", end)], "chat")
    store.append(turn("t9"), "chat")
    with pytest.raises(ImportConflict):
        take(store, talk(PIECE))


def test_an_older_copy_of_an_imported_file_is_unchanged(store: Store) -> None:
    take(store, talk(5))
    for count in (1, 3, 4):
        assert take(store, talk(count)).status == "unchanged"
    take(store, talk(6))
    assert types(store).count("turn-completed") == 6


def test_an_older_copy_that_differs_is_a_conflict(store: Store) -> None:
    take(store, talk(5))
    with pytest.raises(ImportConflict):
        take(store, [*talk(2), {"role": "user", "content": "else"}])
    assert take(store, [*talk(2), *talk(1)], on_conflict="fork").sessions == ("chat-2",)


def test_a_transcript_whose_gate_is_answered_later_goes_on(store: Store) -> None:
    asked: JsonValue = {"id": "ap1"}
    part: dict[str, JsonValue] = {
        "type": "tool-rm",
        "toolCallId": "c1",
        "state": "approval-requested",
        "input": {},
        "approval": asked,
    }
    user: JsonValue = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "go"}]}

    def with_part(**more: JsonValue) -> list[JsonValue]:
        return [user, {"id": "m", "role": "assistant", "parts": [{**part, **more}]}]

    assert take(store, with_part(), "ui-messages").status == "imported"
    answer: JsonValue = {"id": "ap1", "approved": False, "reason": "no"}
    taken = take(store, with_part(state="output-denied", approval=answer), "ui-messages")
    assert taken.report.losses == ()
    assert types(store) == [
        "session-opened",
        "turn-started",
        "tool-call-requested",
        "gate-opened",
        "history-imported",
        "gate-decided",
        "tool-call-completed",
        "history-imported",
    ]
    assert take(store, with_part(), "ui-messages").status == "unchanged"
    forked = take(store, [*with_part(state="input-available"), user], "ui-messages", "fork")
    assert forked.sessions == ("chat-2",)
    assert sound(store)


def test_gates_of_a_fork_have_ids_of_their_own(store: Store) -> None:
    def gated(text: str) -> list[JsonValue]:
        part: JsonValue = {
            "type": "tool-rm",
            "toolCallId": "c1",
            "state": "approval-requested",
            "input": {},
            "approval": {"id": "ap1"},
        }
        user: JsonValue = {"id": "u", "role": "user", "parts": [{"type": "text", "text": text}]}
        return [user, {"id": "m", "role": "assistant", "parts": [part]}]

    take(store, gated("one"), "ui-messages")
    assert take(store, gated("two"), "ui-messages", "fork").sessions == ("chat-2",)
    gates = [
        json.loads(fact.body or b"{}")["gate_id"]
        for session_id in ("chat", "chat-2")
        for fact in store.facts(session_id)
        if fact.envelope.type == "gate-opened"
    ]
    assert len(set(gates)) == 2
    assert sound(store, "chat-2")
