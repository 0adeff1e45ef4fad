"""What `docs/dispatching.md` says is what happens: its examples are sent, its table is whole."""

import re
from pathlib import Path

import httpx

from api.answers import SCHEMAS
from tests.api.guides import check_examples

GUIDE = Path(__file__).parents[2] / "docs" / "dispatching.md"


def test_every_example_is_what_happens(client: httpx.Client) -> None:
    check_examples(client, GUIDE.read_text(encoding="utf-8"))


def test_every_decision_is_in_the_table() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    table = text.partition("| `decision` | do |")[2].partition("\n\n")[0]
    documented = re.findall(r"^\| `([a-z]+)` \|", table, re.MULTILINE)
    decisions = SCHEMAS["Dispatched"]["properties"]["decision"]["enum"]
    assert sorted(documented) == sorted(decisions)
