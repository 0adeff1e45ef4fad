"""Tools are functions of their arguments, whether called here or over JSON-RPC."""

import pytest

from domain.json_text import JsonValue
from infrastructure.demo_agent.tool_server import answer
from infrastructure.demo_agent.tools import Outcome, failed, run


@pytest.mark.parametrize(
    ("name", "arguments", "outcome"),
    [
        ("add", {"a": 2, "b": 3}, Outcome(output={"sum": 5})),
        ("add", {"a": 2, "b": 0.5}, Outcome(output={"sum": 2.5})),
        ("add", {"a": 1e308, "b": 1e308}, failed("a and b are numbers")),
        ("add", {"a": "2"}, failed("a and b are numbers")),
        ("echo", {"x": [1]}, Outcome(output={"x": [1]})),
        (
            "read_note",
            {"name": "groceries"},
            Outcome(output={"note": "Bread, olives, two lemons."}),
        ),
        ("read_note", {"name": "secrets"}, failed("there is no such note")),
        ("fail", {"reason": "no luck"}, failed("no luck")),
        ("fail", {}, failed("it was asked to")),
        ("fly", {}, failed("there is no such tool")),
        ("echo", "text", failed("arguments are an object")),
    ],
)
def test_a_tool_gives_the_same_for_the_same(
    name: str, arguments: JsonValue, outcome: Outcome
) -> None:
    assert run(name, arguments) == outcome


def test_the_tool_server_answers_requests_and_no_notifications() -> None:
    assert answer({"method": "notifications/initialized"}) is None
    assert answer({"id": 1, "method": "fly"}) == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": -32601, "message": "there is no such method"},
    }
    called = answer(
        {"id": 2, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 1}}}
    )
    assert called == {
        "jsonrpc": "2.0",
        "id": 2,
        "result": {
            "content": [{"type": "text", "text": '{"sum": 2}'}],
            "structuredContent": {"sum": 2},
            "isError": False,
        },
    }
