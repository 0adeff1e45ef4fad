"""What does a request answer, and which gates are that?

A gate goes by its own id, by the harness's id of the request, or by the call that waits for it; in
that order. A result is an answer by the call alone. Whether the gate still waits is not asked here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NoReturn, TypeAlias

from sqlalchemy import Connection

from domain import events as e
from domain.canonical import canonical
from domain.commands import Proposal
from domain.decide_gate import resolve_gate
from domain.events.gate import Verdict, Via
from domain.identifiers import is_name
from domain.json_text import JsonValue, dump, parse
from domain.keys import Keys
from domain.refusals import AmbiguousGate, InvalidValue, NoSuchGate
from domain.state import Gate, State
from infrastructure.command_handler import Target
from infrastructure.lookup import find_head, look_up
from infrastructure.proposing import proposal_of
from projections.comparing.content import result_of
from projections.comparing.told import Form, Part, Told
from projections.openai_parts import text_of

Alias: TypeAlias = Literal["gate_id", "permission_id", "tool_call_id"]
ALIASES: Final[tuple[Alias, ...]] = ("gate_id", "permission_id", "tool_call_id")
ANSWERS_LIMIT: Final = 100
"""So many gates can be open."""
_VERDICTS: Final[Mapping[str, Verdict]] = {
    "approved": "approved",
    "denied": "denied",
    "answered": "answered",
}
_TEXTS: Final = ("option_id", "message", "on_behalf_of")
_MEMBERS: Final = frozenset({"gate", "verdict", *_TEXTS, "arguments", "answer"})
_WORDLESS: Final[frozenset[Form]] = frozenset({"openai", "anthropic"})
"""Forms whose results are text, so that an object is told as its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer, or what may be one.

    Attributes:
        gate: What it calls the gate.
        via: Whether it came within a message or beside.
        at: Where it stands in the request.
        verdict: None for a result: what it means depends on what was asked.
        said: What else a decision says: members of `gate-decided`.
        call: The call that waits for it, should no gate be called so.
        is_result: Whether it is a call's result, which may be history and nothing else.
        output: Of a result, as JSON.
    """

    gate: str
    via: Via
    at: tuple[str | int, ...]
    verdict: Verdict | None = None
    said: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    call: str | None = None
    is_result: bool = False
    output: JsonValue = None


def answers_of_body(given: Sequence[JsonValue]) -> tuple[Answer, ...]:
    """Return the answers that the body itself has.

    Raises:
        InvalidValue: one is none, and where.
    """
    if len(given) > ANSWERS_LIMIT:
        raise InvalidValue(f"at most {ANSWERS_LIMIT} gates are open at once", "answers")
    return tuple(_told(value, ("answers", n), "out-of-band") for n, value in enumerate(given))


def answers_in(told: Told, raw: JsonValue, form: Form) -> tuple[Answer, ...]:
    """Return what in a message may answer a gate; `raw` is what it was read from.

    Raises:
        InvalidValue: a part that says it is an answer is none.
    """
    found: list[Answer] = []
    for part, tokens in told.parts:
        at = ("messages", told.index, *tokens)
        if part.get("type") == "gate_answer":
            value: JsonValue = {name: item for name, item in part.items() if name != "type"}
            found.append(_told(value, at, "in-band"))
        elif part.get("type") == "tool_result":
            found.append(_result(part, at, form))
    return (*found, *(_responses(told, raw) if form == "ui" else ()))


def approval_in(part: Part) -> Mapping[str, JsonValue] | None:
    """Return what a result says of an approval: an object with `approved`, true or false."""
    if part.get("type") != "tool_result":
        return None
    output = _plain(part)
    return output if isinstance(output, dict) and isinstance(output.get("approved"), bool) else None


def decisions(
    connection: Connection, target: Target, answers: Sequence[Answer]
) -> tuple[Proposal, ...]:
    """Return a `gate-decided` for each answer, under a name that the session knows its gate by.

    A result that answers nothing is history, unless it is all that there is.

    Raises:
        InvalidValue: one gate is answered in two ways.
    """
    if not answers:
        return ()
    key, state = find_head(connection, target.project_id, target.session_id)
    if key is not None:
        state = look_up(connection, key, state, _keys(answers))
    bound = [_bound(state, answer) for answer in answers]
    surest = max(each.rank for each in bound)
    kept = [each for each in bound if each.rank == surest]
    return tuple(_decided(each) for each in _once(kept if surest else kept[:1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bound:
    """An answer with the gate that it names; None if no gate is called so, or more than one."""

    answer: Answer
    alias: Alias
    name: str
    gate: Gate | None

    @property
    def rank(self) -> int:
        """Tell how sure it is an answer: 2 if it is, 1 if it may be one again, 0 if it is none."""
        gate = self.gate
        if not self.answer.is_result or self.approval is not None:
            return 2
        if gate is None or gate.kind != "input":
            return 0
        return 2 if gate.status == "open" else 1

    @property
    def approval(self) -> Mapping[str, JsonValue] | None:
        """Return what a result says of an approval, where one was asked for."""
        answer, gate = self.answer, self.gate
        output = answer.output
        if not answer.is_result or not isinstance(output, dict):
            return None
        is_asked = gate is None or gate.kind == "permission"
        return output if is_asked and isinstance(output.get("approved"), bool) else None


def _told(value: JsonValue, at: tuple[str | int, ...], via: Via) -> Answer:
    if not isinstance(value, dict):
        _refuse("an answer is an object", at)
    unknown = sorted(value.keys() - _MEMBERS)
    if unknown:
        _refuse("an answer has no such member", (*at, unknown[0]))
    gate = value.get("gate")
    if not isinstance(gate, str) or not is_name(gate):
        _refuse("name the gate: its gate_id, permission_id or tool_call_id", (*at, "gate"))
    verdict = value.get("verdict")
    if not isinstance(verdict, str) or verdict not in _VERDICTS:
        _refuse("a verdict is approved, denied or answered", (*at, "verdict"))
    for name in _TEXTS:
        if not isinstance(value.get(name), str | None):
            _refuse("expected text", (*at, name))
    if not isinstance(value.get("arguments"), dict | str | None):
        _refuse("arguments are an object, or text", (*at, "arguments"))
    said = {
        name: item
        for name, item in value.items()
        if name not in {"gate", "verdict"} and item is not None
    }
    return Answer(gate=gate, via=via, at=at, verdict=_VERDICTS[verdict], said=said)


def _result(part: Part, at: tuple[str | int, ...], form: Form) -> Answer:
    output = part.get("output")
    plain = _plain(part) if form in _WORDLESS else None
    return Answer(
        gate=text_of(part, "tool_call_id"),
        via="in-band",
        at=at,
        is_result=True,
        output=plain if isinstance(plain, dict | list) else output,
    )


def _plain(part: Part) -> JsonValue:
    """Return the output, whether it is JSON, its text, or blocks of text."""
    found = result_of(part)
    return None if found is None or found.output is None else parse(found.output)


def _responses(told: Told, raw: JsonValue) -> list[Answer]:
    """Return the approvals that AI SDK parts were just given."""
    parts = raw.get("parts") if isinstance(raw, dict) else None
    found: list[Answer] = []
    for number, part in enumerate(parts if isinstance(parts, list) else []):
        match part:
            case {
                "state": "approval-responded",
                "toolCallId": str(call),
                "approval": {"id": str(gate), "approved": bool(approved), **rest},
            } if gate:
                reason = rest.get("reason")
                found.append(
                    Answer(
                        gate=gate,
                        via="in-band",
                        at=("messages", told.index, "parts", number),
                        verdict="approved" if approved else "denied",
                        said={"message": reason} if isinstance(reason, str) and reason else {},
                        call=call,
                    )
                )
            case _:
                pass
    return found


def _keys(answers: Sequence[Answer]) -> Keys:
    gates = {answer.gate for answer in answers if not answer.is_result}
    calls = {answer.call or answer.gate for answer in answers} | gates
    return Keys(
        gate_ids=frozenset(filter(is_name, gates)),
        permission_ids=frozenset(filter(is_name, gates)),
        gate_call_ids=frozenset(filter(is_name, calls)),
    )


def _bound(state: State, answer: Answer) -> _Bound:
    names: list[tuple[Alias, str]] = [("tool_call_id", answer.gate)]
    if not answer.is_result:
        names = [(alias, answer.gate) for alias in ALIASES]
    if answer.call is not None:
        names.append(("tool_call_id", answer.call))
    for alias, name in names:
        try:
            gate = resolve_gate(state, _naming(alias, name))
        except NoSuchGate:
            continue
        except AmbiguousGate:
            return _Bound(answer=answer, alias=alias, name=name, gate=None)
        return _Bound(answer=answer, alias="gate_id", name=gate.gate_id, gate=gate)
    alias, name = names[0]
    return _Bound(answer=answer, alias=alias, name=name, gate=None)


def _naming(alias: Alias, name: str) -> e.GateDecided:
    return e.GateDecided(
        verdict="answered",
        decided_by="person",
        via="in-band",
        gate_id=name if alias == "gate_id" else None,
        permission_id=name if alias == "permission_id" else None,
        tool_call_id=name if alias == "tool_call_id" else None,
    )


def _once(bound: Sequence[_Bound]) -> list[_Bound]:
    """Leave out what says the same of the same gate again."""
    known: dict[str, bytes] = {}
    found: list[_Bound] = []
    for each in bound:
        said = canonical({"verdict": _verdict(each), **_said(each)})
        if each.gate is not None and known.setdefault(each.name, said) != said:
            _refuse("one gate has one answer", each.answer.at)
        if each.gate is None or sum(one.name == each.name for one in found) == 0:
            found.append(each)
    return found


def _decided(bound: _Bound) -> Proposal:
    data: dict[str, JsonValue] = {
        bound.alias: bound.name,
        "verdict": _verdict(bound),
        "decided_by": "person",
        "via": bound.answer.via,
        **_said(bound),
    }
    return proposal_of("gate-decided", dump(data))


def _verdict(bound: _Bound) -> Verdict:
    if bound.answer.verdict is not None:
        return bound.answer.verdict
    if bound.approval is None:
        return "answered"
    return "approved" if bound.approval["approved"] is True else "denied"


def _said(bound: _Bound) -> dict[str, JsonValue]:
    answer = bound.answer
    if not answer.is_result:
        return {**answer.said}
    if bound.approval is None:
        return {"answer": answer.output}
    told = bound.approval.get("message", bound.approval.get("reason"))
    return {"message": told} if isinstance(told, str) and told else {}


def _refuse(detail: str, at: tuple[str | int, ...]) -> NoReturn:
    raise InvalidValue(detail, *at)
