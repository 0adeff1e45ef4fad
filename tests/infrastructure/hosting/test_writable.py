"""Does everything that a foreign program can say become something that the log takes?"""

import json
from decimal import Decimal
from typing import Any

import pytest

from domain.identifiers import is_name
from domain.json_text import parse
from infrastructure.harness.port import Asked, Option
from infrastructure.hosting.writable import (
    arguments_of,
    json_of,
    name_of,
    options_of,
    text_of,
)

DEEP: Any = json.loads("[" * 200 + "]" * 200)


@pytest.mark.parametrize(
    ("text", "kept"),
    [("plain", "plain"), ("\ud83d\ude00", "\U0001f600"), ("a\ud83d", "a\ufffd"), ("\0", "\0")],
)
def test_halves_of_pairs_are_joined_and_those_alone_are_replaced(text: str, kept: str) -> None:
    assert text_of(text) == kept


@pytest.mark.parametrize("name", [None, "", "\n", "x" * 300, "\ud83d", "ok"])
def test_a_name_is_one(name: str | None) -> None:
    assert is_name(name_of(name, "otherwise"))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"a": 1.5}, b'{"a":1.5}'),
        (float("nan"), b"null"),
        ({"\ud83d": [float("inf"), "\ud83d", Decimal("1.10"), True, None, 7]}, None),
        ([DEEP], None),
        ([float("nan"), DEEP], None),
        ([float("nan"), {"a": DEEP}], None),
    ],
)
def test_json_can_be_read_again(value: Any, written: bytes | None) -> None:  # noqa: ANN401 - JSON
    raw = json_of(value)

    assert written is None or raw == written
    assert parse(raw) == raw.parsed()


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        (None, b"{}"),
        ({"a": 1}, b'{"a":1}'),
        ("text", b'"text"'),
        ([1], b'"[1]"'),
        (False, b'"false"'),
    ],
)
def test_arguments_are_an_object_or_a_text(arguments: Any, written: bytes) -> None:  # noqa: ANN401 - JSON
    assert arguments_of(arguments) == written


def test_a_gate_shows_its_options_and_what_its_asker_says() -> None:
    option = Option(option_id="o", name="Yes", kind="allow_once")
    shown = b'[{"option_id":"o","name":"Yes","kind":"allow_once"}]'

    assert options_of(Asked(kind="permission", permission_id="p")) is None
    assert options_of(Asked(kind="permission", permission_id="p", options=(option,))) == shown
    assert (
        options_of(Asked(kind="permission", permission_id="p", options=(option,), message="?"))
        == b'{"message":"?","options":%b}' % shown
    )
