"""What counts as an error, and what is counted together."""

import pytest

from domain import events as e
from domain.raw_json import RawJson
from projections.errors import WITHIN, Errors, Problem, code_of, counted, problem_of

LONG = "the key sk-1234 of Bob is wrong"


def failed(code: str) -> e.TurnFailed:
    return e.TurnFailed(turn_id="t1", error=e.TurnError(code=code, message=LONG))


def result(
    output: object = "no", *, is_error: bool = True, denied: bool = False
) -> e.ToolCallCompleted:
    return e.ToolCallCompleted(
        turn_id="t1", tool_call_id="c1", output=output, is_error=is_error, denied=denied
    )


@pytest.mark.parametrize(
    ("fact", "problem"),
    [
        (failed("process-died"), ("harness", "process-died", "unexpected")),
        (failed("first-output-timeout"), ("harness", "first-output-timeout", "expected")),
        (failed("record-refused"), ("log", "record-refused", "unexpected")),
        (failed(LONG), ("harness", "unknown", "unexpected")),
        (result(), ("tool", "tool_failed", "expected")),
        (result(RawJson(b'{"turnlog":1,"x":2}')), ("tool", "tool_failed", "expected")),
        (result(RawJson(b"{")), ("tool", "tool_failed", "expected")),
        (
            e.TurnInterrupted(turn_id="t1", reason="owner-lost"),
            ("log", "owner-lost", "expected"),
        ),
        (e.RecordsLost(count=None, reason=LONG), ("producer", "records-lost", "unexpected")),
        (
            e.SessionSuspended(reason="restart-loop", count=3),
            ("log", "session-suspended", "unexpected"),
        ),
    ],
)
def test_an_error_is_told_by_its_source_and_code(
    fact: e.Fact, problem: tuple[str, str, str]
) -> None:
    found = problem_of(fact)
    assert found is not None
    assert (found.source, found.code, found.kind) == problem


@pytest.mark.parametrize(
    "fact",
    [
        e.TurnInterrupted(turn_id="t1", reason="user-stopped"),
        e.TurnCompleted(turn_id="t1"),
        result(denied=True),
        result(is_error=False),
        result(RawJson(b'{"turnlog":"not-run"}')),
        e.Opaque(reason="missing-body"),
    ],
)
def test_who_stops_or_denies_made_no_error(fact: e.Fact) -> None:
    assert problem_of(fact) is None


def test_a_tools_failure_is_told_by_its_name() -> None:
    failure = Problem(source="tool", code="tool_failed", kind="expected")
    assert failure.of_tool("read_file").code == "tool_failed:read_file"
    assert failure.of_tool(None).code == failure.of_tool(LONG).code == "tool_failed:unknown"
    assert code_of("a" * 64) == "a" * 64
    assert code_of("a" * 65) == "unknown"


def errors(
    position: int, at: int, *, project_id: str = "p", source: str = "tool", code: str = "x"
) -> Errors:
    return Errors(
        position=position,
        project_id=project_id,
        session_key=1,
        turn_id="t1",
        source=source,
        code=code,
        kind="expected",
        first_at=at,
        last_at=at,
    )


def test_the_same_again_at_once_is_counted() -> None:
    first = counted(None, errors(1, 0))
    again = counted(first, errors(2, WITHIN))
    assert (again.position, again.times, again.first_at, again.last_at) == (1, 2, 0, WITHIN)
    assert counted(again, errors(3, 0)).last_at == WITHIN
    assert counted(again, errors(3, 2 * WITHIN + 1)).times == 1


@pytest.mark.parametrize(
    "other", [errors(2, 0, project_id="q"), errors(2, 0, source="log"), errors(2, 0, code="y")]
)
def test_nothing_is_counted_with_what_is_of_another_kind(other: Errors) -> None:
    assert counted(errors(1, 0), other) == other
