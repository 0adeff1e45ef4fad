"""Which are a session's steps, forward and back, in memory that does not hold its events?

Events come a page at a time and are folded once. So many of the newest steps are kept, and so many
of the sessions in between: going back further folds again from the nearest one before.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import Final

from api.cli.failures import Failure
from api.cli.replaying_facts import fact_of
from api.cli.source import Source
from domain.events import TurnStarted
from domain.evolve import evolve
from domain.state import State
from projections.steps import Step, step

STEPS_KEPT: Final = 2_048
STATES_KEPT: Final = 16
STRIDE: Final = 1_024
Heard = Callable[[int], None]


class Steps:
    """The steps of one session, by index: 0 is its first event.

    Of each event that was passed only its version, time and type stay, and where turns began.

    Attributes:
        newest_version: The session's newest version, as far as is known.
        heard: Hears after each event that is folded how many were.
    """

    def __init__(self, found: Source, project_id: str, session_id: str, newest: int) -> None:
        self.newest_version: int = newest
        self._source: Final = found
        self._names: Final = (project_id, session_id)
        self._events: Iterator[bytes] | None = None
        self._state = State()
        self._at = 0
        self._stride = STRIDE
        self._states: dict[int, State] = {}
        self._kept: dict[int, Step] = {}
        self._newest: tuple[int, bytes] = (-1, b"")
        self._versions: Final = array("q")
        self._times: Final = array("q")
        self._types: Final[list[str]] = []
        self._turns: Final[dict[str, int]] = {}
        self.heard: Heard | None = None

    def step(self, index: int) -> Step | None:
        """Return a step; None after the last event that there is."""
        if index not in self._kept:
            self._approach(index)
        while index not in self._kept:
            if not self._advance():
                return None
        return self._kept[index]

    def event(self, index: int) -> bytes:
        """Return the event of a step that was passed."""
        if self._newest[0] == index:
            return self._newest[1]
        return self._source.event(self._names[1], self._versions[index])

    def passed(self) -> int:
        """Return how many steps are known."""
        return len(self._types)

    def last(self) -> int:
        """Return the index of the last event that there is; -1 if there is none."""
        return self._until(lambda: False) - 1

    def first_of(self, fits: Callable[[str], bool], start: int) -> int | None:
        """Return the first step from `start` on whose type fits."""
        for index in range(start, self.passed()):
            if fits(self._types[index]):
                return index
        start = max(start, self.passed())
        end = self._until(lambda: self.passed() > start and fits(self._types[-1]))
        return end - 1 if end > start and fits(self._types[end - 1]) else None

    def last_of(self, fits: Callable[[str], bool], end: int) -> int | None:
        """Return the last step before `end` whose type fits."""
        known = range(min(end, self.passed()) - 1, -1, -1)
        return next((index for index in known if fits(self._types[index])), None)

    def of_version(self, version: int) -> int:
        """Return the step with a version, else the last one before it."""
        self._until(lambda: self._versions[-1] >= version)
        return max(0, bisect_right(self._versions, version) - 1)

    def as_of(self, time: int) -> int:
        """Return the last step that was recorded by `time`; the first if there is none."""
        self._until(lambda: self._times[-1] > time)
        return max(0, bisect_right(self._times, time) - 1)

    def from_version(self, version: int) -> int:
        """Return the first step with this version or a later one; beyond the last if none has."""
        self._until(lambda: self._versions[-1] >= version)
        return bisect_left(self._versions, version)

    def since(self, time: int) -> int:
        """Return the first step that was recorded at `time` or later; beyond the last if none."""
        self._until(lambda: self._times[-1] >= time)
        return bisect_left(self._times, time)

    def of_turn(self, turn_id: str) -> int | None:
        """Return the step that began a turn."""
        self._until(lambda: turn_id in self._turns)
        return self._turns.get(turn_id)

    def of_turn_number(self, number: int) -> int | None:
        """Return the step that began the `number`-th turn, from 1."""
        self._until(lambda: len(self._turns) >= number)
        return next((at for n, at in enumerate(self._turns.values(), 1) if n == number), None)

    def turn_after(self, index: int) -> int | None:
        """Return the next step that begins a turn."""
        return self.first_of(_begins_turn, index + 1)

    def turn_before(self, index: int) -> int | None:
        """Return the last step before that begins a turn."""
        return self.last_of(_begins_turn, index)

    def _until(self, reached: Callable[[], bool]) -> int:
        """Pass events until `reached`, or to the end; return how many are known."""
        if not (self.passed() and reached()):
            self._approach(self.passed())
        while not (self.passed() and reached()):
            if not self._advance():
                break
        return self.passed()

    def _advance(self) -> bool:
        """Fold the next event; tell whether there was one."""
        if self._events is None:
            after = self._versions[self._at - 1] if self._at else 0
            self._events = self._source.events(self._names[1], after, follow=False)
        event = next(self._events, None)
        if event is None:
            self._events = None  # there may be more the next time
            return False
        self._remember_state()
        fact = fact_of(event, self._names, self._blob)
        changes = evolve(self._state, fact)
        found = step(self._state, fact, changes)
        self._state.apply(changes)
        self._note(found, isinstance(fact.event, TurnStarted))
        self._newest = (self._at, event)
        self._at += 1
        if self.heard is not None:
            self.heard(self._at)
        return True

    def _note(self, found: Step, began_turn: bool) -> None:  # noqa: FBT001
        self._kept.pop(self._at, None)
        self._kept[self._at] = found
        while len(self._kept) > STEPS_KEPT:
            del self._kept[next(iter(self._kept))]
        if self._at == self.passed():
            envelope = found.envelope
            self._versions.append(envelope.version)
            self.newest_version = max(self.newest_version, envelope.version)
            self._times.append(envelope.recorded_at)
            self._types.append(envelope.type)
            if began_turn and envelope.turn_id is not None:
                self._turns.setdefault(envelope.turn_id, self._at)

    def _remember_state(self) -> None:
        if self._at % self._stride or self._at in self._states:
            return
        self._states[self._at] = self._state.copy()
        if len(self._states) > STATES_KEPT:
            self._stride *= 2
            self._states = {at: s for at, s in self._states.items() if at % self._stride == 0}

    def _approach(self, index: int) -> None:
        """Stand where a kept state is, at or before a step, unless that is nearer already."""
        nearest = max((at for at in self._states if at <= index), default=0)
        if self._at <= index and nearest <= self._at:
            return
        self._state = self._states[nearest].copy()
        self._at = nearest
        self._events = None

    def _blob(self, digest: str) -> bytes | None:
        try:
            return b"".join(self._source.blob(digest))
        except Failure as failure:
            if failure.code != "no-such-blob":
                raise
            return None


def _begins_turn(type_: str) -> bool:
    return type_ == "turn-started"
