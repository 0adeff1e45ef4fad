"""What is a harness told that was started anew: of the conversation, and of what was decided?"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sqlalchemy import Connection, bindparam, select, text

from domain import events as e
from domain.json_text import JsonValue, parse
from domain.messages import readable
from domain.raw_json import RawJson
from domain.readiness import readiness
from domain.state import Gate
from infrastructure import tables as t
from infrastructure.command_handler import Target
from infrastructure.composition import Turnlog
from infrastructure.harness.port import Answer, ResumedCall, Seed
from infrastructure.hosting.binding import CarriedDecision
from infrastructure.prepared import Prepared
from infrastructure.reading.facts import fact_at
from infrastructure.reading.files import with_files
from infrastructure.reading.moment import moment
from infrastructure.reading.transcript import live_view
from infrastructure.view_rows import gate_of

_DECIDED: Final = ("allowed", "denied", "denied-by-policy", "answered")
_NO_GAPS: Final = frozenset({"turn-running", "agreement-required"})
UNANSWERED: Final = "nobody answered in time"
_EXPIRED: Final = Prepared(
    lambda _: (
        select(t.gates)
        .join(
            t.calls,
            (t.calls.c.session_key == t.gates.c.session_key)
            & (t.calls.c.turn_id == t.gates.c.turn_id)
            & (t.calls.c.tool_call_id == t.gates.c.tool_call_id),
        )
        .where(
            t.gates.c.session_key == bindparam("session_key"),
            t.gates.c.turn_id == bindparam("turn_id"),
            text("gates.status = 'expired'"),
            text("calls.status = 'open'"),
        )
        .order_by(t.gates.c.closed_version)
    )
)
_UNCONSUMED: Final = Prepared(
    lambda _: (
        select(t.gates)
        .where(
            t.gates.c.session_key == bindparam("session_key"),
            t.gates.c.turn_id == bindparam("turn_id"),
            text(f"gates.status IN {_DECIDED}"),
            t.gates.c.consumed_version.is_(None),
        )
        .order_by(t.gates.c.closed_version)
    )
)


_GONE: Final = Answer(verdict="denied", message="The sub-agent that asked is gone.")
"""What it had begun is never begun again by itself, whatever was decided of its next step."""


def seed_of(connection: Connection, target: Target, fresh: str | None) -> Seed:
    """Return what a model would see of the session, but for the turn `fresh` that begins now.

    Raises:
        NoSuchSession: it is gone.
    """
    found = moment(connection, target)
    live = live_view(connection, found)
    held = with_files(connection, target.project_id, live.messages)
    messages: list[dict[str, JsonValue]] = [
        {"role": message.role, "parts": [*readable(message.parts)]}
        for message in held
        if fresh is None or message.turn_id != fresh
    ]
    return Seed(messages=messages)


def short_of(log: Turnlog, connection: Connection, target: Target) -> Sequence[str]:
    """Return why the log could not tell a harness the history, by codes; a turn runs, of course."""
    found = moment(connection, target)
    judged = readiness(found.head, found.open_turn, log.policy(found.known_after), found.agreements)
    return [reason.code for reason in judged.reasons if reason.code not in _NO_GAPS]


def unconsumed(connection: Connection, key: int, turn_id: str) -> list[Gate]:
    """Return the gates of a turn that were decided, and no harness was told of; oldest first."""
    params = {"session_key": key, "turn_id": turn_id}
    return [gate_of(row) for row in _UNCONSUMED.run(connection, params)]


def carried(connection: Connection, key: int, turn_ids: Sequence[str]) -> list[CarriedDecision]:
    """Return what was decided of these turns and no harness was given yet, oldest first."""
    found: list[CarriedDecision] = []
    for turn_id in turn_ids:
        for gate in unconsumed(connection, key, turn_id):
            decided = fact_at(connection, key, gate.closed_version or 0)
            asked = fact_at(connection, key, gate.opened_version)
            if isinstance(decided, e.GateDecided) and isinstance(asked, e.GateOpened):
                found.append(_carried(gate, asked, decided))
        found += _expired(connection, key, turn_id)
    return found


def _expired(connection: Connection, key: int, turn_id: str) -> list[CarriedDecision]:
    """Return the questions that nobody answered in time and whose calls still wait: denied."""
    found: list[CarriedDecision] = []
    for row in _EXPIRED.run(connection, {"session_key": key, "turn_id": turn_id}):
        gate = gate_of(row)
        asked = fact_at(connection, key, gate.opened_version)
        if isinstance(asked, e.GateOpened):
            nobody = e.GateDecided(
                verdict="denied", decided_by="timeout", via="out-of-band", message=UNANSWERED
            )
            found.append(replace(_carried(gate, asked, nobody), consumed=True))
    return found


def _carried(gate: Gate, asked: e.GateOpened, decided: e.GateDecided) -> CarriedDecision:
    return CarriedDecision(
        gate_id=gate.gate_id,
        turn_id=gate.turn_id,
        kind=gate.kind,
        answer=answer_of(decided),
        tool=asked.tool,
        arguments=json_of(asked.arguments),
        tool_call_id=asked.tool_call_id,
        message=_question(asked),
        of_subagent=asked.subagent_session_id is not None,
    )


def answer_of(decided: e.GateDecided) -> Answer:
    """Return what a harness is told of a decision."""
    return Answer(
        verdict=decided.verdict,
        option_id=decided.option_id,
        arguments=json_of(decided.arguments),
        answer=json_of(decided.answer),
        message=decided.message,
    )


def resumed(decisions: Sequence[CarriedDecision]) -> tuple[ResumedCall, ...]:
    """Return the calls that a harness is to make, or not to make, by what was decided before."""
    return tuple(
        ResumedCall(
            tool_call_id=each.tool_call_id,
            name=each.tool,
            arguments=each.arguments,
            answer=_GONE if each.of_subagent else each.answer,
        )
        for each in decisions
        if each.tool_call_id is not None and each.tool is not None
    )


def json_of(value: object) -> JsonValue:
    """Return what an opaque field of a fact says."""
    return parse(value) if isinstance(value, RawJson) else None


def _question(asked: e.GateOpened) -> str | None:
    """Return the question as it is kept beside its options."""
    options = json_of(asked.options)
    said = options.get("message") if isinstance(options, dict) else None
    return said if isinstance(said, str) else None
