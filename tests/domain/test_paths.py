"""The way through branches is that of a plain tree, and found in few steps."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import log2
from typing import Final, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.paths import (
    FindBranch,
    Spot,
    found_in,
    grown,
    index_in_sight,
    meeting,
    messages_before,
    next_turn,
    runs,
    runs_within,
    shared,
    spot_of,
    turn_at,
    turn_in_sight,
    turn_runs,
    turns_until,
)
from domain.positions import position_of, standing_at
from domain.state import ROOT, Branch, Head, Position

LAW: Final = settings(max_examples=30, deadline=None)
Step: TypeAlias = tuple[int, int]


@dataclass
class Tree:
    """Turns, each with the whole way to it, besides the branches that stand for those ways.

    Attributes:
        turns, messages: For each turn, and 0 for the beginning, all that lead to it and it.
    """

    head: Head = field(default_factory=Head)
    branches: dict[int, Branch] = field(default_factory=dict[int, Branch])
    positions: list[Position] = field(default_factory=lambda: [Position()])
    turns: list[list[int]] = field(default_factory=lambda: [[]])
    messages: list[list[int]] = field(default_factory=lambda: [[]])

    def grow(self, after: int, messages: int) -> None:
        """Start a turn with so many messages after another one, as the fold does."""
        head = standing_at(self.head, self.positions[after])
        branch = head.branch
        if head.turn_tip != head.started:
            new = grown(self.find, head)
            branch = new.first_turn
            self.branches[branch] = new
        number, placed = head.started + 1, head.placed + messages
        self.head = head._replace(
            turns=head.turns + 1,
            started=number,
            turn_tip=number,
            branch=branch,
            messages=head.messages + messages,
            placed=placed,
            tip=placed - 1 if messages else head.tip,
        )
        self.positions.append(position_of(self.head))
        self.turns.append([*self.turns[after], number])
        self.messages.append([*self.messages[after], *range(head.placed, placed)])

    @property
    def find(self) -> FindBranch:
        """Return what finds the branches."""
        return found_in(self.branches)

    def spot(self, turn: int) -> Spot:
        """Return where a session stands after a turn."""
        return spot_of(self.positions[turn])


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    tree = Tree()
    steps = draw(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 3)), max_size=300))
    near = draw(st.integers(1, 300))  # how far back a turn may follow: deep trees, and wide ones
    for after, messages in steps:
        tree.grow(max(0, tree.head.started - after % near), messages)
    return tree


@LAW
@given(trees(), st.data())
def test_what_leads_somewhere_is_in_sight_there_and_nothing_else(
    tree: Tree, data: st.DataObject
) -> None:
    turn = data.draw(st.integers(0, tree.head.started))
    here, turns, messages = tree.spot(turn), tree.turns[turn], tree.messages[turn]
    seen = [n for n in range(1, tree.head.started + 2) if turn_in_sight(tree.find, here, n)]
    assert seen == turns
    assert [n for n in range(tree.head.placed + 1) if index_in_sight(tree.find, here, n)] == (
        messages
    )
    assert [turn_at(tree.find, here, depth) for depth in range(len(turns))] == turns


@LAW
@given(trees(), st.data())
def test_runs_are_the_messages_of_the_way(tree: Tree, data: st.DataObject) -> None:
    turn = data.draw(st.integers(0, tree.head.started))
    here, way = tree.spot(turn), tree.messages[turn]
    low = data.draw(st.integers(0, len(way)))
    high = data.draw(st.integers(0, len(way)))
    found = runs(tree.find, here, low, high)
    assert [index for run in found for index in range(run.first, run.end)] == way[low:high]
    assert all(way[run.depth] == run.first for run in found)

    first = data.draw(st.integers(0, tree.head.placed))
    end = data.draw(st.integers(first, tree.head.placed + 1))
    within = runs_within(tree.find, here, first, end)
    indexes = [index for run in within for index in range(run.first, run.end)]
    assert indexes == [index for index in way if first <= index < end]
    assert all(way[run.depth] == run.first for run in within)


@LAW
@given(trees(), st.data())
def test_the_next_turn_in_sight_is_the_first_one_from_a_number_on(
    tree: Tree, data: st.DataObject
) -> None:
    turn = data.draw(st.integers(0, tree.head.started))
    number = data.draw(st.integers(1, tree.head.started + 1))
    following = next((n for n in tree.turns[turn] if n >= number), None)
    assert next_turn(tree.find, tree.spot(turn), number) == following


@LAW
@given(trees(), st.data())
def test_two_ways_meet_at_the_last_turn_that_they_share(tree: Tree, data: st.DataObject) -> None:
    here = data.draw(st.integers(0, tree.head.started))
    there = data.draw(st.integers(0, tree.head.started))
    both = [n for n in tree.turns[here] if n in tree.turns[there]]
    onward = tree.turns[here][len(both) : len(both) + 1]
    assert meeting(tree.find, tree.spot(here), tree.spot(there)) == (
        both[-1] if both else 0,
        onward[0] if onward else None,
    )


@LAW
@given(trees(), st.data())
def test_two_ways_begin_with_what_they_share(tree: Tree, data: st.DataObject) -> None:
    here = data.draw(st.integers(0, tree.head.started))
    there = data.draw(st.integers(0, tree.head.started))
    turns = {*tree.turns[here]} & {*tree.turns[there]}
    messages = {*tree.messages[here]} & {*tree.messages[there]}
    counts = shared(tree.find, tree.spot(here), tree.spot(there))
    assert counts == (len(turns), len(messages))


@LAW
@given(trees(), st.data())
def test_what_is_in_sight_is_counted_up_to_a_turn_and_before_a_message(
    tree: Tree, data: st.DataObject
) -> None:
    turn = data.draw(st.integers(0, tree.head.started))
    number = data.draw(st.integers(0, tree.head.started + 1))
    index = data.draw(st.integers(0, tree.head.placed + 1))
    here, turns, messages = tree.spot(turn), tree.turns[turn], tree.messages[turn]
    assert turns_until(tree.find, here, number) == sum(n <= number for n in turns)
    assert messages_before(tree.find, here, index) == sum(n < index for n in messages)
    low = data.draw(st.integers(0, len(turns)))
    high = data.draw(st.integers(0, len(turns)))
    found = turn_runs(tree.find, here, low, high)
    assert [n for run in found for n in run] == turns[low:high]


class Counted:
    """Branches, and how many were looked up."""

    def __init__(self, branches: dict[int, Branch]) -> None:
        self._find = found_in(branches)
        self.times = 0

    def __call__(self, number: int) -> Branch:
        self.times += 1
        return self._find(number)


def line(branches: int) -> Tree:
    """Return a tree in which each branch leaves the one before it."""
    tree = Tree()
    tree.grow(0, 1)
    for _ in range(branches):
        tree.grow(tree.head.started, 1)
        tree.grow(tree.head.started - 1, 1)
    return tree


def plait(branches: int) -> Tree:
    """Return a tree of two lines that were added to in turn, as by who compares two answers."""
    tree = Tree()
    tree.grow(0, 1)
    tree.grow(0, 1)
    for _ in range(branches):
        tree.grow(tree.head.started - 1, 1)
    return tree


ASKED: Final[dict[str, Callable[[FindBranch, Tree], object]]] = {
    "turn_in_sight": lambda find, tree: turn_in_sight(find, tree.spot(tree.head.started), 1),
    "index_in_sight": lambda find, tree: index_in_sight(find, tree.spot(tree.head.started), 0),
    "turn_at": lambda find, tree: turn_at(find, tree.spot(tree.head.started), 0),
    "next_turn": lambda find, tree: next_turn(find, tree.spot(tree.head.started), 1),
    "runs": lambda find, tree: runs(find, tree.spot(tree.head.started), 0, 1),
    "runs_within": lambda find, tree: runs_within(find, tree.spot(tree.head.started), 0, 1),
    "meeting": lambda find, tree: meeting(
        find, tree.spot(tree.head.started), tree.spot(tree.head.started - 1)
    ),
    "meeting far above": lambda find, tree: meeting(
        find, tree.spot(tree.head.started), tree.spot(2)
    ),
    "shared": lambda find, tree: shared(
        find, tree.spot(tree.head.started), tree.spot(tree.head.started - 1)
    ),
    "turns_until": lambda find, tree: turns_until(find, tree.spot(tree.head.started), 1),
    "messages_before": lambda find, tree: messages_before(find, tree.spot(tree.head.started), 1),
    "turn_runs": lambda find, tree: turn_runs(find, tree.spot(tree.head.started), 0, 1),
    "grown": lambda find, tree: grown(find, tree.head),
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("shape", [line, plait])
def test_what_is_far_up_is_found_in_a_few_steps(shape: Callable[[int], Tree], asked: str) -> None:
    tree = shape(1_000)
    find = Counted(tree.branches)
    ASKED[asked](find, tree)
    assert find.times <= 8 * log2(1_000)


def test_the_root_is_always_there_and_stands_for_a_branch_that_is_lost() -> None:
    find = found_in({})
    assert (find(0), find(7)) == (ROOT, ROOT)
    lost, here = Spot(7, 9, 20), Spot(0, 2, 3)
    assert meeting(find, lost, here)[0] == meeting(find, here, lost)[0] == 0
    assert runs(find, lost, 0, 2) == [(0, 2, 0)]
    assert turn_in_sight(find, lost, 8)
    assert index_in_sight(find, lost, 20)
    assert next_turn(find, lost, 10) is None


def test_a_branch_without_messages_is_passed_over() -> None:
    tree = Tree()
    for after, messages in ((0, 1), (1, 0), (1, 0), (3, 0), (3, 1)):
        tree.grow(after, messages)
    assert runs(tree.find, tree.spot(5), 0, 2) == [(0, 1, 0), (1, 2, 1)]
    assert runs_within(tree.find, tree.spot(5), 0, 2) == [(0, 1, 0), (1, 2, 1)]


def test_a_branch_without_messages_has_none_of_a_window() -> None:
    tree = Tree()
    for after, messages in ((0, 2), (1, 1), (1, 0)):
        tree.grow(after, messages)
    assert runs_within(tree.find, tree.spot(3), 0, 4) == [(0, 2, 0)]
