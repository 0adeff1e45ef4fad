"""A fold that goes on from a checkpoint comes to what a fold of the whole session comes to."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from domain import commands as c
from domain import events as e
from domain.checkpoints import at_rest
from domain.evolve import evolve, fold
from domain.recorded import Recorded
from domain.records import InState
from domain.resuming import Past, folded_on, resumed
from domain.state import Call, Checkpoint, Gate, Head, Loss, QueuedInput, State, Turn
from tests.domain.test_laws import COUNT, STEPS, Step, grown
from tests.scenario import (
    OPENED,
    asked,
    called,
    compacted,
    ended,
    message,
    recorded,
    returned,
    said,
    started,
)

BACK = st.one_of(
    st.builds(c.Rewind, turns=st.integers(1, 3)),
    st.builds(c.Redo, rewind_version=st.none() | st.integers(1, 40)),
).map(lambda command: Step(commands=(command,), producer=None))
NEXT = st.just(
    Step(commands=(c.Record(proposal=c.Proposal(event=started("now"), body=b"{}")),), producer=None)
)
HISTORIES = st.lists(st.one_of(STEPS, STEPS, STEPS, BACK, NEXT), min_size=15, max_size=45)


class Views(InState):
    """The records of a session that was folded whole."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._losses = state.losses
        self._calls = state.calls
        self._queue = state.queue

    def queued(self, queue_id: str) -> QueuedInput | None:
        return self._queue.get(queue_id)

    def loss(self, version: int) -> Loss | None:
        return self._losses.get(version)

    def calls(self, turn_id: str, tool_call_id: str) -> Sequence[Call]:
        return self._calls.get((turn_id, tool_call_id), ())


Known = tuple[Head, Turn | None, list[Call], list[Gate]]


def known(state: State) -> Known:
    """Return what a session that was folded on knows as one that was folded whole."""
    turn_id = state.head.turn_id
    return (
        state.head,
        None if turn_id is None else state.turns.get(turn_id),
        [
            call
            for (turn, _), calls in sorted(state.calls.items())
            for call in calls
            if turn == turn_id and call.status == "open"
        ],
        [gate for gate in state.gates.values() if gate.status == "open"],
    )


def checkpoint_of(state: State) -> Checkpoint | None:
    """Return the checkpoint that could be made of a session, if one could."""
    head = state.head
    turn = None if head.turn_id is None else state.turns.get(head.turn_id)
    return Checkpoint(version=head.version, head=head, turn=turn) if at_rest(head, turn) else None


def assert_resumes(facts: Sequence[Recorded]) -> int:
    """Fold on from wherever one could, up to each version; return from how many places."""
    states = [State()]
    for fact in facts:
        states.append(states[-1].copy())
        states[-1].apply(evolve(states[-2], fact))
    views = Views(states[-1])
    checkpoints = [made for made in map(checkpoint_of, states) if made is not None]
    for checkpoint in checkpoints:
        since = checkpoint.version
        state = resumed(checkpoint if since else None)
        assert known(state) == known(states[since])
        for fact in facts[since:]:
            folded_on(state, since, [fact], views)
            assert known(state) == known(states[fact.version]), (since, fact.version)
    return len(checkpoints)


@settings(COUNT, max_examples=30)
@given(HISTORIES)
def test_whatever_came_before_a_checkpoint_need_not_be_folded(history: list[Step]) -> None:
    assert_resumes(grown(history).facts)


MANY = 5
TURNS: list[e.Fact] = [
    event
    for n in range(1, 5)
    for event in (started(f"t{n}"), said("a", turn_id=f"t{n}"), ended(f"t{n}"))
]


def test_a_loss_that_was_healed_later_was_not_healed_at_a_checkpoint_between() -> None:
    lost = e.RecordsLost(count=2, reason="crash")
    healings: list[e.Fact] = [e.LossHealed(loss_version=version) for version in (3, 3, 2, 99)]
    again: list[e.Fact] = [lost, e.LossHealed(loss_version=21), e.LossHealed(loss_version=1)]
    facts = recorded(OPENED, lost, lost, e.LossHealed(loss_version=2), *TURNS, *healings, *again)
    assert facts[20].event == lost
    assert assert_resumes(facts) > MANY


def test_a_result_that_comes_after_its_turn_stays_out_of_sight() -> None:
    facts = recorded(
        OPENED, started(), called(), ended(), *TURNS[3:], returned(), returned(turn_id="t9")
    )
    assert assert_resumes(facts) > MANY


def test_a_call_is_counted_on_from_those_of_its_id_before_a_checkpoint() -> None:
    again = (called(), returned(), called(), asked(call="c1", tool="read"), called("c2"))
    facts = recorded(OPENED, started(), called(), returned(), returned("c2"), *again, ended())
    views = Views(fold(facts))
    assert_resumes(facts)

    since = 5  # after both results
    state = resumed(checkpoint_of(fold(facts[:since])))
    folded_on(state, since, facts[since:-1], views)
    assert [call.occurrence for call in state.calls["t1", "c1"]] == [1, 2, 3]
    assert [call.occurrence for call in state.calls["t1", "c2"]] == [1, 2]


def rewound(turn_id: str) -> e.HistoryRewound:
    return e.HistoryRewound(turn_id=turn_id, from_version=2, through_version=3, turns=1, messages=2)


def test_turns_that_were_taken_out_and_brought_back_are_found_before_it() -> None:
    facts = recorded(
        OPENED,
        *TURNS,
        rewound("t3"),
        started("t5"),
        said("b", turn_id="t5"),
        ended("t5"),
        rewound("t2"),
        e.RewindReverted(rewind_version=14, turns=3, messages=6),
        e.RewindReverted(rewind_version=18, turns=3, messages=6),
        started("t6"),
        ended("t6"),
        compacted("t5:1"),
        rewound("t6"),
        e.RewindReverted(rewind_version=99, turns=3, messages=6),
        started("t7"),
        ended("t7"),
    )
    assert assert_resumes(facts) > MANY


def test_a_summary_names_a_message_of_before_a_checkpoint_or_after_it() -> None:
    named = started("t5", message("hi", message_id="m1"))
    facts = recorded(OPENED, *TURNS, named, ended("t5"), compacted("m1"), compacted("t2:1"))
    assert assert_resumes(facts) > MANY


def test_what_came_after_a_checkpoint_is_not_found_before_it_is_folded() -> None:
    facts = recorded(OPENED, *TURNS, rewound("t4"))
    since = 4
    past = Past(State(), since, Views(fold(facts)))
    assert past.turn("t1") == past.turn_numbered(1) == past.turn_started_after(1)
    assert past.turn("t1") is not None
    assert past.turn("t2") is past.turn_numbered(2) is past.turn_started_after(since) is None
    assert past.message(0) is not None
    assert past.message(2) is None
    assert past.move(facts[-1].version) is past.last_move(facts[-1].version) is None
