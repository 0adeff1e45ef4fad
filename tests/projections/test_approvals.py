"""How a gate is shown."""

from dataclasses import replace

from domain import events as e
from domain.raw_json import RawJson, dumped
from domain.times import rfc3339
from projections.approvals import approval_shape
from tests.scenario import asked, folded, gate, started

ASKED = e.GateOpened(
    gate_id="g1",
    turn_id="t1",
    kind="permission",
    permission_id="p1",
    tool_call_id="c1",
    tool="rm",
    arguments=RawJson(b'{"n": 1.50}'),
    options=RawJson(b'[{"id": "once"}]'),
    expires_at="1970-01-01T01:00:00+01:00",
)
DECIDED = e.GateDecided(
    gate_id="g1",
    verdict="approved",
    decided_by="person",
    via="out-of-band",
    option_id="once",
    arguments=RawJson(b'{"n": 2}'),
    message="fine",
    on_behalf_of="u1",
)


def test_a_gate_shows_what_was_asked_as_it_was_sent() -> None:
    shape = approval_shape("s1", gate(folded(started(), ASKED)), ASKED, None, None, 2)

    assert shape == {
        "gate_id": "g1",
        "session_id": "s1",
        "turn_id": "t1",
        "kind": "permission",
        "status": "open",
        "permission_id": "p1",
        "tool_call_id": "c1",
        "tool": "rm",
        "arguments": RawJson(b'{"n": 1.50}'),
        "options": RawJson(b'[{"id": "once"}]'),
        "answer_schema": None,
        "opened_at": rfc3339(2_000_000),
        "opened_version": 2,
        "expires_at": rfc3339(0),
        "decision": None,
        "through_version": 2,
    }
    assert b'"arguments":{"n": 1.50}' in dumped(shape)


def test_a_question_of_a_subagent_names_its_session() -> None:
    asked_below = replace(ASKED, subagent_session_id="s1.a1")
    shape = approval_shape("s1", gate(folded(started(), ASKED)), asked_below, None, None, 2)

    assert shape["subagent_session_id"] == "s1.a1"


def test_a_decided_gate_shows_who_decided_how() -> None:
    known = gate(folded(started(), ASKED, DECIDED))
    shape = approval_shape("s1", known, ASKED, DECIDED, 3_000_000, 3)

    assert shape["status"] == "allowed"
    assert shape["decision"] == {
        "verdict": "approved",
        "decided_by": "person",
        "via": "out-of-band",
        "option_id": "once",
        "arguments": RawJson(b'{"n": 2}'),
        "answer": None,
        "message": "fine",
        "on_behalf_of": "u1",
        "at": rfc3339(3_000_000),
        "version": 3,
    }


def test_before_its_decision_a_gate_was_open() -> None:
    known = gate(folded(started(), ASKED, DECIDED))
    shape = approval_shape("s1", known, ASKED, DECIDED, 3_000_000, 2)

    assert (shape["status"], shape["decision"]) == ("open", None)


def test_a_gate_that_was_withdrawn_has_no_decision() -> None:
    withdrawn = e.GateWithdrawn(gate_id="g1", reason="turn-ended")
    known = gate(folded(started(), asked(), withdrawn))
    shape = approval_shape("s1", known, asked(), withdrawn, 3_000_000, 3)

    assert (shape["status"], shape["decision"], shape["expires_at"]) == ("withdrawn", None, None)


def test_what_only_a_body_said_is_null_once_it_is_gone() -> None:
    known = gate(folded(started(), ASKED, DECIDED))
    gone = e.Opaque(reason="missing-body")
    shape = approval_shape("s1", known, gone, gone, None, 3)

    assert (shape["tool"], shape["arguments"], shape["options"]) == ("rm", None, None)
    assert shape["decision"] == {
        "verdict": "approved",
        "decided_by": "person",
        "via": None,
        "option_id": None,
        "arguments": None,
        "answer": None,
        "message": None,
        "on_behalf_of": None,
        "at": None,
        "version": 3,
    }
