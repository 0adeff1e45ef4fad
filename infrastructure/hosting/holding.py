"""Who holds a session's running turn, and what is that to a request?"""

from typing import NamedTuple

from domain.dispatch.kinds import PURE_ANSWERS
from domain.dispatch.situation import ContinuedBy, Run
from domain.restarts import would_suspend
from domain.state import Head, Turn
from infrastructure import runs
from infrastructure.hosting.asking import Ask


class Holding(NamedTuple):
    """The turn that runs and the lease that was given last, as a request finds them."""

    ask: Ask
    turn: Turn | None
    run: runs.Run | None
    now: int

    def word(self) -> Run:
        """Return what runs, as far as the request has to wait for it."""
        return "idle" if self._goes_on() else self._running()

    def continued_by(self) -> ContinuedBy:
        """The one who asks continues its own turn; this server continues what no runner began.

        A runner may continue any turn that nobody holds.
        """
        turn, run, ask = self.turn, self.run, self.ask
        if turn is None:
            return "us"
        leased = run is not None and run.is_of(turn.turn_id)
        if run is not None and leased and run.owner == ask.owner:
            return "us"
        if ask.hosted:
            return "us" if turn.producer_id is None else "runner"
        return "runner" if leased and not turn.paused and runs.is_live(run, self.now) else "us"

    def is_suspended(self, head: Head) -> bool:
        """Tell whether the session takes no turns; or will take none once its lost turn ends."""
        if head.suspended:
            return not head.put_away
        turn = self.turn
        hosted = turn is not None and turn.producer_id is None and not turn.paused
        return hosted and 0 < self._held_until() <= self.now and would_suspend(head)

    def _held_until(self) -> int:
        """Return until when the turn is held; 0 if nobody holds it."""
        turn, run = self.turn, self.run
        return run.lease_until if turn and run is not None and run.is_of(turn.turn_id) else 0

    def _goes_on(self) -> bool:
        """Tell whether this server asks to go on with a turn that nobody runs, or has begun to."""
        turn, run, ask = self.turn, self.run, self.ask
        taken = run is not None and (run.kind == "compaction" or run.is_of(turn and turn.turn_id))
        return ask.continues and ask.hosted and not (taken and runs.is_live(run, self.now))

    def _running(self) -> Run:
        ask, turn, run, now = self
        if turn is None:
            summed_up = run is not None and run.kind == "compaction" and runs.is_live(run, now)
            return "live-compaction" if summed_up else "idle"
        if turn.paused:
            return "idle"
        answers = ask.shape.kind in PURE_ANSWERS
        if run is None or not run.is_of(turn.turn_id):
            mine = ask.producer is not None and ask.producer.producer_id == turn.producer_id
            return "idle" if ask.continues and mine else "external-run"
        if not run.lease_until and (answers or turn.open_gates):
            return "idle"  # a gate was decided after it was let go, and nobody went on with it yet
        return "expired-lease" if 0 < run.lease_until <= now else "live-turn"
