"""Why did a request go on warm, or cold, or not at all? In a sentence or two, for a person."""

from typing import Final, assert_never

from domain.dispatch.outcomes import (
    Action,
    Begin,
    Cold,
    Decision,
    Deliver,
    Label,
    Live,
    Queue,
    Refuse,
    Resume,
    Steer,
    Step,
    Steps,
)
from domain.dispatch.situation import Situation, Told

_LABELS: Final[dict[Label, str]] = {
    "not-parked": "it was in the middle of something",
    "other-owner": "another pool holds it",
    "seat-lost": "the runner that asks does not hold it any more",
    "process-died": "its process died",
    "history": "its memory is not the history any more",
    "config": "another configuration is asked for",
    "credentials-expired": "its credentials expired",
    "credentials-rotated": "its credentials were replaced",
    "credentials-expiring": "its credentials would expire during the turn",
    "tail": "it waits for something else than this request brings",
}
_STEPS: Final[dict[Step, str]] = {
    Step.TAKE_ANSWERS: "the answers are taken",
    Step.STOP_COMPACTION: "the compaction is given up",
    Step.INTERRUPT_RUNNING: "the turn that runs is interrupted",
    Step.INTERRUPT_LOST: "the turn whose owner was lost is interrupted",
    Step.WITHDRAW_GATES: "the open gates are withdrawn",
    Step.REWIND: "the rewind is done",
    Step.FINISH_TURN: "the turn that waited goes on to its end",
    Step.ADOPT_PRIOR: "the client's history takes the place of what differs",
    Step.ASSERT_PRIOR: "the client's history becomes the log's",
    Step.SETTLE_REASONS: "the client's history confirms the log's",
}
_WAYS_ON: Final[dict[Action, str]] = {
    "send-full-history": "Send the whole history with it.",
    "refresh": "Read the session again first.",
    "retry": "Try again later.",
    "answer-gate": "Answer the gate, or have it withdrawn.",
    "attach": "Wait for the end of the turn, or have it interrupted.",
    "give-up": "Trying again will not help.",
}
_BEHIND: Final = {
    "turn": "a turn has not ended",
    "compaction": "the history is being summed up",
    "gate": "a gate waits for its answer",
}


def explain(decision: Decision, situation: Situation) -> str:
    """Return why this came of the request."""
    told = situation.told
    match decision:
        case Refuse():
            return (
                f"Refused: {decision.detail}{_about(decision, told)}. {_WAYS_ON[decision.action]}"
            )
        case Queue():
            why = f"The input waits: {_BEHIND[decision.behind]}."
            return why + _first(decision.before)
        case Steer():
            why = "The text is told to the harness in the middle of its turn."
            return why + _first(decision.before)
        case Deliver():
            return _delivered(decision, told)
        case Begin():
            return _outcome(decision.outcome, told) + _first(decision.before)
        case _:
            assert_never(decision)


def _delivered(decision: Deliver, told: Told) -> str:
    match decision.continuation:
        case "started":
            why = "The answer is taken."
        case "pending":
            why = "The answer is taken; the turn waits for its other gates."
        case "external":
            return "The answer is taken; the runner that has the turn is told of it by the log."
        case "blocked":
            return (
                f"The answer is taken, and its turn cannot go on yet: {_obstacle(decision, told)}."
            )
        case _:
            assert_never(decision.continuation)
    more = tuple(step for step in decision.before if step is not Step.TAKE_ANSWERS)
    return f"{why} {_outcome(decision.outcome, told)}{_first(more)}"


def _obstacle(decision: Deliver, told: Told) -> str:
    if decision.blocked_by is None or decision.blocked_by == "compacting":
        return "the history is being summed up"
    if decision.blocked_by == "history-not-ready":
        return short_of(decision.seat, decision.reasons)
    return f"the client's history is not the log's{_said(told.difference)}"


def short_of(seat: Label | None, reasons: tuple[str, ...]) -> str:
    """Return why neither a harness nor the log has the history."""
    forgetful = "no harness is parked" if seat is None else f"the seat cannot go on ({seat})"
    return f"{forgetful}, and the log cannot stand in ({', '.join(reasons)})"


def _outcome(outcome: Live | Resume | Cold | None, told: Told) -> str:
    match outcome:
        case None:
            return "No harness is told yet."
        case Live():
            return "The harness is told in the middle of its turn."
        case Resume(asides=True):
            return (
                f"Warm: the parked harness has this history but for {_messages(told.asides)} said"
                " aside, and is told that before what is new."
            )
        case Resume():
            return "Warm: the parked harness has this very history, and is told what is new alone."
        case Cold():
            whose = "the log's history" if outcome.source == "log" else "the client's history"
            fresh = f"a new one starts with {whose}."
            if outcome.evict is None:
                return f"Cold: no harness is parked; {fresh}"
            return f"Evicted: the parked harness goes, since {_label(outcome.evict, told)}; {fresh}"
        case _:
            assert_never(outcome)


def _label(label: Label, told: Told) -> str:
    if label == "config":
        return _LABELS[label] + _said(", ".join(told.facets))
    if label == "history":
        return _LABELS[label] + _moved(told.pinned_version, told.history_version)
    return _LABELS[label]


def _messages(number: int) -> str:
    return "1 message" if number == 1 else f"{number} messages"


def _first(before: Steps) -> str:
    return f" Before that, {', then '.join(_STEPS[step] for step in before)}." if before else ""


def _about(refused: Refuse, told: Told) -> str:
    """Return which turn, gate, version or difference it is."""
    match refused.code:
        case "head-ahead-of-log" | "head-mismatch" | "head-behind":
            return _moved(told.claimed_version, told.history_version)
        case "history-diverged" | "history-behind":
            return _said(told.difference)
        case "turn-in-progress":
            return _said(told.turn_id)
        case "gate-open" | "gate-already-decided" | "gate-gone":
            return _said(told.gate)
        case _:
            return ""


def _moved(before: int | None, now: int | None) -> str:
    return "" if before is None or now is None else f" (history version {before}, now {now})"


def _said(value: str | None) -> str:
    return f" ({value})" if value else ""
