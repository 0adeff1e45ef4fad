"""What `docs/last-message-only.md` says is what happens: examples are sent, its table is true."""

import re
from pathlib import Path

import httpx

from domain.dispatch.outcomes import ACTIONS
from tests.api.guides import check_examples

GUIDE = Path(__file__).parents[2] / "docs" / "last-message-only.md"


def test_every_example_is_what_happens(client: httpx.Client) -> None:
    check_examples(client, GUIDE.read_text(encoding="utf-8"))


def test_every_refusal_of_a_turn_is_in_the_table_with_its_action() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    table = text.partition("<!-- actions -->")[2].partition("<!-- end -->")[0]
    rows = re.findall(r"^\| `([a-z-]+)` \| `([a-z-]+)` \|$", table, re.MULTILINE)

    assert dict(rows) == ACTIONS
    advised = re.findall(r"^\| `([a-z-]+)` \| [a-z]", text, re.MULTILINE)
    assert set(ACTIONS.values()) <= set(advised)
