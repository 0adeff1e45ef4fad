"""Which turns and messages lie on the way from the beginning to where a session stands?

The way leads through branches, each left at one place for the next. A branch further up is found
by jumps, in a number of steps that grows with the logarithm of how many there are. Whoever asks
hands in how branches are found.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from domain.state import ROOT, Branch, Head, Position

FindBranch: TypeAlias = Callable[[int], Branch]
Measure: TypeAlias = Callable[[Branch], int]


class Spot(NamedTuple):
    """Where a way stands, or leaves a branch.

    Attributes:
        turn, message: The last turn and message of the branch that are on the way.
        onward: The branch that it goes on in, known after a step to a parent.
    """

    branch: int
    turn: int
    message: int
    onward: int | None = None


class Run(NamedTuple):
    """Messages of one branch that are in sight: their indexes, and the first one's depth."""

    first: int
    end: int
    depth: int


def spot_of(position: Position | Head) -> Spot:
    """Return where a session stands."""
    return Spot(position.branch, position.turn_tip, position.tip)


def turn_in_sight(find: FindBranch, here: Spot, number: int) -> bool:
    """Tell whether the turn with this number is on the way to `here`."""
    spot = _climb(find, here, _first_turn, number)
    return find(spot.branch).first_turn <= number <= spot.turn


def index_in_sight(find: FindBranch, here: Spot, index: int) -> bool:
    """Tell whether the message with this index is on the way to `here`."""
    spot = _climb(find, here, _first_index, index)
    return find(spot.branch).first_index <= index <= spot.message


def turn_at(find: FindBranch, here: Spot, depth: int) -> int:
    """Return the number of the turn that has `depth` turns in sight before it."""
    spot = _climb(find, here, _turn_depth, depth)
    branch = find(spot.branch)
    return branch.first_turn + depth - branch.turn_depth


def next_turn(find: FindBranch, here: Spot, number: int) -> int | None:
    """Return the first turn in sight whose number is at least `number`."""
    spot = _climb(find, here, _first_turn, number)
    return number if number <= spot.turn else spot.onward


def meeting(find: FindBranch, here: Spot, there: Spot) -> tuple[int, int | None]:
    """Return the last turn that both ways share (0: none), and the next one on the way to `here`.

    There is no next one if all that leads to `here` leads to `there` as well.
    """
    here, there = _met(find, here, there)
    shared = min(here.turn, there.turn)
    return shared, here.onward if here.turn == shared else shared + 1


def shared(find: FindBranch, here: Spot, there: Spot) -> tuple[int, int]:
    """Return how many turns, and how many messages, both ways begin with."""
    here, there = _met(find, here, there)
    branch = find(here.branch)
    turns = min(here.turn, there.turn) - branch.first_turn + 1
    messages = min(here.message, there.message) - branch.first_index + 1
    return branch.turn_depth + max(turns, 0), branch.depth + max(messages, 0)


def turns_until(find: FindBranch, here: Spot, number: int) -> int:
    """Return how many turns in sight have a number up to `number`."""
    spot = _climb(find, here, _first_turn, number)
    branch = find(spot.branch)
    return branch.turn_depth + max(min(spot.turn, number) - branch.first_turn + 1, 0)


def messages_before(find: FindBranch, here: Spot, index: int) -> int:
    """Return how many messages in sight have an index before `index`."""
    spot = _climb(find, here, _first_index, index - 1)
    branch = find(spot.branch)
    return branch.depth + max(min(spot.message, index - 1) - branch.first_index + 1, 0)


def turn_runs(find: FindBranch, here: Spot, low: int, high: int) -> list[range]:
    """Return the numbers of the turns from depth `low` to before `high`, in order."""
    found: list[range] = []
    spot = _climb(find, here, _turn_depth, high - 1)
    while high > low:
        branch = find(spot.branch)
        first = max(low, branch.turn_depth)
        number = branch.first_turn + first - branch.turn_depth
        found.append(range(number, number + high - first))
        high = first
        spot = _left(spot, branch)
    return found[::-1]


def _met(find: FindBranch, here: Spot, there: Spot) -> tuple[Spot, Spot]:
    """Go up to the last branch that both ways lead through."""
    rank = min(find(here.branch).rank, find(there.branch).rank)
    here, there = _level(find, here, rank), _level(find, there, rank)
    while here.branch != there.branch:
        mine, other = find(here.branch), find(there.branch)
        if mine.jump != other.jump:
            here, there = _jumped(mine), _jumped(other)
        else:
            here, there = _left(here, mine), _left(there, other)
    return here, there


def runs(find: FindBranch, here: Spot, low: int, high: int) -> list[Run]:
    """Return where the messages from depth `low` to before `high` stand, in order."""
    found: list[Run] = []
    spot = _climb(find, here, _depth, high - 1)
    while high > low:
        branch = find(spot.branch)
        first = max(low, branch.depth)
        if first < high:
            index = branch.first_index + first - branch.depth
            found.append(Run(index, index + high - first, first))
        high = first
        spot = Spot(branch.parent, branch.parent_turn, branch.parent_index)
    return found[::-1]


def runs_within(find: FindBranch, here: Spot, low: int, high: int) -> list[Run]:
    """Return which of the messages with an index from `low` to before `high` are in sight."""
    found: list[Run] = []
    spot = _climb(find, here, _first_index, high - 1)
    while spot.message >= low:
        branch = find(spot.branch)
        first, end = max(low, branch.first_index), min(high, spot.message + 1)
        if first < end:
            found.append(Run(first, end, branch.depth + first - branch.first_index))
        if not spot.branch:
            break
        spot = Spot(branch.parent, branch.parent_turn, branch.parent_index)
    return found[::-1]


def grown(find: FindBranch, head: Head) -> Branch:
    """Return the branch that the next turn begins."""
    parent = find(head.branch)
    jump = find(parent.jump)
    even = parent.rank - jump.rank == jump.rank - find(jump.jump).rank
    return Branch(
        first_turn=head.started + 1,
        first_index=head.placed,
        turn_depth=head.turns,
        depth=head.messages,
        parent=head.branch,
        parent_turn=head.turn_tip,
        parent_index=head.tip,
        jump=jump.jump if even else head.branch,
        rank=parent.rank + 1,
    )


def found_in(branches: dict[int, Branch]) -> FindBranch:
    """Return what finds the branches that are there; the root is always."""

    def find(number: int) -> Branch:
        return branches.get(number, ROOT)

    return find


def _climb(find: FindBranch, here: Spot, measure: Measure, wanted: int) -> Spot:
    """Go up to the nearest branch that begins at or before `wanted`."""
    spot = here
    while spot.branch and measure(branch := find(spot.branch)) > wanted:
        if branch.jump and measure(find(branch.jump)) > wanted:
            spot = _jumped(branch)
        else:
            spot = _left(spot, branch)
    return spot


def _level(find: FindBranch, spot: Spot, rank: int) -> Spot:
    """Go up to the branch that has so many above it."""
    while (branch := find(spot.branch)).rank > rank:
        far = find(branch.jump).rank > rank
        spot = _jumped(branch) if far else _left(spot, branch)
    return spot


def _jumped(branch: Branch) -> Spot:
    """Where the branch up there was left does not matter: whoever jumps there goes on."""
    return Spot(branch.jump, 0, 0)


def _left(spot: Spot, branch: Branch) -> Spot:
    return Spot(branch.parent, branch.parent_turn, branch.parent_index, spot.branch)


def _first_turn(branch: Branch) -> int:
    return branch.first_turn


def _first_index(branch: Branch) -> int:
    return branch.first_index


def _turn_depth(branch: Branch) -> int:
    return branch.turn_depth


def _depth(branch: Branch) -> int:
    return branch.depth
