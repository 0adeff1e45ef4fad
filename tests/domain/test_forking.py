"""A fork begins with all that its parent was, and goes on by itself."""

import pytest

from domain import commands as c
from domain import events as e
from domain.decide import SESSION_LIMIT, decide
from domain.decide_history import LINEAGE_LIMIT
from domain.events import ForkPoint
from domain.events.session import Parent
from domain.evolve import evolve, fold
from domain.fields import TITLE_LIMIT
from domain.forking import beginning, fork_version, numbered_title, title_and_number
from domain.keys import Keys
from domain.records import InState
from domain.refusals import (
    InvalidValue,
    LineageTooDeep,
    NoSuchTurn,
    SessionExists,
    SessionFull,
    TurnInProgress,
)
from domain.restrict import restrict
from domain.state import Call, Changes, State
from tests.scenario import (
    OPENED,
    RUNNER,
    asked,
    called,
    ended,
    folded,
    given,
    recorded,
    returned,
    said,
    started,
)

PARENT = ForkPoint(session_id="chat", version=3, hash="00")
FORK = c.ForkSession(parent=PARENT, title="Trip (2)", title_by="fork")
FORKED = e.SessionForked(parent=PARENT, title="Trip (2)", title_by="fork")
WITHDRAWN = e.GateWithdrawn(gate_id="g1", reason="forked")
INTERRUPTED = e.TurnInterrupted(turn_id="t1", reason="forked")


def on(*shared: e.Fact, own: tuple[e.Fact, ...] = (FORKED,)) -> tuple[State, list[Changes]]:
    """Return a fork of what `shared` make after its own facts, and what each changed."""
    facts = recorded(*shared, *own)
    state = beginning(fold(facts[: len(shared)]))
    changes: list[Changes] = []
    for fact in facts[len(shared) :]:
        changes.append(evolve(state, fact))
        state.apply(changes[-1])
    return state, changes


def test_a_fork_has_the_history_of_its_parent_and_a_life_of_its_own() -> None:
    shared = (
        e.SessionOpened(title="Trip", parent=Parent(session_id="main")),
        started(),
        said("a"),
        ended(),
        e.SessionArchived(reason="lane-reset"),
        e.SessionPinned(pinned=True),
    )
    parent = folded(*shared)
    state, _ = on(*shared)
    head = state.head
    assert (head.status, head.put_away, head.version) == ("open", False, 7)
    assert (head.archived_reason, head.pinned) == (None, False)
    assert (head.base_version, head.forked_from, head.parent_session_id) == (6, "chat", None)
    assert (head.title, head.title_by, head.created_at) == ("Trip (2)", "fork", 7_000_000)
    assert (state.turns, state.messages) == (parent.turns, parent.messages)
    for same in ("history_version", "fingerprint", "model_fingerprint", "known_position", "placed"):
        assert getattr(head, same) == getattr(parent.head, same)


def test_a_fork_begins_with_a_move_so_that_what_was_in_sight_is_found_there() -> None:
    state, _ = on(OPENED, started(), said("a"), ended())
    move = state.moves[5]
    assert (move.kind, move.before) == ("forked", move.after)
    assert (move.after.messages, move.after.fingerprint) == (2, state.head.fingerprint)


def test_a_rewind_of_the_parent_can_still_be_reverted_in_the_fork() -> None:
    rewound = e.HistoryRewound(turn_id="t1", from_version=2, through_version=3, turns=1, messages=1)
    state, _ = on(OPENED, started(), ended(), rewound)
    assert state.head.redo == 4  # the version of the rewind
    redone = e.RewindReverted(rewind_version=4, turns=1, messages=1)
    assert [item.event for item in decide(state, c.Redo())] == [redone]


def test_what_can_still_change_in_the_parent_is_the_forks_own() -> None:
    state, (made,) = on(OPENED, started(), called("c0"), returned("c0"), said("a"), called())
    assert [m.versions for m in made.messages] == [(5, 6)]
    assert made.calls == (
        Call(turn_id="t1", tool_call_id="c1", occurrence=1, name="read", requested_version=6),
    )
    assert not state.head.tail_open


def test_producers_count_anew_in_a_fork() -> None:
    parent = folded(OPENED, started(), producer=RUNNER)
    assert beginning(parent).producers == {}
    assert parent.producers == {"runner": RUNNER}


def test_a_fork_is_one_fact_where_nothing_is_under_way() -> None:
    state = beginning(folded(OPENED, started(), ended()))
    assert [item.event for item in decide(state, FORK)] == [FORKED]


def test_what_is_under_way_ends_in_the_fork() -> None:
    state = beginning(folded(OPENED, started(), asked(call="c1", tool="write")))
    assert [item.event for item in decide(state, FORK)] == [FORKED, WITHDRAWN, INTERRUPTED]
    over, _ = on(
        OPENED,
        started(),
        asked(call="c1", tool="write"),
        own=(FORKED, WITHDRAWN, INTERRUPTED),
    )
    assert (over.head.turn_id, over.head.open_gates) == (None, 0)
    assert (over.turns["t1"].status, over.gates["g1"].status) == ("interrupted", "withdrawn")
    assert not over.calls["t1", "c1"][0].gated


def test_an_id_is_taken_once() -> None:
    given(OPENED).when(FORK).then_refused(SessionExists, "session_id")


def test_so_many_sessions_share_a_history_and_no_more() -> None:
    state = beginning(folded(OPENED))
    most = c.ForkSession(parent=PARENT, depth=LINEAGE_LIMIT)
    assert decide(state, most)
    with pytest.raises(LineageTooDeep):
        decide(state, c.ForkSession(parent=PARENT, depth=LINEAGE_LIMIT + 1))


@pytest.mark.parametrize("title", ["", "  ", "x" * (TITLE_LIMIT + 1)])
def test_a_title_is_none_or_can_be_shown(title: str) -> None:
    with pytest.raises(InvalidValue):
        decide(beginning(folded(OPENED)), c.ForkSession(parent=PARENT, title=title))


def test_a_full_session_is_forked_and_the_fork_has_room() -> None:
    head = folded(OPENED).head._replace(version=SESSION_LIMIT)
    batch = c.BeginBatch(events=1)
    with pytest.raises(SessionFull):
        decide(State(head=head), batch)
    fork = head._replace(base_version=SESSION_LIMIT, version=SESSION_LIMIT + 1)
    assert decide(State(head=fork), batch) == ()


def test_a_fork_in_the_middle_of_a_log_means_nothing() -> None:
    state = folded(OPENED, FORKED)
    assert (state.head.base_version, state.head.forked_from, state.moves) == (0, None, {})


def test_a_fork_begins_at_the_newest_version_unless_one_is_named() -> None:
    state = folded(OPENED, started(), ended(), started("t2"))
    records, head = InState(state), state.head
    assert fork_version(records, head, None, None) == 4  # where the session is
    assert fork_version(records, head, 2, None) == 2  # as asked
    assert fork_version(records, head, None, "t1") == 3  # where the turn ended
    with pytest.raises(TurnInProgress):
        fork_version(records, head, None, "t2")


@pytest.mark.parametrize("at", [0, -1, 3, 2**70])
def test_a_fork_begins_at_a_version_that_is_there(at: int) -> None:
    state = folded(OPENED, started())
    with pytest.raises(InvalidValue) as caught:
        fork_version(InState(state), state.head, at, None)
    assert caught.value.at == ("at",)


def test_a_fork_begins_at_one_place() -> None:
    state = folded(OPENED, started(), ended())
    with pytest.raises(InvalidValue):
        fork_version(InState(state), state.head, 1, "t1")


def test_a_fork_begins_after_a_turn_in_sight() -> None:
    rewound = e.HistoryRewound(turn_id="t1", from_version=2, through_version=3, turns=1, messages=1)
    state = folded(OPENED, started(), ended(), rewound)
    for turn_id in ("t1", "t9"):
        with pytest.raises(NoSuchTurn):
            fork_version(InState(state), state.head, None, turn_id)
    with pytest.raises(InvalidValue):
        fork_version(InState(state), state.head, None, "/")


def test_all_open_calls_are_looked_up_for_a_fork() -> None:
    state = folded(OPENED, started(), called("c1"), called("c2"), returned("c1"))
    assert restrict(state, Keys()).calls == {}
    assert restrict(state, Keys(open_calls=True)).calls == {
        ("t1", "c2"): state.calls["t1", "c2"],
    }


@pytest.mark.parametrize(
    ("title", "known"),
    [
        ("Trip", ("Trip", 1)),
        ("Trip (2)", ("Trip", 2)),
        ("Trip (2) (3)", ("Trip (2)", 3)),
        ("Trip (02)", ("Trip (02)", 1)),
        ("(2)", ("(2)", 1)),
        ("Trip(2)", ("Trip(2)", 1)),
        ("a\nb (7)", ("a\nb", 7)),
    ],
)
def test_a_number_at_the_end_of_a_title_is_its_number(title: str, known: tuple[str, int]) -> None:
    assert title_and_number(title) == known


def test_a_numbered_title_is_no_longer_than_a_title() -> None:
    assert numbered_title("x" * TITLE_LIMIT, 12) == "x" * (TITLE_LIMIT - 5) + " (12)"
