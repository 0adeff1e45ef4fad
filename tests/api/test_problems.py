"""Every refusal and every mistake is a problem with a code that has a page."""

import ast
import asyncio
import json
from pathlib import Path

import pytest
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import api
from api.errors import CODES
from api.mistakes import Mistakes
from api.problems import TYPES, pointer
from domain.dispatch.outcomes import ACTIONS
from domain.refusals import ALL

SECRET = "what was said in the session"


def test_every_refusal_has_a_code() -> None:
    assert CODES.keys() == set(ALL)


def test_every_code_that_is_told_has_a_page_and_every_page_is_told() -> None:
    assert _told() | set(CODES.values()) | ACTIONS.keys() == TYPES.keys()


def test_a_refused_request_tells_the_action_that_was_decided() -> None:
    assert {code: TYPES[code].action for code in ACTIONS} == ACTIONS


def _told() -> set[str]:
    """Return the codes of the problems that the source raises by name."""
    [folder] = api.__path__
    calls = [
        node
        for file in Path(folder).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args
    ]
    return {
        call.args[0].value
        for call in calls
        if isinstance(call.func, ast.Name)
        and call.func.id in {"ProblemError", "retry"}
        and isinstance(call.args[0], ast.Constant)
        and isinstance(call.args[0].value, str)
    }


@pytest.mark.parametrize("code", TYPES)
def test_a_problem_says_what_a_client_should_do(code: str) -> None:
    kind = TYPES[code]

    assert 400 <= kind.status < 600
    assert kind.title
    assert kind.when.endswith(".")
    assert (kind.action == "retry") >= (kind.status == 503)


def test_a_pointer_is_escaped_and_cut() -> None:
    assert pointer(["a/b", "~", 3, "x" * 100]) == f"/a~1b/~0/3/{'x' * 64}"
    assert pointer([]) == ""


def run(app: ASGIApp) -> list[Message]:
    """Return what the application sends through the outermost edge."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    scope: Scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
    asyncio.run(Mistakes(app)(scope, receive, send))
    return sent


def test_a_defect_is_told_and_logged_by_its_place_and_never_by_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def defective(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise ValueError(SECRET) from KeyError(SECRET)

    start, body = run(defective)

    problem = json.loads(body["body"])
    assert (start["status"], problem["code"]) == (500, "internal-error")
    [entry] = caplog.records
    assert problem["request_id"] in entry.getMessage()
    assert "ValueError" in entry.getMessage()
    assert "test_problems.py" in entry.getMessage()
    assert SECRET not in caplog.text
    assert SECRET not in str(problem)


def test_a_defect_in_the_middle_of_an_answer_leaves_it_cut(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def defective(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ValueError(SECRET)

    sent = run(defective)

    assert [message["type"] for message in sent] == ["http.response.start"]
    assert len(caplog.records) == 1
    assert SECRET not in caplog.text


def test_a_client_that_is_gone_is_no_defect(caplog: pytest.LogCaptureFixture) -> None:
    async def left(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise ClientDisconnect

    assert run(left) == []
    assert caplog.records == []
