"""What does an agent ask, and how is it answered in its own protocol?

An answer that names no option gets one that holds once, never one that holds for ever; where an
agent offers none such, nothing is allowed. Arguments that a person edited reach only an agent
that knows turnlog's extension: with any other, a call that was approved so is rejected.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias
from uuid import uuid4

from domain.json_text import JsonValue
from infrastructure.harness.acp.calls import Call
from infrastructure.harness.acp.fields import EXTENSION, Object, as_name, member, objects, text
from infrastructure.harness.port import Answer, Asked, Option

OptionKind: TypeAlias = Literal["allow_once", "allow_always", "reject_once", "reject_always"]
_KINDS: Final[dict[str | None, OptionKind]] = {
    "allow_once": "allow_once",
    "allow_always": "allow_always",
    "reject_once": "reject_once",
    "reject_always": "reject_always",
}
_WANTED: Final[dict[str, str]] = {"approved": "allow", "denied": "reject"}
CANCELLED_PERMISSION: Final[Object] = {"outcome": {"outcome": "cancelled"}}
CANCELLED_INPUT: Final[Object] = {"action": "cancel"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Something that an agent waits for.

    Attributes:
        number: The id of its request.
        reply: Returns the result to answer the request with.
        refuses: Tells whether an answer means that the call is not made.
    """

    number: JsonValue
    asked: Asked
    call: Call | None
    reply: Callable[[Answer], Object]

    def refuses(self, answer: Answer) -> bool:
        """Tell whether this answer means that its call is not made."""
        if self.asked.kind != "permission":
            return False
        outcome = member(self.reply(answer), "outcome")
        chosen = _option(self.asked.options, text(outcome, "optionId"))
        return chosen is None or chosen.kind.startswith("reject")


def permission(
    number: JsonValue, call: Call, options: tuple[Option, ...], *, takes_edits: bool
) -> Question:
    """Return the question whether a call may be made."""
    asked = Asked(
        kind="permission",
        permission_id=_new_id(),
        tool_call_id=as_name(call.call_id),
        tool=call.name,
        arguments=call.arguments,
        options=options,
        message=call.title if call.title != call.name else None,
        tool_kind=call.kind,
    )
    return Question(
        number=number,
        asked=asked,
        call=call,
        reply=lambda answer: _permitted(options, answer, takes_edits=takes_edits),
    )


def form(number: JsonValue, params: Object, call: Call | None) -> Question:
    """Return the question that a form asks."""
    schema = member(params, "requestedSchema")
    asked = Asked(
        kind="input",
        permission_id=_new_id(),
        tool_call_id=None if call is None else as_name(call.call_id),
        tool=None if call is None else call.name,
        arguments=None if call is None else call.arguments,
        message=text(params, "message"),
        answer_schema=schema,
        tool_kind="unknown" if call is None else call.kind,
    )
    return Question(
        number=number, asked=asked, call=call, reply=lambda answer: _filled_in(schema, answer)
    )


def _permitted(options: tuple[Option, ...], answer: Answer, *, takes_edits: bool) -> Object:
    verdict = answer.verdict
    edited = answer.arguments is not None and verdict == "approved"
    if edited and not takes_edits:
        verdict = "denied"
    chosen = _choice(options, verdict, answer.option_id)
    if chosen is None:
        return CANCELLED_PERMISSION
    said: Object = {"outcome": {"outcome": "selected", "optionId": chosen.option_id}}
    meta: Object = {}
    if edited and takes_edits:
        meta[f"{EXTENSION}/arguments"] = answer.arguments
    if answer.message is not None:
        meta[f"{EXTENSION}/message"] = answer.message
    if meta:
        said["_meta"] = meta
    return said


def _choice(options: tuple[Option, ...], verdict: str, option_id: str | None) -> Option | None:
    """Return the option that says a verdict: the one that was named, if it does say it."""
    named = _option(options, option_id)
    if verdict == "answered":
        return named
    wanted = _WANTED.get(verdict)
    if wanted is None:
        return None
    if named is not None and named.kind.startswith(wanted):
        return named
    return next((option for option in options if option.kind == f"{wanted}_once"), None)


def _option(options: tuple[Option, ...], option_id: str | None) -> Option | None:
    return next((option for option in options if option.option_id == option_id), None)


def options_of(params: Object) -> tuple[Option, ...]:
    """Return what a permission request offers, as far as it is known what that means."""
    return tuple(
        Option(option_id=option_id, name=text(option, "name") or option_id, kind=_KINDS[kind])
        for option in objects(params, "options")
        if (option_id := text(option, "optionId")) is not None
        and (kind := text(option, "kind")) in _KINDS
    )


def _filled_in(schema: Object, answer: Answer) -> Object:
    if answer.verdict == "cancelled":
        return CANCELLED_INPUT
    if answer.verdict == "denied":
        return {"action": "decline"}
    content = answer.answer
    if not isinstance(content, dict):
        fields = list(member(schema, "properties"))
        if len(fields) != 1 or content is None:
            return {"action": "decline"}
        content = dict[str, JsonValue]({fields[0]: content})
    return {"action": "accept", "content": content}


def _new_id() -> str:
    return f"asked-{uuid4().hex}"
