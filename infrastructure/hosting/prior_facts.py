"""Which facts is a history that a client told?

Ordinary ones, as an import's: a turn for each time that a person speaks, and what was said within
it in its order. What the log makes of them has the fingerprint of what was told.
"""

from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from domain.commands import Proposal
from domain.identifiers import derived_from, is_name
from domain.json_text import JsonValue, dump
from domain.messages import CONFIGURATION, Role
from infrastructure.proposing import proposal_of
from projections.comparing.told import Part, Told

Shape: TypeAlias = dict[str, JsonValue]
Last: TypeAlias = Literal["input", "said", "result"]
OWNER_LOST: Final = "owner-lost"
NO_ANSWER: Final = "no-answer"


def facts_of(
    history: Sequence[Told], taken: Container[str], mint: Callable[[], str]
) -> list[Proposal]:
    """Return the facts that a history amounts to.

    A call stands with its result within one turn, whatever a person says in between. A call without
    a result stays open in a turn that is over. Ids that are `taken` are left out; `mint` gives
    those of the turns.

    Raises:
        InvalidValue: an attachment is none.
    """
    pieces = [*_pieces(history)]
    facts = _Facts(taken, mint)
    for piece, owed in zip(pieces, _owed(pieces), strict=True):
        facts.take(piece, owed)
    return facts.done()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """What one side says in one go: parts, one call, or one result."""

    message: Told
    role: Role
    parts: tuple[Part, ...]

    @property
    def call(self) -> str | None:
        """Return the id of the call that it is."""
        return self._named("tool_call")

    @property
    def result(self) -> str | None:
        """Return the id of the call whose result it is."""
        return self._named("tool_result")

    def _named(self, kind: str) -> str | None:
        part = self.parts[0]
        return str(part["tool_call_id"]) if part.get("type") == kind else None


def _pieces(history: Sequence[Told]) -> Iterator[_Piece]:
    for message in history:
        role: Role = "assistant" if message.role == "tool" else message.role
        together: list[Part] = []
        for part, _ in message.parts:
            if part.get("type") not in {"tool_call", "tool_result"}:
                together.append(part)
                continue
            if together:
                yield _Piece(message=message, role=role, parts=tuple(together))
                together = []
            yield _Piece(message=message, role=role, parts=(part,))
        if together:
            yield _Piece(message=message, role=role, parts=tuple(together))


def _owed(pieces: Sequence[_Piece]) -> list[int]:
    """Return for each call where its result comes, and for each result where its call is; else -1.

    Of an id that comes back the newest message's call has the result; the older one had none.
    """
    owed = [-1] * len(pieces)
    waiting: defaultdict[str, list[int]] = defaultdict(list)
    for number, piece in enumerate(pieces):
        if piece.call is not None:
            before = waiting[piece.call]
            if before and pieces[before[0]].message is not piece.message:
                before.clear()
            before.append(number)
        elif piece.result is not None and waiting[piece.result]:
            call = waiting[piece.result].pop(0)
            owed[call], owed[number] = number, call
    return owed


@dataclass(slots=True, kw_only=True)
class _Turn:
    """The turn that has no end yet.

    Attributes:
        owed: How many of its calls have a result that is still to come.
        open: How many of its calls have no result so far.
        calls: The ids of calls and results that it has.
        speaking: Whether the assistant goes on with a message.
    """

    turn_id: str
    owed: int = 0
    open: int = 0
    calls: set[str] = field(default_factory=set[str])
    last: Last = "input"
    speaking: bool = False


class _Facts:
    """The facts so far."""

    def __init__(self, taken: Container[str], mint: Callable[[], str]) -> None:
        self._taken: Final = taken
        self._mint: Final = mint
        self._named: Final[set[str]] = set()
        self._facts: Final[list[Proposal]] = []
        self._turn: _Turn | None = None
        self._held: Final[list[JsonValue]] = []

    def take(self, piece: _Piece, owed: int) -> None:
        """Record the next piece."""
        if piece.result is not None:
            self._result(piece, piece.result, owed)
        elif piece.call is not None:
            self._call(piece, piece.call, owed)
        elif piece.role == "assistant":
            self._say(piece)
        elif piece.role in CONFIGURATION and self._turn is None:
            self._held.append(self._message(piece))
        elif piece.role in CONFIGURATION or (self._turn is not None and self._turn.owed):
            self._add(self._open(), self._message(piece))
        else:
            self._end()
            self._begin(self._message(piece))

    def done(self) -> list[Proposal]:
        """Return all facts."""
        if self._held:
            self._open()
        self._end()
        return self._facts

    def _result(self, piece: _Piece, call_id: str, owed: int) -> None:
        turn = self._open()
        part = piece.parts[0]
        if owed < 0:
            call_id = self._unasked(turn, call_id)
        else:
            turn.owed -= 1
            turn.open -= 1
        turn.calls.add(call_id)
        data: Shape = {"tool_call_id": call_id, "output": part.get("output")}
        data |= {name: True for name in ("is_error", "denied") if part.get(name) is True}
        self._record("tool-call-completed", turn, data)
        turn.last, turn.speaking = "result", False

    def _unasked(self, turn: _Turn, call_id: str) -> str:
        """Return an id under which a result without a call can stand: a call has one result."""
        number = 0
        name = call_id
        while name in turn.calls:
            number += 1
            name = f"unasked-{number}"
        return name

    def _call(self, piece: _Piece, call_id: str, owed: int) -> None:
        turn = self._open()
        part = piece.parts[0]
        data: Shape = {
            "tool_call_id": call_id,
            "name": part.get("name"),
            "arguments": part.get("arguments"),
        }
        self._record("tool-call-requested", turn, data)
        turn.calls.add(call_id)
        turn.open += 1
        turn.owed += owed >= 0
        turn.last, turn.speaking = "said", True

    def _say(self, piece: _Piece) -> None:
        turn = self._open()
        message = self._message(piece, named=not turn.speaking)
        self._record("message-recorded", turn, {"message": message})
        turn.last, turn.speaking = "said", True

    def _add(self, turn: _Turn, message: Shape) -> None:
        self._record("message-recorded", turn, {"message": message})
        turn.speaking = False
        if message["role"] == "user":
            turn.last = "input"

    def _message(self, piece: _Piece, *, named: bool = True) -> Shape:
        """Return what a piece says as a message; what goes on with another one has no id."""
        shape: Shape = {"role": piece.role, "content": [written(part) for part in piece.parts]}
        name = piece.message.message_id
        if named and name is not None and self._is_free(name):
            self._named.add(name)
            shape["message_id"] = name
        if piece.message.author is not None:
            shape["author"] = {**piece.message.author}
        return shape

    def _is_free(self, name: str) -> bool:
        known = name in self._taken or name in self._named
        return not known and is_name(name) and derived_from(name) is None

    def _open(self) -> _Turn:
        return self._turn or self._begin()

    def _begin(self, message: Shape | None = None) -> _Turn:
        self._turn = turn = _Turn(turn_id=self._mint())
        said: list[JsonValue] = [*self._held, *([] if message is None else [message])]
        self._held.clear()
        self._record("turn-started", turn, {"messages": said})
        return turn

    def _end(self) -> None:
        """End the turn, as an import does where another begins."""
        turn = self._turn
        if turn is None:
            return
        if turn.open:
            self._record("turn-interrupted", turn, {"reason": OWNER_LOST})
        elif turn.last == "input":
            self._record("turn-interrupted", turn, {"reason": NO_ANSWER})
        else:
            self._record("turn-completed", turn, {})
        self._turn = None

    def _record(self, type_: str, turn: _Turn, data: Shape) -> None:
        self._facts.append(proposal_of(type_, dump({"turn_id": turn.turn_id, **data})))


def written(part: Part) -> Shape:
    """Return a part as it is stored; what a transcript shows besides is no part of it."""
    kind = part.get("type")
    members = _MEMBERS.get(kind) if isinstance(kind, str) else None
    if members is None:
        return {**part}
    return {
        name: value for name, value in part.items() if name in members and value is not None
    } | ({"data": part.get("data")} if kind == "data" else {})


_MEMBERS: Final[Mapping[str, frozenset[str]]] = {
    "text": frozenset({"type", "text"}),
    "reasoning": frozenset({"type", "text", "signature", "provider"}),
    "attachment": frozenset(
        {"type", "attachment_id", "media_type", "filename", "size", "data", "sha256"}
    ),
    "data": frozenset({"type", "kind", "data"}),
}
