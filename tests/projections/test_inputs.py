"""What a turn began with, as one text only if nothing is lost by it."""

import pytest

from domain.messages import Message, Part
from projections.inputs import turn_input

PICTURE: Part = {
    "type": "attachment",
    "attachment_id": "a1",
    "media_type": "image/png",
    "filename": "cat.png",
    "size": 3,
    "sha256": "0" * 64,
}
NAMED = {name: value for name, value in PICTURE.items() if name != "type"}


def text(said: str) -> Part:
    return {"type": "text", "text": said}


def user(*parts: Part) -> Message:
    return Message(role="user", content=parts)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (Message(role="user", content="as it is\n"), "as it is\n"),
        (user(text("a"), text("b")), "ab"),
        (user(text("a"), text("b"), PICTURE), "ab"),
        (user(PICTURE, text("a")), "a"),
        (user(PICTURE), ""),
        (user(), ""),
        (user(text("a"), PICTURE, text("b")), None),
        (user(text("a"), {"type": "data", "kind": "k", "data": 1}), None),
        (user({"type": "text", "text": 7}), None),
    ],
)
def test_texts_in_a_row_are_one_text(message: Message, expected: str | None) -> None:
    assert turn_input("t1", [message]).text == expected


def test_what_configures_is_no_input() -> None:
    found = turn_input("t1", [Message(role="system", content="Be brief."), user(text("a"))])

    assert found.text == "a"


def test_several_messages_are_more_than_one_text() -> None:
    found = turn_input("t1", [user(text("a"), PICTURE), user(text("b"), PICTURE)])

    assert found.text is None
    assert len(found.attachments) == 2


def test_a_turn_that_begins_with_an_answer_has_no_text() -> None:
    assert turn_input("t1", []).text is None


def test_attachments_are_named_and_never_shown() -> None:
    bare: Part = {"type": "attachment", "attachment_id": "a2", "data": "AAAA"}

    found = turn_input("t1", [user(text("a"), PICTURE, bare)])

    assert found.shape() == {
        "turn_id": "t1",
        "text": "a",
        "attachments": (NAMED, {"attachment_id": "a2"}),
    }
