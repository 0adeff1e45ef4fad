"""A command names what must be looked up, and nothing that cannot be a name."""

from dataclasses import replace

import pytest

from domain import commands as c
from domain import events as e
from domain.keys import NO_KEYS, Keys, keys, keys_of
from domain.restrict import restrict
from domain.state import State
from tests.scenario import (
    OPENED,
    RUNNER,
    approved,
    asked,
    called,
    compacted,
    ended,
    folded,
    interrupted,
    message,
    record,
    returned,
    said,
    started,
)


@pytest.mark.parametrize(
    ("event", "wanted"),
    [
        (
            started("t1", message("a", message_id="m"), message("b")),
            Keys(turns=frozenset({"t1"}), message_ids=frozenset({"m"}), grows=True),
        ),
        (
            said("a", message_id="t0:1"),
            Keys(turns=frozenset({"t0", "t1"}), message_ids=frozenset({"t0:1"}), tail=True),
        ),
        (said("a"), Keys(turns=frozenset({"t1"}), tail=True)),
        (called(), Keys(turns=frozenset({"t1"}), calls=frozenset({("t1", "c1")}), tail=True)),
        (returned(), Keys(turns=frozenset({"t1"}), calls=frozenset({("t1", "c1")}))),
        (
            asked(call="c1"),
            Keys(
                turns=frozenset({"t1"}),
                calls=frozenset({("t1", "c1")}),
                gate_ids=frozenset({"g1"}),
                tail=True,
            ),
        ),
        (asked(), Keys(turns=frozenset({"t1"}), gate_ids=frozenset({"g1"}), tail=True)),
        (
            e.HarnessResumed(seat_id="s1", owner="a", turn_id="t1"),
            Keys(turns=frozenset({"t1"}), seats=frozenset({"s1"})),
        ),
        (e.InputRecalled(queue_id="q1", reason="gone"), Keys(queue=frozenset({"q1"}))),
        (
            e.GateConsumed(gate_id="g1", turn_id="t1"),
            Keys(turns=frozenset({"t1"}), gate_ids=frozenset({"g1"})),
        ),
        (approved(), Keys(gate_ids=frozenset({"g1"}))),
        (
            e.GateDecided(permission_id="p", verdict="denied", decided_by="person", via="in-band"),
            Keys(permission_ids=frozenset({"p"})),
        ),
        (
            e.GateDecided(tool_call_id="c", verdict="denied", decided_by="person", via="in-band"),
            Keys(gate_call_ids=frozenset({"c"})),
        ),
        (approved(None), NO_KEYS),
        (e.LossHealed(loss_version=3), Keys(losses=frozenset({3}))),
        (
            compacted("t1:2"),
            Keys(turns=frozenset({"t1"}), message_ids=frozenset({"t1:2"}), kept_after=("t1:2",)),
        ),
        (e.SessionRenamed(title="a"), NO_KEYS),
    ],
)
def test_an_event_names_what_its_rules_look_at(event: e.SessionEvent, wanted: Keys) -> None:
    assert keys([event]) == wanted


@pytest.mark.parametrize(
    "event",
    [
        said("a", message_id="\0", turn_id="\0"),
        called("\0", turn_id="t"),
        called(turn_id="\0"),
        asked("\0", call="\0", turn_id=""),
        approved(""),
        compacted("\0"),
        e.LossHealed(loss_version=2**70),
        e.LossHealed(loss_version=0),
        e.GateDecided(permission_id="\0", verdict="denied", decided_by="person", via="in-band"),
        e.GateDecided(tool_call_id="\0", verdict="denied", decided_by="person", via="in-band"),
    ],
)
def test_what_can_be_no_name_is_not_looked_up(event: e.SessionEvent) -> None:
    wanted = keys([event])
    assert not wanted.message_ids | wanted.gate_ids | wanted.permission_ids | wanted.gate_call_ids
    assert (wanted.calls, wanted.losses, wanted.kept_after) == (frozenset(), frozenset(), ())
    assert "\0" not in wanted.turns


def test_what_goes_back_names_its_target() -> None:
    rewind, redo = c.Rewind(to_turn="t1"), c.Redo(rewind_version=3)
    assert keys_of([rewind]) == Keys(turns=frozenset({"t1"}), rewind=rewind)
    assert keys_of([redo]) == Keys(redo=redo)
    assert keys_of([c.Compact(summary="", through_message_id="m")]) == keys([compacted("m")])


OUT = e.HistoryRewound(turn_id="t1", from_version=2, through_version=4, turns=1, messages=2)
BACK = e.RewindReverted(rewind_version=5, turns=1, messages=2)


def test_a_fact_that_went_back_names_what_it_needs() -> None:
    assert keys([OUT]) == Keys(turns=frozenset({"t1"}), rewound=frozenset({"t1"}))
    assert keys([BACK]) == Keys(moves=frozenset({5}))
    history = (OPENED, started(), said("a"), ended(), OUT, BACK)
    whole, before = folded(*history), folded(*history[:-1])
    assert sorted(restrict(whole, keys([OUT])).turns) == ["t1"]
    assert sorted(restrict(before, keys([BACK])).moves) == [5]
    for unknown in (replace(OUT, turn_id="t9"), replace(BACK, rewind_version=9)):
        assert restrict(whole, keys([unknown])) == State(head=whole.head)


def test_a_branch_that_is_lost_is_not_found() -> None:
    state = folded(OPENED, started(), ended(), OUT, started("t2"), ended("t2"))
    del state.branches[2]
    assert restrict(state, keys_of([c.Rewind(turns=1)])).branches == {}


def test_of_two_summaries_the_first_needs_most() -> None:
    assert keys([compacted("m1"), compacted("m2")]).kept_after == ("m1", "m2")


def test_a_batch_names_its_producer_and_an_interrupt_its_turn() -> None:
    begin = c.BeginBatch(
        batch=c.Batch(producer_id="runner", epoch=1, sequence=1, current=1), events=1
    )
    assert keys_of((begin, record(said("a")))) == Keys(
        turns=frozenset({"t1"}), producers=frozenset({"runner"}), tail=True
    )
    assert keys_of((c.InterruptTurn(turn_id="t1", reason="r"),)) == Keys(
        turns=frozenset({"t1"}), open_calls=True
    )
    assert keys_of((c.DeleteSession(),)) == Keys(open_calls=True)
    assert keys_of((c.ArchiveSession(), c.BeginBatch(events=1))) == NO_KEYS
    assert keys([], "runner") == Keys(producers=frozenset({"runner"}))


WHOLE = folded(
    OPENED,
    started("t0", message("a", message_id="m")),
    e.RecordsLost(count=1, reason="crash"),
    asked("g0", turn_id="t0", permission="p", call="c"),
    e.GateExpired(gate_id="g0"),
    asked("g00", turn_id="t0", permission="p", call="c"),
    e.GateExpired(gate_id="g00"),
    interrupted("t0"),
    started(),
    said("b"),
    called(),
    asked("g1", call="c1"),
    producer=RUNNER,
)


def test_without_keys_there_are_the_open_turn_its_gates_and_the_calls_that_they_hold() -> None:
    found = restrict(WHOLE, NO_KEYS)
    assert found == State(
        head=WHOLE.head,
        turns={"t1": WHOLE.turns["t1"]},
        gates={"g1": WHOLE.gates["g1"]},
        calls={("t1", "c1"): WHOLE.calls["t1", "c1"]},
    )


def test_a_look_up_finds_what_was_named() -> None:
    wanted = Keys(
        turns=frozenset({"t0", "t9"}),
        calls=frozenset({("t0", "c")}),
        message_ids=frozenset({"m", "m9"}),
        losses=frozenset({3, 9}),
        producers=frozenset({"runner", "other"}),
        tail=True,
    )
    found = restrict(WHOLE, wanted)
    assert sorted(found.turns) == ["t0", "t1"]
    assert found.message_ids == {"m": 0}
    assert sorted(found.messages) == [0, 2]
    assert (sorted(found.losses), found.producers) == ([3], {"runner": RUNNER})
    assert found.tail == WHOLE.tail


def test_of_the_closed_gates_of_one_alias_the_newest_is_found() -> None:
    by_permission = restrict(WHOLE, Keys(permission_ids=frozenset({"p"})))
    assert sorted(by_permission.gates) == ["g00", "g1"]
    by_call = restrict(WHOLE, Keys(gate_call_ids=frozenset({"c"})))
    assert sorted(by_call.gates) == ["g00", "g1"]
    backwards = State(head=WHOLE.head, turns=WHOLE.turns, calls=WHOLE.calls)
    backwards.gates = dict(reversed(WHOLE.gates.items()))
    assert sorted(restrict(backwards, Keys(gate_call_ids=frozenset({"c"}))).gates) == ["g00", "g1"]


def test_a_closed_tail_is_not_looked_up() -> None:
    state = folded(OPENED, started(), said("a"), ended())
    assert restrict(state, Keys(tail=True)).messages == {}


def test_a_summary_needs_every_message_from_the_one_that_it_names() -> None:
    assert sorted(restrict(WHOLE, keys([compacted("t1:1")])).messages) == [1, 2]
    assert restrict(WHOLE, keys([compacted("m9")])).messages == {}


def test_what_turnlog_notes_itself_is_looked_up_too() -> None:
    parked = e.HarnessParked(seat_id="s1", owner="a", state="idle")
    queued = e.InputQueued(queue_id="q1", request=None)
    assert keys_of([c.Note(event=parked), c.Note(event=queued)]) == Keys(
        seats=frozenset({"s1"}), queue=frozenset({"q1"})
    )
    state = folded(OPENED, parked, queued, e.HarnessResumed(seat_id="s2", owner="a"))
    found = restrict(state, keys([parked, queued]))
    assert (set(found.seats), set(found.queue)) == ({"s1"}, {"q1"})
