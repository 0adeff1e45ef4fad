"""What did a session's harness do at each input, and where does another one first do otherwise?

What was thought aloud is left out: only what was said, which tools were called with what, and what
came out are compared.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Final, Literal, TypeAlias

from domain.canonical import canonical
from domain.json_text import JsonValue

Kind: TypeAlias = Literal["said", "called", "gave"]
How: TypeAlias = Literal["same", "differs", "missing", "extra"]
What: TypeAlias = Literal["text", "whitespace-only", "tool", "tool-arguments", "tool-output"]
Message: TypeAlias = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that a harness did.

    Attributes:
        name: The tool's.
        value: What was said, what the tool was given, or what it gave.
        tool_call_id: The harness's own; never compared.
    """

    kind: Kind
    value: JsonValue
    name: str = ""
    tool_call_id: str = ""
    is_error: bool = False
    denied: bool = False

    @property
    def key(self) -> tuple[str, str, bytes]:
        """Return what two steps have in common that are the same."""
        return self.kind, self.name, canonical(self.value)

    def shape(self) -> dict[str, JsonValue]:
        """Return it as JSON."""
        shape: dict[str, JsonValue] = {"kind": self.kind, "value": self.value}
        if self.name:
            shape["name"] = self.name
        if self.is_error:
            shape["is_error"] = True
        if self.denied:
            shape["denied"] = True
        return shape


@dataclass(slots=True, kw_only=True)
class Exchange:
    """An input, and what the harness did about it until the next one."""

    turn_id: str
    message_id: str
    parts: Sequence[Message]
    steps: list[Step] = field(default_factory=list[Step])


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A step as it was recorded beside the one that took its place."""

    recorded: Step | None
    again: Step | None
    how: How
    what: What | None = None

    def shape(self) -> dict[str, JsonValue]:
        """Return it as JSON."""
        shape: dict[str, JsonValue] = {
            "how": self.how,
            "recorded": None if self.recorded is None else self.recorded.shape(),
            "again": None if self.again is None else self.again.shape(),
        }
        return shape if self.what is None else shape | {"what": self.what}


def exchanges(messages: Iterable[Message]) -> list[Exchange]:
    """Return the inputs of a transcript, each with what came of it; what none began is left out.

    A message that is not a person's or a harness's, or a summary, counts for nothing.
    """
    found: list[Exchange] = []
    for message in messages:
        parts = _parts(message)
        if message.get("summary"):
            continue  # nobody said it
        if message.get("role") == "user":
            exchange = Exchange(
                turn_id=_text(message, "turn_id"),
                message_id=_text(message, "message_id"),
                parts=parts,
            )
            found.append(exchange)
        elif found and message.get("role") in {"assistant", "tool"}:
            for part in parts:
                add(found[-1].steps, part)
    return found


def add(steps: list[Step], part: Message) -> None:
    """Add what a part of a message tells; a text goes on with the one before it."""
    match part:
        case {"type": "text", "text": str(text)} if text:
            if steps and steps[-1].kind == "said":
                steps[-1] = Step(kind="said", value=f"{steps[-1].value}{text}")
            else:
                steps.append(Step(kind="said", value=text))
        case {"type": "tool_call", "tool_call_id": str(call_id), "name": str(name)}:
            arguments = part.get("arguments")
            steps.append(Step(kind="called", value=arguments, name=name, tool_call_id=call_id))
        case {"type": "tool_result", "tool_call_id": str(call_id)}:
            steps.append(_result(steps, call_id, part))
        case _:
            pass


def compare(recorded: Sequence[Step], again: Sequence[Step]) -> list[Pair]:
    """Return both side by side, in their order."""
    matcher = SequenceMatcher(
        None, [step.key for step in recorded], [step.key for step in again], autojunk=False
    )
    pairs: list[Pair] = []
    for tag, first, end, other, other_end in matcher.get_opcodes():
        both = zip_longest(recorded[first:end], again[other:other_end])
        for one, two in both:
            pairs += _pairs(one, two, same=tag == "equal")
    return pairs


def first_difference(pairs: Iterable[Pair]) -> Pair | None:
    """Return the first pair that is not the same."""
    return next((pair for pair in pairs if pair.how != "same"), None)


def _pairs(one: Step | None, two: Step | None, *, same: bool) -> Iterator[Pair]:
    if same:
        yield Pair(recorded=one, again=two, how="same")
    elif one is not None and two is not None and one.kind == two.kind:
        yield Pair(recorded=one, again=two, how="differs", what=_what(one, two))
    else:
        if one is not None:
            yield Pair(recorded=one, again=None, how="missing")
        if two is not None:
            yield Pair(recorded=None, again=two, how="extra")


_OF_KIND: Final[Mapping[Kind, What]] = {
    "said": "text",
    "called": "tool-arguments",
    "gave": "tool-output",
}


def _what(one: Step, two: Step) -> What:
    if one.name != two.name:
        return "tool"
    if one.kind == "said" and str(one.value).split() == str(two.value).split():
        return "whitespace-only"
    return _OF_KIND[one.kind]


def _result(steps: Iterable[Step], call_id: str, part: Message) -> Step:
    names = [step.name for step in steps if step.kind == "called" and step.tool_call_id == call_id]
    return Step(
        kind="gave",
        value=part.get("output"),
        name=names[-1] if names else "",
        tool_call_id=call_id,
        is_error=bool(part.get("is_error")),
        denied=bool(part.get("denied")),
    )


def _parts(message: Message) -> list[Message]:
    parts = message.get("parts")
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _text(message: Message, name: str) -> str:
    value = message.get(name)
    return value if isinstance(value, str) else ""
