"""What each approval mode makes of each question: one answer for the full product."""

from itertools import product
from typing import Final, get_args

import pytest

from domain.approval_modes import (
    DEFAULT_MODE,
    MODES,
    TOOL_KINDS,
    ModeVerdict,
    ToolKind,
    by_mode,
    tool_kind,
)
from domain.events.gate import GateKind
from domain.events.session import ApprovalMode

GATES: Final[tuple[GateKind, ...]] = get_args(GateKind)
READING: Final = {"read", "search", "think"}
ALLOWED: Final = {
    *(("allow-all", "permission", tool) for tool in TOOL_KINDS),
    *(("read-only", "permission", tool) for tool in READING),
}
DENIED: Final = {("deny-all", gate, tool) for gate, tool in product(GATES, TOOL_KINDS)}


def expected(mode: ApprovalMode, gate: GateKind, tool: ToolKind) -> ModeVerdict:
    if (mode, gate, tool) in DENIED:
        return "deny"
    return "allow" if (mode, gate, tool) in ALLOWED else "ask"


@pytest.mark.parametrize(("mode", "gate", "tool"), [*product(MODES, GATES, TOOL_KINDS)])
def test_each_mode_answers_each_question_in_one_way(
    mode: ApprovalMode, gate: GateKind, tool: ToolKind
) -> None:
    assert by_mode(mode, gate, tool) == expected(mode, gate, tool)


def test_a_question_to_a_person_is_answered_by_no_mode() -> None:
    answers = {by_mode(mode, "input", tool) for mode, tool in product(MODES, TOOL_KINDS)}

    assert answers == {"ask", "deny"}


def test_where_nothing_is_said_a_person_is_asked() -> None:
    assert {by_mode(DEFAULT_MODE, gate, tool) for gate, tool in product(GATES, TOOL_KINDS)} == {
        "ask"
    }


@pytest.mark.parametrize("told", [None, "", "Read", "switch_mode", "reads"])
def test_a_kind_that_is_not_known_is_unknown(told: str | None) -> None:
    assert tool_kind(told) == "unknown"


def test_a_kind_that_is_known_is_taken_as_it_is_told() -> None:
    assert [tool_kind(told) for told in TOOL_KINDS] == [*TOOL_KINDS]
