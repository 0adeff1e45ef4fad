"""What does a request carry, judged by its shape alone?

System and developer messages before anything else configure, and are left aside. Whether what an
answer names exists is not asked here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from domain.messages import CONFIGURATION, Role
from domain.refusals import InvalidValue

Kind: TypeAlias = Literal["minimal", "full", "resume", "answer", "answer+text"]

PURE_ANSWERS: Final[frozenset[Kind]] = frozenset({"answer", "resume"})
"""Kinds without a fresh user turn: they start none, they continue one."""
ANSWERING: Final[frozenset[Kind]] = frozenset({"answer", "resume", "answer+text"})
"""Kinds that decide gates."""
WITH_PRIOR: Final[frozenset[Kind]] = frozenset({"full", "resume", "answer+text"})
"""Kinds that can bring a prior."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What matters of one message of a request.

    Attributes:
        index: Its place in the request's `messages`.
        has_text: Whether it has a text that is not blank.
        has_file: Whether it has an attachment or an inline image.
        calls: The calls that it makes, by their ids.
        results: The calls whose results it holds, by their ids.
        answers: The gates that it answers, by any of their names.
    """

    index: int
    role: Role
    message_id: str | None = None
    has_text: bool = False
    has_file: bool = False
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()

    @property
    def speaks(self) -> bool:
        """Tell whether a person says something with it."""
        return self.role == "user" and (self.has_text or self.has_file)

    @property
    def answering(self) -> bool:
        """Tell whether it holds what may be the answer to a gate."""
        return bool(self.results or self.answers)

    @property
    def fresh(self) -> bool:
        """Tell whether it is a user turn and nothing else."""
        return self.speaks and not self.answering and not self.calls


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a request carries, and where.

    Attributes:
        prior: The messages before what is new, without those that configure.
        fresh: The message that is the new input.
        in_band: The trailing message that holds answers, or names the call that is answered.
    """

    kind: Kind
    prior: tuple[Carried, ...] = ()
    fresh: Carried | None = None
    in_band: Carried | None = None


def shape_of(
    messages: Sequence[Carried],
    *,
    answers: bool = False,
    rewind: bool = False,
    unanswered: bool = False,
) -> Shape:
    """Return what a request carries.

    Args:
        messages: Its messages, all of them.
        answers: Whether its body has `answers`.
        rewind: Whether it asks for a rewind.
        unanswered: Whether the last message in sight is a user's, of a turn that ended without an
            answer: a prior that ends with it is no second fresh turn.

    Raises:
        InvalidValue: the shape is none of the five, and this is where.
    """
    said = _conversation(messages)
    if not said:
        shape = _without_messages(messages, answers=answers)
    elif said[-1].speaks:
        shape = _with_fresh(said, answers=answers, unanswered=unanswered)
    else:
        shape = _with_answer(said, answers=answers)
    if rewind and shape.kind not in {"minimal", "full"}:
        raise InvalidValue("a rewind goes with a fresh user turn and no answers", "rewind")
    return shape


def _conversation(messages: Sequence[Carried]) -> tuple[Carried, ...]:
    start = 0
    while start < len(messages) and messages[start].role in CONFIGURATION:
        start += 1
    return tuple(messages[start:])


def _without_messages(messages: Sequence[Carried], *, answers: bool) -> Shape:
    if answers:
        return Shape(kind="answer")
    if messages:
        raise InvalidValue(
            "there is no user turn and no answer; instructions alone start nothing",
            "messages",
            messages[-1].index,
        )
    raise InvalidValue("there are no messages and no answers", "messages")


def _with_fresh(said: tuple[Carried, ...], *, answers: bool, unanswered: bool) -> Shape:
    """The last message is something that a person says, maybe with answers beside it."""
    prior, last = said[:-1], said[-1]
    if prior and prior[-1].fresh and not unanswered:
        raise InvalidValue("two fresh user turns: one request starts one", "messages", last.index)
    if last.calls:
        raise InvalidValue("a user message makes no tool call", "messages", last.index)
    if last.answering:
        _said_once(answers=answers)
        return Shape(kind="answer+text", prior=prior, fresh=last, in_band=last)
    if answers:
        return Shape(kind="answer+text", prior=prior, fresh=last)
    return Shape(kind="full" if prior else "minimal", prior=prior, fresh=last)


def _with_answer(said: tuple[Carried, ...], *, answers: bool) -> Shape:
    """The last message is none that a person speaks with: it has to name a gate or a call."""
    prior, last = said[:-1], said[-1]
    if prior and answers and last.results and not last.answers:
        return Shape(kind="resume", prior=said)  # of other calls, which were made meanwhile
    if last.answering:
        _said_once(answers=answers)
        return Shape(kind="resume" if prior else "answer", prior=prior, in_band=last)
    if last.calls and last.role != "user":
        if answers:
            return Shape(kind="resume", prior=said)
        return Shape(kind="resume" if prior else "answer", prior=prior, in_band=last)
    if last.role == "user":
        detail = "the user turn says nothing: it has no text, attachment or image"
    else:
        detail = "the last message is no user turn, and names no gate or call"
    raise InvalidValue(detail, "messages", last.index)


def _said_once(*, answers: bool) -> None:
    if answers:
        detail = "answers are in the body or in the last message, not in both"
        raise InvalidValue(detail, "answers")
