"""A command becomes recorded facts, all of them or none."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from domain import events as e
from domain.blobs import blob_of
from domain.carry_out import Stamp, carry_out
from domain.commands import (
    BeginBatch,
    DeleteSession,
    OpenSession,
    Proposal,
    Record,
    RenameSession,
    Rewind,
)
from domain.decided import Decided
from domain.evolve import fold
from domain.offloading import LIMIT, offload
from domain.raw_json import RawJson, dumped
from domain.recorded import GENESIS, ProducerStamp, body_digest
from domain.refusals import InvalidValue, MessageExists, NoSuchTurn, SessionExists
from domain.state import State
from tests.scenario import OPENED, RUNNER, asked, ended, folded, record, said, started


def numbered() -> Callable[[], tuple[str, bytes]]:
    ids = iter(range(1, 1_000))

    def mint() -> tuple[str, bytes]:
        number = next(ids)
        return f"event-{number}", number.to_bytes(16, "big")

    return mint


def own_body(decided: Decided) -> bytes:
    return f'{{"made":"{decided.type}"}}'.encode()


def stamp(*, now: int = 5, producer: ProducerStamp | None = RUNNER, count: int | None = 2) -> Stamp:
    return Stamp(
        project_id="default",
        session_id="chat",
        now=now,
        mint=numbered(),
        encode=own_body,
        actor="key:1",
        trace_id="trace",
        producer=producer,
        batch=count,
    )


def test_a_batch_becomes_a_chain_of_facts() -> None:
    steps = (BeginBatch(events=2, open=OpenSession()), record(started()), record(said("a")))
    outcome = carry_out(State(), steps, stamp())
    assert [fact.event for fact in outcome.facts] == [OPENED, started(), said("a")]
    assert [fact.version for fact in outcome.facts] == [1, 2, 3]
    assert [fact.previous for fact in outcome.facts] == [
        GENESIS,
        *(fact.hash for fact in outcome.facts[:-1]),
    ]
    assert outcome.state.head.hash == outcome.facts[-1].hash
    assert outcome.state == fold(outcome.facts)


def test_only_what_was_proposed_carries_its_producer_and_its_first_the_batch() -> None:
    steps = (BeginBatch(events=2, open=OpenSession()), record(started()), record(said("a")))
    outcome = carry_out(State(), steps, stamp())
    assert [fact.envelope.producer for fact in outcome.facts] == [None, RUNNER, RUNNER]
    assert [fact.envelope.batch for fact in outcome.facts] == [None, 2, None]
    assert [fact.body for fact in outcome.facts] == [
        b'{"made":"session-opened"}',
        b"{}",
        b"{}",
    ]
    assert outcome.proposed == [1, 2]


def test_a_fact_has_the_blobs_that_its_event_came_with_and_those_that_its_body_leaves() -> None:
    file, long = blob_of(b"file", "image/png"), "x" * (LIMIT + 1)
    body = dumped({"turn_id": "t1", "messages": [{"role": "user", "content": long}]})
    proposal = Proposal(event=started(), body=body, blobs=(file,))
    steps = (Record(proposal=proposal), record(asked()))
    first, second = carry_out(folded(OPENED), steps, stamp()).facts
    assert [blob.content for blob in first.blobs] == [b"file", long.encode()]
    assert first.body == offload(body).body
    assert first.envelope.body_digest == body_digest(first.salt or b"", first.body or b"")
    assert second.blobs == ()


def test_what_was_taken_out_of_a_body_beforehand_is_not_taken_out_again() -> None:
    body = dumped({"turn_id": "t1", "messages": [{"role": "user", "content": "x" * (LIMIT + 1)}]})
    beforehand = offload(body)
    proposal = Proposal(event=started(), body=body, offloaded=beforehand)
    (fact,) = carry_out(folded(OPENED), (Record(proposal=proposal),), stamp()).facts
    assert fact.body is beforehand.body
    assert fact.blobs == beforehand.blobs


def test_what_follows_from_an_event_stands_before_it_in_the_same_commit() -> None:
    outcome = carry_out(folded(OPENED, started(), asked()), (record(ended()),), stamp())
    assert [fact.event for fact in outcome.facts] == [
        e.GateWithdrawn(gate_id="g1", reason="turn-ended"),
        ended(),
    ]
    assert outcome.proposed == [1]
    assert outcome.facts[1].envelope.batch == 2


def test_each_event_of_a_batch_is_judged_by_those_before_it() -> None:
    twice = (
        record(started()),
        record(said("a", message_id="m")),
        record(said("b", message_id="m")),
    )
    with pytest.raises(MessageExists) as caught:
        carry_out(folded(OPENED), twice, stamp())
    assert caught.value.at == ("events", 2, "data", "message", "message_id")


def test_a_refused_batch_leaves_the_session_as_it_was() -> None:
    state = folded(OPENED)
    before = state.copy()
    with pytest.raises(NoSuchTurn):
        carry_out(state, (record(started()), record(said("a", turn_id="t9"))), stamp())
    assert state == before


def test_a_refusal_of_the_batch_itself_is_about_no_event() -> None:
    with pytest.raises(SessionExists) as caught:
        carry_out(folded(OPENED), (OpenSession(),), stamp())
    assert caught.value.at == ("session_id",)


def test_recorded_time_never_steps_back() -> None:
    outcome = carry_out(folded(OPENED), (RenameSession(title="a"),), stamp(now=3))
    assert outcome.facts[0].envelope.recorded_at == 1_000_000


def test_a_command_that_changes_nothing_leaves_nothing() -> None:
    outcome = carry_out(folded(OPENED), (RenameSession(title=None),), stamp())
    assert (outcome.facts, outcome.changes, outcome.proposed) == ([], [], [])


def test_what_turnlog_does_by_itself_has_no_producer() -> None:
    outcome = carry_out(folded(OPENED), (DeleteSession(),), stamp())
    assert (outcome.facts[0].envelope.producer, outcome.facts[0].envelope.actor) == (None, "key:1")


def test_an_actor_and_a_trace_fit_a_column() -> None:
    for bad, at in (
        (replace(stamp(), actor="\0"), "actor"),
        (replace(stamp(), trace_id=""), "trace_id"),
    ):
        with pytest.raises(InvalidValue) as caught:
            carry_out(State(), (OpenSession(),), bad)
        assert caught.value.at == (at,)


def test_a_rewind_that_a_batch_begins_with_is_refused_in_its_own_place() -> None:
    steps = (BeginBatch(events=1), Rewind(turns=0, asked=RawJson(b"{}")), record(started()))
    with pytest.raises(InvalidValue) as caught:
        carry_out(folded(OPENED), steps, stamp())
    assert caught.value.at == ("rewind", "turns")
