"""What `docs/dispatching.md` says is what happens: its examples are sent, its table is whole."""

import re
from pathlib import Path

import httpx

from api.answers import SCHEMAS
from tests.api.test_last_message_only import differences, examples

GUIDE = Path(__file__).parents[2] / "docs" / "dispatching.md"


def test_every_example_is_what_happens(client: httpx.Client) -> None:
    text = GUIDE.read_text(encoding="utf-8")
    sent = 0
    for number, example in enumerate(examples(text)):
        answer = client.request(
            example.method,
            example.path,
            content=example.body,
            headers={"Content-Type": "application/json"},
        )
        where = f"example {number}: {example.method} {example.path}"
        if example.status is None:
            assert answer.is_success, f"{where}: {answer.text}"
            continue
        sent += 1
        assert answer.status_code == example.status, f"{where}: {answer.text}"
        assert [*differences(example.shown, answer.json())] == [], where
        if example.header is not None:
            name, value = example.header
            assert answer.headers[name] == value, where
    assert sent * 2 == text.count("```json\n")


def test_every_decision_is_in_the_table() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    table = text.partition("| `decision` | do |")[2].partition("\n\n")[0]
    documented = re.findall(r"^\| `([a-z]+)` \|", table, re.MULTILINE)
    decisions = SCHEMAS["Dispatched"]["properties"]["decision"]["enum"]
    assert sorted(documented) == sorted(decisions)
