"""What the guides to hosted turns and approvals say is what happens: their examples are sent."""

from pathlib import Path

import httpx
import pytest

from tests.api.test_last_message_only import differences, examples

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("guide", ["hosted-turns.md", "approvals.md"])
def test_every_example_is_what_happens(client: httpx.Client, guide: str) -> None:
    text = (DOCS / guide).read_text(encoding="utf-8")
    gate_id, sent = "", 0
    for number, example in enumerate(examples(text)):
        answer = client.request(
            example.method,
            example.path.replace("{gate_id}", gate_id),
            content=example.body.replace("{gate_id}", gate_id),
            headers={"Content-Type": "application/json"},
        )
        where = f"example {number}: {example.method} {example.path}"
        if example.status is None:
            assert answer.is_success, f"{where}: {answer.text}"
            continue
        sent += 1
        assert answer.status_code == example.status, f"{where}: {answer.text}"
        told = answer.json()
        assert [*differences(example.shown, told)] == [], where
        if example.header is not None:
            name, value = example.header
            assert answer.headers[name] == value, where
        gate_id = next((gate["gate_id"] for gate in told.get("gates", ())), gate_id)
    assert sent * 2 == text.count("```json\n")
