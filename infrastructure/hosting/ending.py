"""How did a turn end, by what its harness did, and in which words is that recorded?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from domain import events as e
from domain.state import Head
from infrastructure.harness.port import Ended, HarnessFailed, StopReason
from infrastructure.hosting.outcomes import EndStatus, Finished
from infrastructure.hosting.writable import json_of, name_of

_STOPS: Final[Mapping[StopReason, str]] = {
    "completed": "end_turn",
    "refused": "refusal",
    "max-tokens": "max_tokens",
    "max-requests": "max_turn_requests",
}
_WORDS: Final[Mapping[str, str]] = {
    "start-failed": "The harness could not be started.",
    "start-timeout": "The harness did not start in time.",
    "first-output-timeout": "The harness gave no sign of life in time.",
    "idle-timeout": "The harness was silent for too long.",
    "total-timeout": "The harness took too long.",
    "process-died": "The harness ended before the turn did.",
    "agent-error": "The agent answered with an error.",
    "protocol-error": "The agent did not speak as was agreed.",
    "output-too-long": "The agent said more than is taken.",
    "empty-summary": "The harness said nothing.",
    "refused": "The agent refused.",
    "max-tokens": "The agent came to the end of what it may say.",
    "max-requests": "The agent came to the end of what it may do.",
    "agent-cancelled": "The agent gave up.",
    "record-refused": "Something that the harness did could not be recorded.",
    "internal-error": "Something went wrong in turnlog; its log says what.",
}
_OTHERWISE: Final = "The harness failed."
REFUSED: Final = "record-refused"
INTERNAL: Final = "internal-error"


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The end of a turn.

    Attributes:
        clean: Whether the harness remembers what the log says: all of it, and nothing else.
    """

    status: EndStatus
    clean: bool = False
    stop_reason: str | None = None
    error: e.TurnError | None = None
    reason: str | None = None
    by: str | None = None


def ended(how: Ended) -> End:
    """Return the end of a prompt that nobody cut short."""
    if how.stop_reason == "cancelled":
        return End(status="interrupted", reason="agent-cancelled")
    # An agent that refuses forgets what it was asked.
    clean = how.stop_reason != "refused"
    return End(status="completed", clean=clean, stop_reason=_STOPS[how.stop_reason])


def stopped(reason: str, by: str | None) -> End:
    """Return the end of a turn that somebody stopped."""
    return End(status="interrupted", reason=reason, by=by)


def failed(error: BaseException | None) -> End:
    """Return the end of a turn whose harness failed, or that we failed."""
    return failed_by(error.code if isinstance(error, HarnessFailed) else INTERNAL)


def failed_by(code: str) -> End:
    """Return the end of a turn by an error; the words are ours."""
    error = e.TurnError(code=name_of(code, INTERNAL), message=words_of(code))
    return End(status="failed", error=error)


def words_of(code: str) -> str:
    """Return our words for what a harness failed by."""
    return _WORDS.get(code, _OTHERWISE)


def terminal(end: End, turn_id: str, timings: Mapping[str, int]) -> e.TurnEvent:
    """Return the fact that ends the turn."""
    times = json_of(dict(timings))
    match end:
        case End(error=e.TurnError() as error):
            return e.TurnFailed(turn_id=turn_id, error=error, timings=times)
        case End(reason=str() as reason, by=by):
            return e.TurnInterrupted(turn_id=turn_id, reason=reason, by=by, timings=times)
        case _:
            return e.TurnCompleted(turn_id=turn_id, stop_reason=end.stop_reason, timings=times)


def finished(end: End, head: Head, timings: Mapping[str, int], *, parked: bool) -> Finished:
    """Return the outcome of a turn whose end is recorded."""
    return Finished(
        status=end.status,
        head=head,
        parked=parked,
        timings=timings,
        stop_reason=end.stop_reason,
        error=end.error,
        reason=end.reason,
        by=end.by,
    )
