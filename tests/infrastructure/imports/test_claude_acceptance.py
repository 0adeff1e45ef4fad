"""Whatever a session file looks like, the log takes its translation whole."""

import json
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from domain.carry_out import Stamp, carry_out
from domain.commands import OpenSession, Proposal, Record, SessionCommand
from domain.state import Head, State
from infrastructure.imports.claude_code import translate
from infrastructure.imports.translation import TranslatedEvent, TranslatedSession
from infrastructure.serialization import encode, event_of, members_of

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "infrastructure" / "samples" / "claude-code-session.jsonl"
RECORDS: list[dict[str, Any]] = [json.loads(line) for line in SAMPLE.read_bytes().splitlines()]
UUIDS = [record["uuid"] for record in RECORDS if "uuid" in record]
PLACES = st.integers(0, len(RECORDS) - 1)
CHANGES = st.one_of(
    st.tuples(st.just("parentUuid"), st.sampled_from([*UUIDS, None, "gone"])),
    st.tuples(st.just("uuid"), st.sampled_from(UUIDS)),
    st.tuples(st.just("type"), st.sampled_from(["user", "assistant", "system", "new", None])),
    st.tuples(st.just("isSidechain"), st.booleans()),
    st.tuples(st.just("isMeta"), st.booleans()),
    st.tuples(
        st.just("message"),
        st.sampled_from([None, {}, {"content": [1, "a", {}]}, {"content": "[Request interrupted"}]),
    ),
)


def head_after(session: TranslatedSession) -> Head:
    ids = count()
    stamp = Stamp(
        project_id="p",
        session_id=session.session_id,
        now=0,
        mint=lambda: (f"{next(ids):032x}", bytes(16)),
        encode=encode,
    )
    steps: list[SessionCommand] = [OpenSession(), *(record_of(event) for event in session.events)]
    return carry_out(State(), steps, stamp).state.head


def record_of(event: TranslatedEvent) -> Record:
    decoded = event_of(event.type, members_of(event.type, event.data))
    return Record(proposal=Proposal(event=decoded, body=event.data), imported=True)


def changed(changes: Sequence[tuple[int, tuple[str, object]]], order: Sequence[int]) -> list[bytes]:
    records = [dict(record) for record in RECORDS]
    for place, (name, value) in changes:
        records[place][name] = value
    return [json.dumps(records[place]).encode() for place in order]


def test_the_log_takes_the_sample_and_finds_nothing_odd_in_it() -> None:
    (session,) = translate(changed([], range(len(RECORDS))), source_name="x").sessions
    head = head_after(session)
    assert (head.turns, head.messages, head.turn_id, head.unreadable) == (3, 15, None, 0)


@settings(deadline=None)
@given(
    changes=st.lists(st.tuples(PLACES, CHANGES), max_size=8),
    order=st.lists(PLACES, max_size=4).map(lambda again: [*range(len(RECORDS)), *again]),
    cut=PLACES,
)
def test_the_log_takes_any_file_and_every_line_is_accounted_for(
    changes: list[tuple[int, tuple[str, object]]], order: list[int], cut: int
) -> None:
    lines = changed(changes, order)
    before = translate(lines[:cut], source_name="x")
    after = translate(lines, source_name="x", flush_after=[cut])
    events = {session.agent_id: session.events for session in after.sessions}
    for session in before.sessions:
        assert events[session.agent_id][: len(session.events)] == session.events
    for session in after.sessions:
        assert head_after(session).unreadable == 0
    accounted = {event.line for session in after.sessions for event in session.events}
    accounted |= {loss.line or 0 for loss in after.report.losses}
    assert accounted >= set(range(1, len(lines) + 1))
