"""A turn that is out of sight is so by the last rewind that took it out."""

import pytest
from hypothesis import settings
from hypothesis.stateful import invariant, run_state_machine_as_test

from domain.recorded import Recorded
from domain.state import ROOT, Head, State
from projections.rewinds import Parting, Passage, Rewinds
from tests.domain.test_history_laws import Histories


def rewinds(state: State) -> Rewinds:
    """Return a session's rewinds, by its moves and branches."""
    moves = state.moves.values()
    passages = [
        Passage(move.version, place.branch, place.turn_tip, kept)
        for move in moves
        if move.kind in {"rewound", "reverted"}
        for place, kept in [
            (move.before, move.after.turns) if move.kind == "rewound" else (move.after, None)
        ]
    ]
    return Rewinds(
        passages, [Parting(b.first_turn, b.parent, b.parent_turn) for b in state.branches.values()]
    )


class Watched(Histories):
    """A session of which is noted what each rewind took out."""

    def __init__(self) -> None:
        self.taken_out: dict[str, int] = {}
        super().__init__()

    def take(self, fact: Recorded, head: Head) -> None:
        before = self.seen.turns
        super().take(fact, head)
        gone = dict.fromkeys({*before} - {*self.seen.turns}, fact.version)
        self.taken_out = {
            turn_id: version
            for turn_id, version in (self.taken_out | gone).items()
            if turn_id not in self.seen.turns
        }

    @invariant()
    def each_turn_is_out_by_the_rewind_that_took_it_out_last(self) -> None:
        known, branches = rewinds(self.state), self.state.branches
        found = {
            turn.turn_id: known.that_took_out(
                turn.branch, turn.number, branch.turn_depth + turn.number - branch.first_turn
            )
            for turn in self.state.turns.values()
            for branch in [branches.get(turn.branch, ROOT)]
        }
        out = {turn_id: version for turn_id, version in found.items() if version is not None}
        assert out == self.taken_out


@pytest.mark.law
def test_a_turn_is_out_by_the_rewind_that_took_it_out_last() -> None:
    run_state_machine_as_test(
        Watched, settings=settings(max_examples=20, stateful_step_count=40, deadline=None)
    )


def test_where_nothing_was_rewound_everything_is_in_sight() -> None:
    assert Rewinds([], []).that_took_out(0, 1, 0) is None


def test_what_came_back_is_in_sight_and_so_is_what_was_kept() -> None:
    taken = Passage(9, 0, 3, 1)
    back = Passage(12, 0, 3, None)

    known = Rewinds([taken], [])
    assert [known.that_took_out(0, n, n - 1) for n in (1, 2, 3, 4)] == [None, 9, 9, None]
    known = Rewinds([taken, back], [])
    assert [known.that_took_out(0, n, n - 1) for n in (1, 2, 3)] == [None, None, None]


def test_who_leaves_a_branch_leaves_what_leads_to_it() -> None:
    partings = [Parting(4, 0, 1), Parting(6, 4, 4)]
    known = Rewinds([Passage(9, 0, 3, 1), Passage(20, 6, 6, 1)], partings)

    assert known.that_took_out(0, 1, 0) is None
    assert known.that_took_out(0, 2, 1) == 9
    assert known.that_took_out(4, 4, 1) == 20
    assert known.that_took_out(4, 5, 2) is None
    assert known.that_took_out(6, 6, 2) == 20


def test_a_rewind_from_further_on_takes_out_what_an_older_one_did() -> None:
    known = Rewinds([Passage(9, 0, 2, 1), Passage(20, 0, 4, 0)], [])

    assert [known.that_took_out(0, n, n - 1) for n in (1, 2, 3, 4)] == [20, 20, 20, 20]
