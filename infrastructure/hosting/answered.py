"""How do the answers of a request stand to the gates that they name?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from domain import commands as c
from domain import events as e
from domain.canonical import canonical
from domain.decide_gate import resolve_gate
from domain.dispatch.situation import Answers
from domain.json_text import JsonValue, parse
from domain.refusals import AmbiguousGate, NoSuchGate
from domain.state import Gate, State
from infrastructure.reading.facts import fact_at

_WORST: Final[tuple[Answers, ...]] = (
    "unknown",
    "ambiguous",
    "decided-otherwise",
    "gone",
    "open",
    "same-again",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """How one answer stands to the gate that it names; None if it names none."""

    standing: Answers
    gate: Gate | None = None


def answered(
    connection: Connection, key: int, state: State, answer: c.Proposal, now: int
) -> Answered:
    """Return how an answer of a request stands; `answer` is a `gate-decided`."""
    event = answer.event
    assert isinstance(event, e.GateDecided)  # noqa: S101 - `Ask.answers` are decisions
    try:
        gate = resolve_gate(state, event)
    except NoSuchGate:
        return Answered(standing="unknown")
    except AmbiguousGate:
        return Answered(standing="ambiguous")
    if gate.status in {"expired", "withdrawn"}:
        return Answered(standing="gone", gate=gate)
    if gate.status == "open":
        late = gate.expires_at is not None and gate.expires_at <= now
        return Answered(standing="gone" if late else "open", gate=gate)
    first = fact_at(connection, key, gate.closed_version or 0)
    same = isinstance(first, e.GateDecided) and _said(first) == _said(event)
    return Answered(standing="same-again" if same else "decided-otherwise", gate=gate)


def worst(answers: Sequence[Answered]) -> Answers:
    """Return how the one stands that stands worst."""
    for standing in _WORST:
        if any(each.standing == standing for each in answers):
            return standing
    return "none"


def first_gate(answers: Sequence[Answered]) -> str | None:
    """Return the id of the first gate that is answered."""
    return next((each.gate.gate_id for each in answers if each.gate is not None), None)


def open_after(state: State, answers: Sequence[Answered]) -> list[Gate]:
    """Return the gates of the open turn that no answer of the request is for."""
    taken = {each.gate.gate_id for each in answers if each.gate is not None}
    return [
        gate
        for gate in state.gates.values()
        if gate.status == "open"
        and gate.turn_id == state.head.turn_id
        and gate.gate_id not in taken
    ]


def _said(decided: e.GateDecided) -> tuple[object, ...]:
    """Return what a decision says, whichever way and under which name it came."""
    return (
        decided.verdict,
        decided.option_id,
        _canonical(decided.arguments),
        _canonical(decided.answer),
        decided.message,
    )


def _canonical(value: object) -> bytes | None:
    if value is None:
        return None
    read: JsonValue = parse(value) if isinstance(value, bytes) else None
    return canonical(read)
