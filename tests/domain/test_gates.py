"""Gates: asked once, answered once, found by their id or an alias."""

import pytest

from domain import events as e
from domain.commands import Proposal, Record
from domain.decide import decide
from domain.events.gate import DecidedBy, Verdict
from domain.offloading import Offloaded
from domain.raw_json import RawJson
from domain.refusals import (
    AmbiguousGate,
    GateAlreadyDecided,
    GateGone,
    InvalidValue,
    NoSuchGate,
    TooManyGates,
)
from tests.scenario import (
    OPENED,
    approved,
    asked,
    called,
    ended,
    folded,
    gate,
    given,
    record,
    started,
    turn,
)

RUNNING = given(OPENED, started())
WAITING = given(OPENED, started(), asked(permission="p1", call="c1"))


def answer(
    *,
    gate_id: str | None = None,
    permission: str | None = None,
    call: str | None = None,
    verdict: Verdict = "approved",
    by: DecidedBy = "person",
) -> e.GateDecided:
    return e.GateDecided(
        gate_id=gate_id,
        permission_id=permission,
        tool_call_id=call,
        verdict=verdict,
        decided_by=by,
        via="out-of-band",
    )


def test_a_gate_opens_in_a_running_turn_and_is_counted() -> None:
    RUNNING.when(asked()).then(asked())
    state = folded(OPENED, started(), asked(), asked("g2"))
    assert (state.head.open_gates, turn(state).open_gates) == (2, 2)
    assert (gate(state).status, gate(state).opened_version) == ("open", 3)


def test_a_gates_time_is_read() -> None:
    timed = e.GateOpened(
        gate_id="g1", turn_id="t1", kind="input", expires_at="1970-01-01T00:00:01Z"
    )
    assert gate(folded(OPENED, started(), timed)).expires_at == 1_000_000
    RUNNING.when(timed).then(timed)


@pytest.mark.parametrize(
    "time", ["tomorrow", "2026-01-01T00:00:00", "20260101T000000Z", "2026-01-01\x0000:00:00Z"]
)
def test_a_time_is_rfc_3339(time: str) -> None:
    RUNNING.when(
        e.GateOpened(gate_id="g1", turn_id="t1", kind="input", expires_at=time)
    ).then_refused(InvalidValue, "expires_at")


@pytest.mark.parametrize(
    ("event", "at"),
    [
        (asked(""), "gate_id"),
        (asked(permission="\0"), "permission_id"),
        (asked(call="a\nb"), "tool_call_id"),
        (asked(tool="n" * 257), "tool"),
        (
            e.GateOpened(gate_id="g", turn_id="t1", kind="input", arguments=RawJson(b"1")),
            "arguments",
        ),
    ],
)
def test_a_gate_is_named(event: e.GateOpened, at: str) -> None:
    RUNNING.when(event).then_refused(InvalidValue, at)


def test_a_gate_id_is_used_once() -> None:
    WAITING.when(asked("g1")).then_refused(InvalidValue, "gate_id")


def test_a_session_holds_a_hundred_open_gates() -> None:
    many = [asked(f"g{n}") for n in range(100)]
    given(OPENED, started(), *many[:99]).when(many[99]).then(many[99])
    given(OPENED, started(), *many).when(asked("one-more")).then_refused(TooManyGates)


@pytest.mark.parametrize(
    "named", [answer(gate_id="g1"), answer(permission="p1"), answer(call="c1")]
)
def test_a_decision_names_its_gate_by_id_or_alias(named: e.GateDecided) -> None:
    (decided,) = decide(WAITING.state, record(named, body=b'{"permission_id":"p1"}'))
    assert isinstance(decided.event, e.GateDecided)
    assert (decided.event.gate_id, decided.turn_id) == ("g1", "t1")


def test_a_decision_is_stored_with_the_id_of_its_gate() -> None:
    for body, stored in (
        (b'{"permission_id":"p1"}', b'{"gate_id":"g1","permission_id":"p1"}'),
        (b'{"gate_id":null,"n":1.50}', b'{"gate_id":"g1","n":1.50}'),
    ):
        proposal = Proposal(
            event=answer(permission="p1"), body=body, offloaded=Offloaded(b"of the body as it was")
        )
        (decided,) = decide(WAITING.state, Record(proposal=proposal))
        assert (decided.body, decided.offloaded) == (stored, None)


def test_a_decision_that_names_the_id_is_stored_as_it_was_sent() -> None:
    body = b'{ "gate_id": "g1" }'
    (decided,) = decide(
        WAITING.state, Record(proposal=Proposal(event=answer(gate_id="g1"), body=body))
    )
    assert decided.body == body


def test_a_decision_names_a_gate_that_exists() -> None:
    WAITING.when(answer(gate_id="g9")).then_refused(NoSuchGate, "gate_id")
    WAITING.when(answer(permission="p9")).then_refused(NoSuchGate, "permission_id")
    WAITING.when(answer(call="c9")).then_refused(NoSuchGate, "tool_call_id")
    WAITING.when(answer()).then_refused(InvalidValue, "gate_id")


def test_an_alias_of_two_open_gates_is_ambiguous() -> None:
    both = given(OPENED, started(), asked("g1", permission="p"), asked("g2", permission="p"))
    both.when(answer(permission="p")).then_refused(AmbiguousGate, "permission_id")


def test_an_alias_of_one_open_gate_means_that_one() -> None:
    history = (
        OPENED,
        started(),
        asked("g1", permission="p"),
        approved("g1"),
        asked("g2", permission="p"),
    )
    (decided,) = decide(folded(*history), record(answer(permission="p")))
    assert decided.event == e.GateDecided(
        gate_id="g2",
        permission_id="p",
        verdict="approved",
        decided_by="person",
        via="out-of-band",
    )


def test_an_alias_of_closed_gates_means_the_newest() -> None:
    given(
        OPENED,
        started(),
        asked("g1", permission="p"),
        approved("g1"),
        asked("g2", permission="p"),
        e.GateExpired(gate_id="g2"),
    ).when(answer(permission="p")).then_refused(GateGone, "gate_id")


def test_a_gate_is_decided_once() -> None:
    given(OPENED, started(), asked(), approved()).when(approved()).then_refused(
        GateAlreadyDecided, "gate_id"
    )


@pytest.mark.parametrize(
    "gone", [e.GateExpired(gate_id="g1"), e.GateWithdrawn(gate_id="g1", reason="cancelled")]
)
def test_an_answer_to_a_gate_that_is_gone_comes_too_late(gone: e.SessionEvent) -> None:
    given(OPENED, started(), asked(), gone).when(approved()).then_refused(GateGone, "gate_id")


def test_a_permission_is_approved_or_denied_and_an_input_answered_or_denied() -> None:
    WAITING.when(answer(gate_id="g1", verdict="answered")).then_refused(InvalidValue, "verdict")
    question = given(OPENED, started(), asked(kind="input"))
    question.when(approved()).then_refused(InvalidValue, "verdict")
    for verdict in ("answered", "denied"):
        fits = answer(gate_id="g1", verdict=verdict)
        question.when(fits).then(fits)


@pytest.mark.parametrize(
    ("event", "at"),
    [
        (
            e.GateDecided(
                gate_id="g1", verdict="denied", decided_by="person", via="in-band", option_id="\0"
            ),
            "option_id",
        ),
        (
            e.GateDecided(
                gate_id="g1", verdict="denied", decided_by="person", via="in-band", on_behalf_of=""
            ),
            "on_behalf_of",
        ),
        (
            e.GateDecided(
                gate_id="g1",
                verdict="approved",
                decided_by="person",
                via="in-band",
                arguments=RawJson(b"[]"),
            ),
            "arguments",
        ),
    ],
)
def test_what_a_decision_names_fits_a_column(event: e.GateDecided, at: str) -> None:
    WAITING.when(event).then_refused(InvalidValue, at)


@pytest.mark.parametrize(
    ("verdict", "by", "status"),
    [
        ("approved", "person", "allowed"),
        ("approved", "policy", "allowed"),
        ("answered", "person", "answered"),
        ("denied", "person", "denied"),
        ("denied", "policy", "denied-by-policy"),
        ("denied", "timeout", "expired"),
        ("approved", "cancelled", "withdrawn"),
    ],
)
def test_the_outcomes_of_a_gate_stay_apart(verdict: Verdict, by: DecidedBy, status: str) -> None:
    state = folded(OPENED, started(), asked(), answer(gate_id="g1", verdict=verdict, by=by))
    closed = gate(state)
    assert (closed.status, closed.verdict, closed.decided_by) == (status, verdict, by)
    assert (closed.closed_version, state.head.open_gates, turn(state).open_gates) == (4, 0, 0)


def test_a_gates_end_of_an_import_names_a_gate_that_is_open() -> None:
    expired = e.GateExpired(gate_id="g1")
    withdrawn = e.GateWithdrawn(gate_id="g1", reason="cancelled")
    for end in (expired, withdrawn):
        WAITING.when(record(end, imported=True)).then(end)
        RUNNING.when(record(end, imported=True)).then_refused(NoSuchGate, "gate_id")
        given(OPENED, started(), asked(), approved()).when(record(end, imported=True)).then_refused(
            NoSuchGate, "gate_id"
        )
    nameless = e.GateWithdrawn(gate_id="g1", reason="")
    WAITING.when(record(nameless, imported=True)).then_refused(InvalidValue, "reason")


def test_a_gate_that_opens_twice_in_an_odd_log_is_counted_once() -> None:
    state = folded(OPENED, started(), asked(), asked())
    assert (state.head.open_gates, turn(state).open_gates) == (1, 1)


def test_gates_of_an_odd_log_close_without_their_turn_or_call() -> None:
    state = folded(asked(call="c1", tool="read"), called(), approved(), ended())
    assert (state.head.open_gates, state.turns, gate(state).status) == (0, {}, "allowed")


def test_a_decision_that_names_no_gate_in_an_odd_log_changes_nothing() -> None:
    state = folded(OPENED, started(), asked(), approved(None), approved("g9"))
    assert state.head.open_gates == 1
