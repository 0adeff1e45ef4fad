"""What of a history counts when two of them are compared?

A history becomes entries: what the user said until an answer, what was answered until the user
speaks, what a system message says in between. Everything that clients are known to change without
meaning it is normalised away here, each by a rule with a name:

- *leading configuration*: system and developer messages before anything else are no history;
- *names that are taken*: tools are compared by the name that every provider takes;
- *silent messages*: a message of nothing but space, reasoning or answers to gates says nothing;
- *adjacent messages*: messages of one side that follow each other are one entry;
- *words and calls apart*: an answer's texts are one text, wherever its calls stand between them;
- *results with their calls*: a result stands with its call, in one part or two, in any order;
- *results without calls*: a result whose call is not told is not compared;
- *later configuration*: system messages in between count where the client's form has a place.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, Literal, TypeAlias

from domain.json_text import JsonValue
from domain.messages import CONFIGURATION, Role
from projections.comparing.content import File, Result, file_key, result_of
from projections.comparing.told import Part, Place, Told
from projections.openai_parts import text_of

CallKey: TypeAlias = tuple[str | None, str, int]
Side: TypeAlias = Literal["user", "answer", "system"]
_SIDES: Final[dict[Role, Side]] = {
    "user": "user",
    "assistant": "answer",
    "tool": "answer",
    "system": "system",
    "developer": "system",
}
_ENVELOPES: Final = frozenset({"gate_answer"})


@dataclass(slots=True, kw_only=True)
class SaidCall:
    """A call and the result that stands with it; `result_place` is the call's own without one."""

    name: str
    arguments: JsonValue
    place: Place
    result_place: Place
    result: Result | None = None


@dataclass(frozen=True, slots=True)
class Words:
    """A text or a reasoning, and where it stands."""

    text: str
    place: Place


@dataclass(slots=True, kw_only=True)
class Entry:
    """What one side says until another speaks.

    Attributes:
        gone: Something of it is not stored any more.
    """

    side: Side
    place: Place
    texts: list[Words] = field(default_factory=list[Words])
    reasoning: list[Words] = field(default_factory=list[Words])
    calls: list[SaidCall] = field(default_factory=list[SaidCall])
    files: list[File] = field(default_factory=list[File])
    gone: bool = False

    @property
    def text(self) -> str:
        """Return all that it says in words."""
        return "".join(words.text for words in self.texts)

    @property
    def silent(self) -> bool:
        """Tell whether there is nothing in it to compare."""
        files = any(file.carried for file in self.files)
        return not (self.text.strip() or self.calls or files or self.gone)

    def join(self, later: "Entry") -> None:
        """Add what the same side says next."""
        self.texts += later.texts
        self.reasoning += later.reasoning
        self.calls += later.calls
        self.files += later.files
        self.gone = self.gone or later.gone


Carries: TypeAlias = Callable[[Part, Role], bool]


def entries_of(history: Iterable[Told], carries: Carries, *, systems: bool = True) -> list[Entry]:
    """Return the entries of a history; `carries` tells which files the client's form can hold.

    Entries that say nothing are left out, and what they stood between becomes one.
    """
    waiting = _Waiting()
    said = [
        _entry(message, waiting, carries)
        for message in history
        if systems or message.role not in CONFIGURATION
    ]
    heard = _joined(entry for entry in said if entry.reasoning or not entry.silent)
    entries = _joined(entry for entry in heard if not entry.silent)
    leading = bool(entries) and entries[0].side == "system"
    return entries[1:] if leading else entries


def _joined(entries: Iterable[Entry]) -> list[Entry]:
    joined: list[Entry] = []
    for _, run in groupby(entries, lambda entry: entry.side):
        first, *later = run
        for entry in later:
            first.join(entry)
        joined.append(first)
    return joined


class _Waiting:
    """Calls without a result yet, by turn and id: the first of the newest answer gets it."""

    def __init__(self) -> None:
        self._calls: Final[dict[CallKey, list[SaidCall]]] = {}

    def call(self, key: CallKey, call: SaidCall) -> None:
        """Note a call."""
        before = self._calls.setdefault(key, [])
        if before and before[0].place.index != call.place.index:
            before.clear()  # an id that comes back; the older call never had a result
        before.append(call)

    def result(self, key: CallKey, result: Result | None, place: Place) -> None:
        """Give a result to its call."""
        calls = self._calls.get(key)
        if calls:
            call = calls.pop(0)
            call.result, call.result_place = result, place


def _entry(message: Told, waiting: _Waiting, carries: Carries) -> Entry:
    entry = Entry(side=_SIDES[message.role], place=message.place())
    for part, tokens in message.parts:
        place = message.place(tokens)
        kind = part.get("type")
        occurrence = part.get("occurrence")
        number = occurrence if isinstance(occurrence, int) else 1
        key = (message.turn_id, text_of(part, "tool_call_id"), number)
        if kind == "text":
            entry.texts.append(Words(text_of(part, "text"), place))
        elif kind == "reasoning":
            entry.reasoning.append(Words(text_of(part, "text"), place))
        elif kind == "tool_call":
            call = SaidCall(
                name=text_of(part, "name"),
                arguments=part.get("arguments"),
                place=place,
                result_place=place,
            )
            entry.calls.append(call)
            waiting.call(key, call)
        elif kind == "tool_result":
            waiting.result(key, result_of(part), place)
        elif kind == "missing":
            entry.gone = True
        elif kind not in _ENVELOPES:
            file = File(keys=file_key(part), carried=carries(part, message.role), place=place)
            entry.files.append(file)
    return entry


def place_in(words: Sequence[Words], offset: int) -> Place | None:
    """Return where the character at `offset` of joined words stands; None without any words."""
    for each in words:
        if offset < len(each.text):
            return each.place
        offset -= len(each.text)
    return words[-1].place if words else None
