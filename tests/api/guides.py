"""Is what a guide says what happens? Its examples are sent, one after the other."""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

import httpx

from domain.json_text import JsonValue

ANYTHING = "..."
_STEP = re.compile(
    r"<!-- (?:(?P<method>[A-Z]+) (?P<path>/\S+)(?: (?P<silent>\{[^\n]*\}))?"
    r"|(?P<status>\d{3})(?: (?P<header>[A-Za-z-]+): (?P<value>\S+))?) -->\n"
    r"(?:```json\n(?P<block>.*?)```)?",
    re.DOTALL,
)


class Example(NamedTuple):
    """A request, and what is shown of its answer."""

    method: str
    path: str
    body: str
    status: int | None = None
    header: tuple[str, str] | None = None
    shown: JsonValue = None


def examples(text: str) -> Iterator[Example]:
    asked: Example | None = None
    for step in _STEP.finditer(text):
        if step["method"]:
            if asked is not None:
                yield asked
            asked = Example(step["method"], step["path"], step["block"] or step["silent"] or "")
            continue
        assert asked is not None, "an answer without a request"
        header = (step["header"], step["value"]) if step["header"] else None
        yield asked._replace(
            status=int(step["status"]), header=header, shown=json.loads(step["block"])
        )
        asked = None
    if asked is not None:
        yield asked


def differences(shown: JsonValue, told: JsonValue, at: str = "") -> Iterator[str]:
    """Yield where an answer is not what is shown of it; `...` is anything."""
    if isinstance(shown, dict):
        for name, value in shown.items():
            if not isinstance(told, dict) or name not in told:
                yield f"{at}/{name} is not there"
            else:
                yield from differences(value, told[name], f"{at}/{name}")
    elif isinstance(shown, list):
        if not isinstance(told, list) or len(told) != len(shown):
            yield f"{at} is {told}"
            return
        for number, value in enumerate(shown):
            yield from differences(value, told[number], f"{at}/{number}")
    elif shown not in (ANYTHING, told):
        yield f"{at} is {told}"


def check_examples(client: httpx.Client, text: str) -> None:
    """Fail where an answer is not what is shown; `{gate_id}` is the gate that opened last."""
    gate_id, sent = "", 0
    for number, example in enumerate(examples(text)):
        body = example.body.replace("{gate_id}", gate_id)
        answer = client.request(
            example.method,
            example.path.replace("{gate_id}", gate_id),
            content=body or None,
            headers={"Content-Type": "application/json"} if body else {},
        )
        where = f"example {number}: {example.method} {example.path}"
        if example.status is None:
            assert answer.is_success, f"{where}: {answer.text}"
            continue
        sent += 1
        assert answer.status_code == example.status, f"{where}: {answer.text}"
        told = answer.json()
        found = [*differences(example.shown, told)]
        assert not found, f"{where}: {found}"
        if example.header is not None:
            name, value = example.header
            assert answer.headers[name] == value, f"{where}: {answer.headers}"
        gate_id = next((gate["gate_id"] for gate in told.get("gates", ())), gate_id)
    assert sent * 2 == text.count("```json\n")
