"""What a request carries is told by its shape."""

from typing import TypeAlias

import pytest

from domain.dispatch.kinds import Carried, Kind, Shape, shape_of
from domain.messages import Role
from domain.refusals import InvalidValue


def told(*messages: Carried) -> list[Carried]:
    return [
        Carried(
            index=index,
            role=message.role,
            has_text=message.has_text,
            has_file=message.has_file,
            calls=message.calls,
            results=message.results,
            answers=message.answers,
        )
        for index, message in enumerate(messages)
    ]


def text(role: Role) -> Carried:
    return Carried(index=0, role=role, has_text=True)


USER = text("user")
SAID = text("assistant")
SYSTEM = text("system")
DEVELOPER = text("developer")
FILE = Carried(index=0, role="user", has_file=True)
BLANK = Carried(index=0, role="user")
CALL = Carried(index=0, role="assistant", calls=("c1",))
APPROVED_CALL = Carried(index=0, role="assistant", has_text=True, calls=("c1",), answers=("c1",))
RESULT = Carried(index=0, role="tool", results=("c1",))
USER_RESULT = Carried(index=0, role="user", results=("c1",))
USER_BOTH = Carried(index=0, role="user", has_text=True, results=("c1",))
USER_CALL = Carried(index=0, role="user", has_text=True, calls=("c1",))
GATE = Carried(index=0, role="user", answers=("g1",))


Parts: TypeAlias = tuple[Kind, tuple[int, ...], int | None, int | None]


def parts(shape: Shape) -> Parts:
    return (
        shape.kind,
        tuple(message.index for message in shape.prior),
        None if shape.fresh is None else shape.fresh.index,
        None if shape.in_band is None else shape.in_band.index,
    )


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([USER], ("minimal", (), 0, None)),
        ([FILE], ("minimal", (), 0, None)),
        ([SYSTEM, DEVELOPER, USER], ("minimal", (), 2, None)),
        ([USER, SAID, USER], ("full", (0, 1), 2, None)),
        ([SYSTEM, USER, SAID, FILE], ("full", (1, 2), 3, None)),
        ([SAID, USER], ("full", (0,), 1, None)),
        ([USER, CALL, RESULT, USER], ("full", (0, 1, 2), 3, None)),
        ([USER, SAID, SYSTEM, USER], ("full", (0, 1, 2), 3, None)),
        ([USER, USER_BOTH, USER], ("full", (0, 1), 2, None)),
        ([USER_CALL, USER], ("full", (0,), 1, None)),
        ([USER, APPROVED_CALL], ("resume", (0,), None, 1)),
        ([USER, CALL], ("resume", (0,), None, 1)),
        ([USER, CALL, RESULT], ("resume", (0, 1), None, 2)),
        ([USER, CALL, USER_RESULT], ("resume", (0, 1), None, 2)),
        ([SYSTEM, USER, GATE], ("resume", (1,), None, 2)),
        ([GATE], ("answer", (), None, 0)),
        ([APPROVED_CALL], ("answer", (), None, 0)),
        ([CALL], ("answer", (), None, 0)),
        ([SYSTEM, RESULT], ("answer", (), None, 1)),
        ([USER_BOTH], ("answer+text", (), 0, 0)),
        ([USER, CALL, USER_BOTH], ("answer+text", (0, 1), 2, 2)),
    ],
)
def test_a_request_without_answers_in_its_body(messages: list[Carried], expected: Parts) -> None:
    assert parts(shape_of(told(*messages))) == expected


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (list[Carried](), ("answer", (), None, None)),
        ([SYSTEM], ("answer", (), None, None)),
        ([USER], ("answer+text", (), 0, None)),
        ([SYSTEM, FILE], ("answer+text", (), 1, None)),
        ([USER, CALL, USER], ("answer+text", (0, 1), 2, None)),
        ([USER, CALL], ("resume", (0, 1), None, None)),
        ([USER, CALL, RESULT], ("resume", (0, 1, 2), None, None)),
        ([USER, CALL, USER_RESULT], ("resume", (0, 1, 2), None, None)),
    ],
)
def test_a_request_with_answers_in_its_body(messages: list[Carried], expected: Parts) -> None:
    assert parts(shape_of(told(*messages), answers=True)) == expected


@pytest.mark.parametrize(
    ("messages", "answers", "at"),
    [
        (list[Carried](), False, ("messages",)),
        ([SYSTEM, DEVELOPER], False, ("messages", 1)),
        ([BLANK], False, ("messages", 0)),
        ([USER, SAID, BLANK], False, ("messages", 2)),
        ([USER, SAID], False, ("messages", 1)),
        ([USER, SAID], True, ("messages", 1)),
        ([USER, SAID, SYSTEM], False, ("messages", 2)),
        ([USER, USER], False, ("messages", 1)),
        ([USER, SAID, USER, FILE], False, ("messages", 3)),
        ([USER, USER], True, ("messages", 1)),
        ([USER, GATE], True, ("answers",)),
        ([USER_BOTH], True, ("answers",)),
        ([RESULT], True, ("answers",)),
        ([USER_CALL], False, ("messages", 0)),
        ([Carried(index=0, role="user", calls=("c1",))], False, ("messages", 0)),
        ([Carried(index=0, role="tool", has_text=True)], False, ("messages", 0)),
    ],
)
def test_any_other_shape_is_refused_and_the_place_is_named(
    messages: list[Carried], answers: bool, at: tuple[str | int, ...]
) -> None:
    with pytest.raises(InvalidValue) as refused:
        shape_of(told(*messages), answers=answers)
    assert refused.value.at == at


def test_a_user_turn_that_was_never_answered_is_prior_and_not_fresh() -> None:
    shape = shape_of(told(USER, SAID, USER, USER), unanswered=True)
    assert parts(shape) == ("full", (0, 1, 2), 3, None)


def test_a_place_is_the_messages_own_index() -> None:
    with pytest.raises(InvalidValue) as refused:
        shape_of([Carried(index=7, role="assistant", has_text=True)])
    assert refused.value.at == ("messages", 7)


@pytest.mark.parametrize("messages", [[USER], [USER, SAID, USER]])
def test_a_rewind_goes_with_a_fresh_user_turn(messages: list[Carried]) -> None:
    assert shape_of(told(*messages), rewind=True) == shape_of(told(*messages))


@pytest.mark.parametrize(
    ("messages", "answers"),
    [(list[Carried](), True), ([USER], True), ([USER, CALL], False), ([GATE], False)],
)
def test_a_rewind_goes_with_no_answer(messages: list[Carried], answers: bool) -> None:
    with pytest.raises(InvalidValue) as refused:
        shape_of(told(*messages), answers=answers, rewind=True)
    assert refused.value.at == ("rewind",)


def test_the_word_of_a_refusal_quotes_no_message() -> None:
    with pytest.raises(InvalidValue) as refused:
        shape_of(told(USER, USER))
    assert refused.value.detail == "two fresh user turns: one request starts one"


@pytest.mark.parametrize(
    ("message", "detail"),
    [
        (BLANK, "the user turn says nothing: it has no text, attachment or image"),
        (SAID, "the last message is no user turn, and names no gate or call"),
    ],
)
def test_a_blank_user_turn_is_told_apart_from_a_message_of_somebody_else(
    message: Carried, detail: str
) -> None:
    with pytest.raises(InvalidValue) as refused:
        shape_of(told(message))
    assert refused.value.detail == detail
