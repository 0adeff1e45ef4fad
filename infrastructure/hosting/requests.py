"""What do the messages of a request say: what is new, what came before, and what is answered?

In our own form, or in any that a comparison reads. The system and developer messages before
anything else configure; the rest is one of the five shapes that `domain.dispatch.kinds` knows.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from domain.commands import Proposal
from domain.dispatch.kinds import Carried, Shape
from domain.json_text import JsonValue, dump
from domain.messages import CONFIGURATION
from domain.refusals import InvalidValue
from infrastructure.hosting.answers import Answer, answers_in, answers_of_body, approval_in
from infrastructure.hosting.asking import NOWHERE, Address, ClientHistory
from infrastructure.hosting.cleaning import cleaned
from infrastructure.hosting.prior_facts import written
from infrastructure.proposing import proposal_of
from projections.comparing.forms import form_of, read_history
from projections.comparing.told import Form, Part, Told, Unreadable
from projections.openai_parts import text_of

FILES: Final = frozenset({"attachment", "document", "file", "image", "image_url", "input_audio"})
_ANSWERS: Final = frozenset({"gate_answer", "tool_result"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HeardMessage:
    """One message; results that stand at the end in messages of their own are one.

    Attributes:
        answers: What in it may be the answer to a gate.
    """

    carried: Carried
    told: tuple[Told, ...]
    answers: tuple[Answer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """The messages of a request, in their order."""

    form: Form
    messages: tuple[HeardMessage, ...]

    @property
    def carried(self) -> tuple[Carried, ...]:
        """Return what the shape of the request is judged by."""
        return tuple(message.carried for message in self.messages)

    @property
    def leading(self) -> tuple[JsonValue, ...]:
        """Return what configures: the role and the text of each message before the conversation.

        For `domain.configuration.facets`, whatever form they came in.
        """
        return tuple(
            {"role": told.role, "text": _text(told)}
            for message in self.messages[: self._begins]
            for told in message.told
        )

    @property
    def _begins(self) -> int:
        roles = [message.carried.role for message in self.messages]
        begun = (n for n, role in enumerate(roles) if role not in CONFIGURATION)
        return next(begun, len(roles))

    def of(self, carried: Carried) -> HeardMessage:
        """Return the message that this is judged of."""
        return next(message for message in self.messages if message.carried is carried)


def heard(messages: Sequence[JsonValue], form: Form | None = None) -> Heard:
    """Return what the messages of a request say; their form is told by their shape if need be.

    Raises:
        InvalidValue: one is no message, and where.
    """
    known = form or form_of(messages)
    try:
        read = read_history(messages, known)
    except Unreadable as error:
        detail = f"{error.detail}, as `{known}` has it"
        raise InvalidValue(detail, "messages", *error.at) from None
    told = [cleaned(message, messages[message.index], known) for message in read]
    found = [_heard(message, messages[message.index], known) for message in _once_named(told)]
    return Heard(form=known, messages=tuple(_joined(found)))


def start_of(
    heard: Heard, shape: Shape, turn_id: str, address: Address = NOWHERE
) -> Proposal | None:
    """Return the start of the turn that the new message begins; None if there is none.

    Its files go beside the log; answers that stand in it are no words of it. `address` says where
    the turn's answer goes.

    Raises:
        InvalidValue: an attachment is none.
    """
    if shape.fresh is None:
        return None
    (told,) = heard.of(shape.fresh).told
    parts = [written(part) for part, _ in told.parts if part.get("type") not in _ANSWERS]
    message: dict[str, JsonValue] = {"role": "user", "content": _content(parts)}
    if told.message_id is not None:
        message["message_id"] = told.message_id
    if told.author is not None:
        message["author"] = {**told.author}
    said: dict[str, JsonValue] = {
        "turn_id": turn_id,
        "messages": [message],
        "history_sent": shape.kind,
    }
    said |= {name: value for name, value in address._asdict().items() if value is not None}
    return proposal_of("turn-started", dump(said))


def prior_of(heard: Heard, shape: Shape) -> ClientHistory | None:
    """Return what the client tells of the conversation so far; None if that is nothing.

    Of a request that only answers, what the agent said with the question is part of it.
    """
    told = [_without_answers(told) for each in shape.prior for told in heard.of(each).told]
    if shape.kind == "resume" and shape.in_band is not None:
        told += map(_without_results, heard.of(shape.in_band).told)
    said = [message for message in told if message.parts]
    return ClientHistory(messages=said, form=heard.form) if said else None


def answers_of(heard: Heard, shape: Shape, given: Sequence[JsonValue] = ()) -> tuple[Answer, ...]:
    """Return the answers of a request: those in its last message, and the body's `answers`.

    Raises:
        InvalidValue: one of the body's is none, and where.
    """
    in_band = () if shape.in_band is None else heard.of(shape.in_band).answers
    return (*in_band, *answers_of_body(given))


def _heard(told: Told, raw: JsonValue, form: Form) -> HeardMessage:
    answers = answers_in(told, raw, form)
    carried = Carried(
        index=told.index,
        role=told.role,
        message_id=told.message_id,
        has_text=any(text_of(part, "text").strip() for part in _of(told, "text")),
        has_file=any(part.get("type") in FILES for part, _ in told.parts),
        calls=_named(told, "tool_call"),
        results=_named(told, "tool_result"),
        answers=tuple(answer.gate for answer in answers if not answer.is_result),
    )
    return HeardMessage(carried=carried, told=(told,), answers=answers)


def _joined(found: Sequence[HeardMessage]) -> list[HeardMessage]:
    """Let the results that stand at the end, each a message of its own, be one message."""
    start = len(found)
    while start and found[start - 1].carried.role == "tool":
        start -= 1
    run = found[start:]
    if len(run) <= 1:
        return list(found)
    carried = replace(
        run[-1].carried,
        has_text=any(message.carried.has_text for message in run),
        has_file=any(message.carried.has_file for message in run),
        calls=tuple(name for message in run for name in message.carried.calls),
        results=tuple(name for message in run for name in message.carried.results),
        answers=tuple(name for message in run for name in message.carried.answers),
    )
    whole = HeardMessage(
        carried=carried,
        told=tuple(told for message in run for told in message.told),
        answers=tuple(answer for message in run for answer in message.answers),
    )
    return [*found[:start], whole]


def _once_named(history: Sequence[Told]) -> list[Told]:
    """Leave out an id that a later message has too; the newest one is the one that counts."""
    seen: set[str] = set()
    found: list[Told] = []
    for message in reversed(history):
        again = message.message_id in seen
        found.append(replace(message, message_id=None) if again else message)
        if message.message_id is not None:
            seen.add(message.message_id)
    return found[::-1]


def _without_answers(message: Told) -> Told:
    """Leave out answers to gates: they are no history."""
    return _only(message, lambda part: part.get("type") != "gate_answer")


def _without_results(message: Told) -> Told:
    """Leave out of the last message what may answer; an agent's own results are history."""
    if message.role != "assistant":
        return _only(message, lambda part: part.get("type") not in _ANSWERS)
    return _only(_without_answers(message), lambda part: approval_in(part) is None)


def _only(message: Told, wanted: Callable[[Part], bool]) -> Told:
    return replace(
        message, parts=tuple((part, tokens) for part, tokens in message.parts if wanted(part))
    )


def _of(told: Told, kind: str) -> Iterator[Part]:
    return (part for part, _ in told.parts if part.get("type") == kind)


def _named(told: Told, kind: str) -> tuple[str, ...]:
    return tuple(text_of(part, "tool_call_id") for part in _of(told, kind))


def _text(told: Told) -> str:
    return "".join(text_of(part, "text") for part in _of(told, "text"))


def _content(parts: Sequence[dict[str, JsonValue]]) -> JsonValue:
    """Return a message's content; a text alone is that text."""
    match parts:
        case [{"type": "text", "text": str(text)}]:
            return text
        case _:
            return [*parts]
