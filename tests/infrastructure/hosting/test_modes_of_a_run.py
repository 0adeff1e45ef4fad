"""What does a run ask a person, and what is settled by the session's approval mode?"""

from itertools import product
from typing import get_args

import pytest

from domain import events as e
from domain.approval_modes import ToolKind, by_mode
from domain.events.gate import GateKind
from domain.events.session import ApprovalMode
from infrastructure.harness.port import Answer, Asked
from infrastructure.hosting.outcomes import Finished, Paused
from tests.infrastructure.hosting.stage import (
    APPROVED,
    PARKED,
    Stage,
    calls,
    gave,
    kinds,
    may,
    on_a_loop,
    result,
    settle,
    stage,
    text,
)

ALLOWED = Answer(verdict="approved")
REFUSED = Answer(verdict="denied", message="by the session's approval mode")


def question(tool_kind: ToolKind = "unknown", kind: GateKind = "permission") -> Asked:
    return Asked(
        kind=kind, permission_id="p-c1", tool_call_id="c1", tool="read", tool_kind=tool_kind
    )


async def begun(mode: ApprovalMode) -> Stage:
    s = stage(before=[e.ApprovalModeSet(mode=mode)])
    await s.begin()
    await s.harness.tell(calls("c1"))
    return s


@on_a_loop
async def test_what_a_mode_decides_is_one_commit_before_the_harness_is_told() -> None:
    s = await begun("allow-all")
    recorded: list[list[str]] = []
    s.harness.before_answer = lambda: recorded.extend(s.journal.types)

    await s.harness.ask(may("c1"))

    assert recorded == [["tool-call-requested", "gate-opened", "gate-decided", "gate-consumed"]]
    assert s.journal.recorded[2] == e.GateDecided(
        gate_id="id-1",
        verdict="approved",
        decided_by="policy",
        via="in-band",
        message="by approval mode allow-all",
    )
    assert s.harness.answered == [("p-c1", ALLOWED)]
    assert s.journal.released == [False]
    assert [delta["type"] for delta in s.deltas if "gate" in str(delta["type"])] == []

    await s.harness.tell(gave("c1"), text("Done."))
    outcome = await s.finish()

    assert isinstance(outcome, Finished)
    assert outcome.parked
    assert s.journal.recorded[-1] == PARKED
    assert s.journal.state.gates["id-1"].status == "allowed"


@on_a_loop
async def test_what_a_mode_denies_is_told_apart_from_what_a_person_denies() -> None:
    s = await begun("deny-all")

    await s.harness.ask(may("c1"))
    await s.finish()

    assert s.harness.answered == [("p-c1", REFUSED)]
    gate = s.journal.state.gates["id-1"]
    assert (gate.status, gate.decided_by) == ("denied-by-policy", "policy")
    denied = result("c1", b'{"turnlog":"denied"}', is_error=True, denied=True)
    assert denied in s.journal.recorded


@pytest.mark.parametrize(
    ("mode", "kind", "tool"),
    [*product(get_args(ApprovalMode), get_args(GateKind), get_args(ToolKind))],
)
def test_a_run_does_what_the_table_says(mode: ApprovalMode, kind: GateKind, tool: ToolKind) -> None:
    @on_a_loop
    async def run() -> None:
        s = await begun(mode)
        await s.harness.ask(question(tool, kind))
        match by_mode(mode, kind, tool):
            case "allow":
                assert s.harness.answered == [("p-c1", ALLOWED)]
            case "deny":
                assert s.harness.answered == [("p-c1", REFUSED)]
            case "ask":
                assert s.harness.answered == []
                assert isinstance(await s.outcome(), Paused)
        await s.run.cancel("user")

    run()


@on_a_loop
async def test_a_mode_that_is_set_meanwhile_holds_for_the_next_question_alone() -> None:
    s = await begun("always-ask")
    await s.harness.ask(may("c1"))
    assert isinstance(await s.outcome(), Paused)

    s.journal.append(e.ApprovalModeSet(mode="allow-all"))
    await settle()
    assert s.harness.answered == []
    assert s.journal.state.gates["id-1"].status == "open"

    await s.harness.tell(calls("c2"))
    await s.harness.ask(may("c2"))
    assert s.harness.answered == [("p-c2", ALLOWED)]

    s.decide("id-1")
    assert await s.run.answer("id-1", APPROVED)
    await s.harness.tell(gave("c1"), gave("c2"))
    await s.finish()
    assert {gate.status for gate in s.journal.state.gates.values()} == {"allowed"}
    assert [gate.decided_by for _, gate in sorted(s.journal.state.gates.items())] == [
        "person",
        "policy",
    ]


@on_a_loop
async def test_what_is_settled_while_the_turn_waits_leaves_it_waiting_on_a_newer_history() -> None:
    s = await begun("always-ask")
    await s.harness.ask(may("c1"))
    s.journal.append(e.ApprovalModeSet(mode="deny-all"))

    await s.harness.ask(may("c2"))

    assert s.journal.types[-1] == [
        "gate-opened",
        "gate-decided",
        "gate-consumed",
        "harness-parked",
    ]
    assert s.journal.released[-1] is True
    assert s.journal.state.turns["t1"].open_gates == 1


@on_a_loop
async def test_a_mode_set_to_ask_again_asks_again() -> None:
    s = await begun("allow-all")
    await s.harness.ask(may("c1"))
    s.journal.append(e.ApprovalModeSet(mode="always-ask"))
    await s.harness.tell(gave("c1"), calls("c2"))

    await s.harness.ask(may("c2"))

    assert isinstance(await s.outcome(), Paused)
    assert s.harness.answered == [("p-c1", ALLOWED)]
    assert kinds(s.journal).count("gate-decided") == 1


@on_a_loop
async def test_what_a_mode_allows_and_cannot_be_recorded_is_not_allowed() -> None:
    s = await begun("allow-all")
    s.journal.failing = [RuntimeError("broken")]

    with pytest.raises(RuntimeError):
        await s.harness.ask(may("c1"))

    assert s.harness.answered == []
    assert "gate-decided" not in kinds(s.journal)
