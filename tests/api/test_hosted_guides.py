"""What the guides to hosted turns and approvals say is what happens: their examples are sent."""

from pathlib import Path

import httpx
import pytest

from tests.api.guides import check_examples

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("guide", ["hosted-turns.md", "approvals.md"])
def test_every_example_is_what_happens(client: httpx.Client, guide: str) -> None:
    check_examples(client, (DOCS / guide).read_text(encoding="utf-8"))
